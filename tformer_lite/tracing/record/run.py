"""One run: what was recorded of it, and how to find a step in another."""

from collections import Counter
from functools import cached_property
from typing import Any

import torch

from tformer_lite.tracing.record.places import Place
from tformer_lite.tracing.record.recorder import (
    RawStep,
    Recorder,
    Step,
    named_steps,
    shapes_in,
)
from tformer_lite.tracing.record.values import Values
from tformer_lite.tracing.record.visits import Visit

Sides = tuple[list[torch.Size], list[torch.Size]]
NONE: Sides = [], []


class Run:
    """One run: its sizes, its steps, and how to find a step again.

    `result` is what the model gave, `error` what stopped it; a torch call
    that failed is the last step, and `failed` is then true.
    """

    def __init__(self, sizes: dict[str, int], error: Exception | None = None):
        self.sizes, self.error = sizes, error
        self.result: Any = None
        self.failed = False
        self.raw: list[RawStep] = []
        self.first: dict[int, torch.Size] = {}
        self.visits: list[Visit] = []
        self.values = Values()

    def fill(self, recorder: Recorder) -> None:
        """Take over what was recorded."""
        self.raw, self.values = recorder.raw, recorder.values
        self.first = recorder.marks.shapes
        self.visits = recorder.visits.done
        if recorder.failed and recorder.failed[0] is self.error:
            self.failed = True
            self.raw.append(recorder.failed[1])

    @cached_property
    def steps(self) -> list[Step]:
        """The calls, in order."""
        return list(named_steps(self.raw, self.first))

    @cached_property
    def positions(self) -> list[tuple[str, int, Place]]:
        """Where each step is: in which visit, and called from which lines."""
        return [
            (visit.path, visit.nth, place)
            for _, place, visit, _, _ in self.raw
        ]

    @cached_property
    def keys(self) -> list[tuple]:
        """Where each step is, and how many were there before it."""
        before: Counter[tuple] = Counter()
        keys = []
        for position in self.positions:
            keys.append((position, before[position]))
            before[position] += 1
        return keys

    @cached_property
    def shapes(self) -> list[Sides]:
        """The shapes that each step read, and those that it made."""
        return list(shapes_in(self.raw, self.first))


def shapes_at(run: Run, other: Run) -> list[Sides]:
    """Give the shapes that a run has where another's steps are: the nth at
    a position is the nth there. NONE are those of a step that it lacks."""
    if run.positions == other.positions:
        return run.shapes
    known = dict(zip(run.keys, run.shapes))
    return [known.get(key, NONE) for key in other.keys]
