"""Which module ran in which."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.visits import Visit

NUMBERED_PATH = re.compile(r"(?:\w+\.)*?\d+(?=\.)")
VisitParts = dict[Visit, list[Visit]]


class Container(Visit):
    """What stands for a module that does not run itself: it holds some that
    are run one after the other, as each list in a list of layers."""

    def __init__(self, path: str, nth: int, kind: str):
        super().__init__(path, nth, kind)
        self.makes = []


def parts_of_visits(calls: Calls, kinds: Mapping[str, str]) -> VisitParts:
    """List the module runs in each module run, in order; those that an error
    ended count as well. `kinds` are the classes of all modules, by path."""
    visits = dict.fromkeys(calls.run.visits)
    for step in calls.steps:
        visit: Visit | None = step.visit
        while visit and visit not in visits:
            visits[visit] = None
            visit = visit.parent
    found: VisitParts = {}
    for visit in sorted(visits, key=lambda visit: visit.start):
        if visit.parent:
            found.setdefault(visit.parent, []).append(visit)
    for outer, runs in [*found.items()]:
        found |= dict(nest_runs(outer, runs, kinds))
    return found


def nest_runs(
    outer: Visit, runs: list[Visit], kinds: Mapping[str, str]
) -> Iterator[tuple[Visit, list[Visit]]]:
    """Put neighbours that lie in one container into it: give the runs in
    each container, and then those in the module around them."""
    parts: list[Visit] = []
    grouped = groupby(runs, lambda run: container_path(run.path, outer.path))
    for path, group in grouped:
        inner = list(group)
        if path and path in kinds and len({run.path for run in inner}) > 1:
            box = Container(path, 0, kinds[path])
            box.parent, box.start = outer, inner[0].start
            yield box, inner
            inner = [box]
        parts += inner
    yield outer, parts


def container_path(path: str, outer: str) -> str:
    """Give the path up to the first number in it, if it goes on: of
    layers.0.attention, layers.0."""
    around = f"{outer}." if outer else ""
    inside = NUMBERED_PATH.match(path.removeprefix(around))
    return f"{around}{inside[0]}" if inside and path.startswith(around) else ""
