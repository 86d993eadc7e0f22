"""Looking up: a kept value by its module's path and its variable."""

from types import CodeType

from torch import Tensor

from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.record.recorder import Step
from tformer_lite.tracing.record.visits import Visit
from tformer_lite.tracing.source.expressions import returned, variable

Kept = dict[int, list[Tensor]]


def bound(code: CodeType, at: int, callers: tuple, visit: Visit) -> str:
    """Write "path:variable" for a line: the module in whose code it stands,
    and what it binds, or "". A line that calls a library's layer stands in
    the module that makes the call."""
    visit, chain = within((code, at), *callers, visit=visit)
    return f"{visit.path}:{variable(*chain[0])}"


def received(code: CodeType, at: int, callers: tuple, visit: Visit) -> str:
    """Write "path:variable" for what a function of the reader's returns:
    what the line that called it binds, or ""."""
    visit, chain = within((code, at), *callers, visit=visit)
    while returned(*chain[0]):
        if chain[1:]:
            chain = chain[1:]
        elif visit.call and visit.call.parent:
            visit, chain = visit.call.parent, visit.call.place
        else:
            break
    return f"{visit.path}:{variable(*chain[0])}"


def within(*chain: Place, visit: Visit) -> tuple[Visit, tuple[Place, ...]]:
    """Leave the layers of a library: find the module that calls them."""
    while visit.call and visit.call.place == chain and visit.call.parent:
        visit = visit.call.parent
    return visit, chain


def looked_up(
    steps: list[Step], kept: Kept, name: str, nth: int | None
) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    names = [bound(*step[1:5]) for step in steps]
    if name not in names:
        names = [received(*step[1:5]) for step in steps]
    found = [i for i, one in enumerate(names) if one == name]
    times = len(found)
    if not found:
        raise KeyError(
            f"no line binds {name!r}: there are {near(name, names)}"
        )
    if nth is None and times > 1:
        raise ValueError(
            f"{name!r} was bound {times} times: write [{name!r}, 0] to "
            f"[{name!r}, {times - 1}]."
        )
    if not 0 <= (nth or 0) < times:
        raise ValueError(f"{name!r} was bound {times} times, not {nth + 1}")
    if found[nth or 0] not in kept:
        raise KeyError(f"{name!r} was not kept: trace with keep={name!r}.")
    return kept[found[nth or 0]][0]


def near(name: str, names: list[str]) -> str:
    """List the names in the same module, or all if there are none."""
    path = name.rpartition(":")[0]
    known = [one for one in dict.fromkeys(names) if not one.endswith(":")]
    inside = [one for one in known if one.startswith(f"{path}:")]
    return ", ".join(inside or known) or "none"
