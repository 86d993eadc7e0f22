"""Kept values: which to keep, and how to look one up, by their names."""

from fnmatch import fnmatchcase
from typing import NamedTuple

from torch import Tensor

from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.record.recorder import Keep, Run
from tformer_lite.tracing.record.visits import Visit
from tformer_lite.tracing.source.expressions import is_returned, variable


class Name(NamedTuple):
    """The name of a value: its module's path, and the variable, or ""."""

    path: str
    variable: str

    def __str__(self) -> str:
        """Write "path:variable"."""
        return f"{self.path}:{self.variable}"


def bound_name(place: Place, visit: Visit) -> Name:
    """Name what a line binds, in the module in whose code it stands. A line
    that calls a library's layer stands in the module that makes the call."""
    visit, place = own_line(place, visit)
    return Name(visit.path, variable(*place[0]))


def received_name(place: Place, visit: Visit) -> Name:
    """Name what the line binds that calls a function of the reader's, whose
    own line returns what it makes."""
    visit, place = receiver(place, visit)
    return Name(visit.path, variable(*place[0]))


def keeper(keep: bool | str | list[str]) -> Keep:
    """Say of each call whether to keep what it made."""
    if isinstance(keep, bool):
        return (lambda place, visit: True) if keep else None
    patterns = [keep] if isinstance(keep, str) else keep

    def wanted(place: Place, visit: Visit) -> bool:
        names = {bound_name(place, visit), received_name(place, visit)}
        return any(fnmatchcase(str(n), one) for n in names for one in patterns)

    return wanted


def own_line(place: Place, visit: Visit) -> tuple[Visit, Place]:
    """Leave the layers of a library: find the module that calls them."""
    while visit.parent and visit.place == place:
        visit = visit.parent
    return visit, place


def receiver(place: Place, visit: Visit) -> tuple[Visit, Place]:
    """Go outwards from a line as long as what it makes is returned."""
    visit, place = own_line(place, visit)
    while is_returned(*place[0]):
        if place[1:]:
            place = place[1:]
        elif visit.parent:
            visit, place = visit.parent, visit.place
        else:
            break
    return visit, place


def kept_value(run: Run, text: str, nth: int | None) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    for name_of in bound_name, received_name:
        names = [name_of(step.place, step.visit) for step in run.steps]
        found = [i for i, name in enumerate(names) if str(name) == text]
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


def near(text: str, names: list[Name]) -> str:
    """List the names in the same module, or all if there are none."""
    known = [name for name in dict.fromkeys(names) if name.variable]
    inside = [name for name in known if name.path == text.rpartition(":")[0]]
    return ", ".join(map(str, inside or known)) or "none"
