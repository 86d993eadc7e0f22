"""Choosing: the runs of a function, by the module in which it ran."""

from types import CodeType

from tformer_lite.tracing.listing.events import Event
from tformer_lite.tracing.record.visits import Visit


def runs_of(every: list[Event], code: CodeType) -> list[tuple]:
    """List the runs of a function: in which visit, and who called it."""
    found = {}
    for event in every:
        for visit, callers in event.runs(code):
            found[visit[:2], callers] = visit, callers
    return sorted(found.values(), key=lambda run: start(run[0]))


def start(visit: Visit) -> int:
    """When a visit began."""
    return visit.call.start if visit.call else 0


def chosen(runs: list[tuple], path: str | None, name: str) -> list[tuple]:
    """Choose the runs in one module."""
    paths = list(dict.fromkeys(visit.path for visit, _ in runs))
    if not paths:
        raise ValueError(f"{name} made no tensor in this run")
    if path is None and len(paths) == 1:
        path = paths[0]
    if path not in paths:
        listed = ", ".join(map(repr, paths))
        asked = "in several modules" if path is None else f"not in {path!r}"
        raise ValueError(f"{name} ran {asked}: choose a path of {listed}")
    return [run for run in runs if run[0].path == path]


def where(visit: Visit) -> str:
    """Name a module; the whole model by its class."""
    return visit.path or visit.kind or "the traced function"
