"""Probing: which runs at other sizes show how each axis moves."""

import re
from collections.abc import Callable
from itertools import cycle, islice

from tformer_lite.tracing.axes.sizes import (
    Given,
    Sizes,
    alone,
    capped_sizes,
    divisible_sizes,
    joint_sizes,
    larger_sizes,
    near_sizes,
    plain_sizes,
    run_sizes,
)
from tformer_lite.tracing.calls import Calls
from tformer_lite.tracing.record.recorder import Again, Run
from tformer_lite.tracing.record.state import State

Other = Again | Run
At = Callable[[Sizes], Other]


def probe(
    run: Run, start: State, parts: Callable, options: dict, sizes: Sizes
) -> Other:
    """Run again at other sizes, from where the traced run started; what went
    wrong is in the run's `error`. Where it goes another way than that, its
    calls are found by their lines."""
    again: Other = Again(sizes)
    for again in (Again(sizes), Run(sizes)):
        try:
            start.put_back()
            model, inputs = parts(sizes)
            again.record(model, inputs, options)
        except Exception as error:  # it cannot be built so, or resized
            again.error = error
        if again.error:  # what it holds is not needed any more
            again.error.__traceback__ = None
        if not run.error and (again.error or again.calls == run.calls):
            break
    return again


def probed(
    run: Run, again: At, given: Given, varied: list[str]
) -> tuple[list[Other], list[str]]:
    """Run at other sizes, and at more where an axis is still unknown. Gives
    the runs, and notes."""
    probing = Probing(run, again, given, varied)
    if Calls(run, probing.others, [], given).unnamed:
        probing.closer()
    return probing.others, probing.notes


class Probing:
    """The traced run, and others at sizes in which the names `varied` move.

    `again` runs at some sizes. `notes` say which names a model does not let
    move: it refuses every other size of theirs.
    """

    def __init__(
        self,
        run: Run,
        again: At,
        given: Given,
        varied: list[str],
    ):
        self.run, self.again, self.notes = run, again, list[str]()
        self.others: list[Other] = []
        self.given, self.varied = given, varied
        if not varied:
            return
        tried = list(map(self.accepted, joint_sizes(given, varied)))
        refused = [x for x in tried if x.error and not run.error]
        self.others += [x for x in tried if x not in refused]
        if refused:
            self.one_by_one(refused)
        if any(None in x.shapes_of(run) for x in self.others):
            self.keep(larger_sizes(given, self.varied))

    def accepted(self, sizes: Sizes) -> Other:
        """Run at some sizes; where a model refuses them, with the larger ones
        cut: it may have a longest sentence."""
        first = self.again(sizes)
        if first.error and not self.run.error:
            for fewer in capped_sizes(self.given, self.varied, sizes):
                if not (run := self.again(fewer)).error:
                    return run
        return first

    def keep(self, choices: list[Sizes]) -> list[Other]:
        """Run at some sizes; keep the runs that go, and give them."""
        runs = [x for x in map(self.again, choices) if not x.error]
        self.others += runs
        return runs

    def one_by_one(self, refused: list[Other]) -> None:
        """Find sizes that a model accepts, of each name alone; then let the
        names move together again, but those that cannot move at all."""
        accepted: dict[str, list[int]] = {}
        for name in self.varied:
            size = plain_sizes(self.given)[name]
            wanted = [run.sizes[name] for run in refused]
            choices = [*wanted, *near_sizes(size), *divisible_sizes(size)]
            found, errors = list[Other](), list[Other]()
            for sizes in alone(self.given, name, choices):
                if len(found) < len(refused):
                    run = self.again(sizes)
                    (errors if run.error else found).append(run)
            self.others += found
            accepted[name] = [run.sizes[name] for run in found]
            if not found:
                self.notes.append(refusal_note(name, size, errors[0]))
        self.varied = [name for name in self.varied if accepted[name]]
        rows = (islice(cycle(accepted[n]), len(refused)) for n in self.varied)
        self.keep(
            [
                run_sizes({**self.given, **dict(zip(self.varied, sizes))})
                for sizes in zip(*rows)
            ]
        )

    def closer(self) -> None:
        """Let each name move alone, by little: it shows what is rounded."""
        for name in self.varied:
            size = plain_sizes(self.given)[name]
            near = [*near_sizes(size), size + 6, 2 * size + 5, 4 * size, 75]
            self.keep(list(alone(self.given, name, near)))


def refusal_note(name: str, size: int, run: Other) -> str:
    """Say that a name cannot move, and in which words a model refuses it."""
    first = re.sub("0x[0-9a-f]+", "0x…", str(run.error).split("\n")[0])
    return (
        f"{name} is {size} in every run: refused at {name}="
        f"{run.sizes[name]}: {type(run.error).__name__}: {first}"
    )
