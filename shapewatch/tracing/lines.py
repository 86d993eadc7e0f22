"""Lines: what each line of a run makes, and the variables that it binds."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from torch import Tensor

from shapewatch.tracing.record.owners import owner
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.tensors import Mark, Parts, part_at
from shapewatch.tracing.record.visits import Place, Visit
from shapewatch.tracing.source.expressions import (
    RETURN,
    Targets,
    line_targets,
    variable,
)

WHOLE_PREFIX = re.compile(r"^\(.+\):")  # the whole model, by its class: (LM):
# "path:variable" of what a line of a step binds, with which of the tensors
# that it makes; and of what receives it, where functions return it.
StepNames = tuple[dict[str, int], dict[str, int]]
Spot = tuple[int, int]  # a step, and which of the tensors that it makes


class LineValue(NamedTuple):
    """What a line gives, after `end` steps; `parts` has how it is laid out."""

    end: int
    visit: Visit
    place: Place
    makes: list[Mark] | None
    parts: Parts


def turns_of(steps: Sequence[Step]) -> list[int]:
    """Number what the lines do: the steps that a library makes each time on
    behalf of one have one number."""
    return [step.turn or -1 - i for i, step in enumerate(steps)]


def single_steps(steps: Sequence[Step]) -> list[bool]:
    """Whether each step is all that a line does that somebody wrote."""
    turns = turns_of(steps)
    times = Counter(turns)
    return [
        times[turn] == 1 and owner(step.code.co_filename) == "reader"
        for turn, step in zip(turns, steps)
    ]


def own_line(visit: Visit, place: Place) -> tuple[Visit, Place]:
    """Leave the layers of a library: find the module that calls them."""
    while visit.parent and visit.place == place:
        visit = visit.parent
    return visit, place


def receiver(visit: Visit, place: Place) -> tuple[Visit, Place]:
    """Go outwards from a line as long as what it makes is returned."""
    visit, place = own_line(visit, place)
    while RETURN in (bound := line_targets(*place[0])) and not bound[RETURN]:
        if place[1:]:
            place = place[1:]
        elif visit.parent:
            visit, place = own_line(visit.parent, visit.place)
        else:
            break
    return visit, place


def names_of(step: Step) -> tuple[str, str]:
    """Write "path:variable" twice: of the line of a call, in the module in
    whose code it stands; and of the line that receives what it makes, where
    functions of the reader's return it. A variable may be ""."""
    lines = own_line(step.visit, step.place), receiver(step.visit, step.place)
    written, received = (
        f"{x.path}:{variable(*place[0])}" for x, place in lines
    )
    return written, received


def bound_names(visit: Visit, place: Place) -> Targets:
    """Write "path:variable" of all that a line binds, and, if that is a part
    of what it makes, which."""
    bound = line_targets(*place[0]).items()
    return {f"{visit.path}:{x}": path for x, path in bound if x != RETURN}


def names_by_step(
    steps: Sequence[Step], visits: Sequence[Visit]
) -> list[StepNames]:
    """List what each step's tensors are bound to. First comes the line of the
    step, or, within a library, the module alone."""
    first = (
        names_of(step)[0] if alone else f"{step.visit.path}:"
        for step, alone in zip(steps, single_steps(steps))
    )
    names: list[StepNames] = [({name: 0}, {}) for name in first]
    spots, n = dict[int, Spot](), 0
    for end, visit, place, _, parts in line_values(steps, visits):
        for i in range(n, end):
            spots |= {x.number: (i, k) for k, x in enumerate(steps[i].makes)}
        line, n = receiver(visit, place), end
        for name, path in bound_names(*line).items():
            mark = part_at(parts, path)
            if mark and mark.number in spots:
                i, output = spots[mark.number]
                far = own_line(steps[i].visit, steps[i].place) != line
                names[i][far].setdefault(name, output)
    return names


def line_values(
    steps: Sequence[Step], visits: Sequence[Visit]
) -> list[LineValue]:
    """List what lines give: a module that they call, or else the last step
    that they, or a library for them, make there."""
    values, last = [], {turn: i for i, turn in enumerate(turns_of(steps))}
    for i in last.values():
        step, visit = steps[i], steps[i].visit
        while visit.parent and visit.turn == step.turn and not visit.direct:
            visit = visit.parent
        if visit.turn != step.turn or not step.turn:
            line, outputs = own_line(step.visit, step.place), step.makes
            parts: Parts = outputs[0] if len(outputs) == 1 else [*outputs]
            values.append(LineValue(i + 1, *line, outputs, parts))
    for visit in visits:
        if visit.direct and visit.parent:
            line = visit.parent, visit.place
            values.append(
                LineValue(visit.end, *line, visit.makes, visit.parts)
            )
    return sorted(values, key=itemgetter(0))


def kept_value(
    names: list[StepNames],
    kept: dict[int, list[Tensor]],
    text: str,
    nth: int | None,
) -> Tensor:
    """Find the value of "path:variable"; `nth` when it was bound often.

    Raises KeyError for a name that no line binds, or whose value was not
    kept, ValueError when it is not clear which value is meant.
    """
    name = known_name(chain(*chain(*names)), text)
    every = (
        [(i, x[name]) for i, x in enumerate(side) if name in x]
        for side in zip(*names)
    )
    spots = next(filter(None, every))
    times = len(spots)
    if nth is None and times > 1:
        raise ValueError(
            f"{text!r} was bound {times} times: write [{text!r}, 0] to "
            f"[{text!r}, {times - 1}]."
        )
    nth = nth or 0
    if not 0 <= nth < times:
        raise ValueError(f"{text!r} was bound {times} times, not {nth + 1}")
    i, output = spots[nth]
    if i not in kept:
        raise KeyError(f"{text!r} was not kept: trace with keep=True.")
    return kept[i][output]


def known_name(names: Iterable[str], text: str) -> str:
    """Find the one "path:variable" that a text says, with its path or not;
    else list those in the same module, or all if there are none."""
    bound = [x for x in dict.fromkeys(names) if x[-1] != ":"]
    forms = text, WHOLE_PREFIX.sub(":", text)
    matches = [x for x in bound if x in forms or x.rpartition(":")[2] == text]
    if text in matches or len(matches) == 1:
        return text if text in matches else matches[0]
    if matches:
        raise ValueError(
            f"{text!r} is bound in several modules: write one of "
            f"{', '.join(map(repr, matches))}."
        )
    path = text.rpartition(":")[0]
    inside = [name for name in bound if name.rpartition(":")[0] == path]
    listed = ", ".join(inside or bound) or "none"
    raise KeyError(f"no line binds {text!r}: there are {listed}")
