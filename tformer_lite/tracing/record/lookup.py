"""Kept values: which to keep, and how to look one up, by their names."""

from fnmatch import fnmatchcase

from torch import Tensor

from tformer_lite.tracing.record.recorder import Keep, Run, Step
from tformer_lite.tracing.record.visits import Place, Visit
from tformer_lite.tracing.source.expressions import RETURN, target, variable


def bound_name(step: Step) -> str:
    """Write "path:variable": what a line binds, or "", and the module in
    whose code it stands. A line that calls a library's layer stands in the
    module that makes the call."""
    visit, place = own_line(step)
    return f"{visit.path}:{variable(*place[0])}"


def received_name(step: Step) -> str:
    """Write "path:variable" of the line that calls a function of the
    reader's, whose own line returns what it makes."""
    visit, place = receiver(step)
    return f"{visit.path}:{variable(*place[0])}"


def own_line(step: Step) -> tuple[Visit, Place]:
    """Leave the layers of a library: find the module that calls them."""
    visit = step.visit
    while visit.parent and visit.place == step.place:
        visit = visit.parent
    return visit, step.place


def receiver(step: Step) -> tuple[Visit, Place]:
    """Go outwards from a line as long as what it makes is returned."""
    visit, place = own_line(step)
    while target(*place[0]) == RETURN:
        if place[1:]:
            place = place[1:]
        elif visit.parent:
            visit, place = visit.parent, visit.place
        else:
            break
    return visit, place


def keeper(keep: bool | str | list[str]) -> Keep:
    """Say of each call whether to keep what it made."""
    if isinstance(keep, bool):
        return (lambda step: True) if keep else None
    patterns = [keep] if isinstance(keep, str) else keep

    def wanted(step: Step) -> bool:
        names = {bound_name(step), received_name(step)}
        return any(
            fnmatchcase(name, one) for name in names for one in patterns
        )

    return wanted


def kept_value(run: Run, text: str, nth: int | None) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    for name_of in bound_name, received_name:
        names = list(map(name_of, run.steps))
        found = [i for i, name in enumerate(names) if name == text]
        if found:
            break
    else:
        raise KeyError(
            f"no line binds {text!r}: there are {near(text, names)}"
        )
    times, kept = len(found), run.values.kept
    if nth is None and times > 1:
        raise ValueError(
            f"{text!r} was bound {times} times: write [{text!r}, 0] to "
            f"[{text!r}, {times - 1}]."
        )
    nth = nth or 0
    if not 0 <= nth < times:
        raise ValueError(f"{text!r} was bound {times} times, not {nth + 1}")
    if found[nth] not in kept:
        raise KeyError(f"{text!r} was not kept: trace with keep={text!r}.")
    return kept[found[nth]][0]


def near(text: str, names: list[str]) -> str:
    """List the names in the same module, or all if there are none."""
    known = [name for name in dict.fromkeys(names) if name[-1] != ":"]
    path = text.rpartition(":")[0]
    inside = [name for name in known if name.rpartition(":")[0] == path]
    return ", ".join(inside or known) or "none"
