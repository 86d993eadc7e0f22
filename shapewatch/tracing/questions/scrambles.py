"""Scrambles: reshapes that keep the sizes and move data between axes."""

import re
from collections import Counter
from typing import NamedTuple

from shapewatch.tracing.axes.names import LETTERS, Shape
from shapewatch.tracing.axes.sizes import Dims
from shapewatch.tracing.calls import Calls

RESHAPES = {"view", "reshape", "flatten", "unflatten", "view_as"}
FactorCounts = list[Counter]


class Scramble(NamedTuple):
    """A reshape that mixes axes: where, what was called, and the shapes."""

    path: str
    call: str
    before: str
    after: str

    def __str__(self) -> str:
        """Say what is wrong, where, and what to do."""
        return (
            f"{self.path}: {self.call} takes {self.before} for {self.after}. "
            "The sizes fit, but the numbers stay in their old order, so they "
            "end up on other axes: transpose, then reshape."
        )


def scrambles(calls: Calls) -> list[Scramble]:
    """Find the scrambles among the calls of a run."""
    return [
        Scramble(row.path, row.call, row.reads, row.makes)
        for step, row in zip(calls.steps, calls.table.rows)
        if step.name in RESHAPES
        and row.outputs
        and mixes_axes(row.inputs[0], row.outputs[0], calls.given)
    ]


def mixes_axes(before: Shape, after: Shape, dims: Dims) -> bool:
    """Whether a reshape from one named shape to another mixes axes.

    Each axis is a product of dimensions. Reading from the left, a reshape
    may split an axis or merge neighbours, but never take a dimension before
    those that stand in front of it. What is not proved is not judged.
    """
    if any(axis.proof != "proved" for axis in (*before, *after)):
        return False
    source = [axis_factors(axis.name, dims) for axis in before]
    target = [axis_factors(axis.name, dims) for axis in after]
    if sum(source, Counter()) != sum(target, Counter()):
        return False  # an axis of unknown make: T + 1, or a slice
    return not keeps_order([x for x in source if x], target)


def keeps_order(source: FactorCounts, target: FactorCounts) -> bool:
    """Whether the target takes the source's factors from left to right."""
    for wanted in target:
        while wanted:
            taken = wanted & source[0]
            wanted, left = wanted - taken, source[0] - taken
            source = [left, *source[1:]] if left else source[1:]
            if not taken or (wanted and left):
                return False
    return True


def axis_factors(name: str, dims: Dims) -> Counter:
    """Take a name apart: 3C -> H, D if C is H*D. Numbers are left out."""
    if re.search(r"[-+]", name):
        return Counter([name])
    factors: Counter = Counter()
    for part in LETTERS.findall(name):
        formula = dims.get(part)
        if isinstance(formula, str) and not re.search(r"[-+/(]", formula):
            factors += axis_factors(formula, dims)
        else:
            factors[part] += 1
    return factors
