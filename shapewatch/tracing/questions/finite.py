"""The first call of a run that makes NaN or infinity."""

from contextlib import suppress
from math import inf, isinf
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.inputs import tensors_in
from shapewatch.tracing.questions.failed import operands
from shapewatch.tracing.record.models import ModelCall
from shapewatch.tracing.record.recorder import (
    RecordedRun,
    Step,
    sources_of,
)
from shapewatch.tracing.record.state import aside
from shapewatch.tracing.record.tensors import (
    Values,
    dispatches,
    storage,
    tensors,
)
from shapewatch.tracing.source.expressions import span
from shapewatch.tracing.tables import Row

# What gives memory that nobody has written to: any numbers may be in it.
RAW = {"empty", "empty_like", "new_empty", "empty_strided", "resize"}
# What writes over all that a tensor holds, and reads none of it.
FILLS = {"fill", "zero", "copy", "normal", "uniform", "random", "bernoulli"}
POWERS = {"exp", "exp2", "expm1"}  # of -infinity they are not infinite


class Look(NamedTuple):
    """What a tensor holds: how many numbers, how many of them NaN, and the
    lowest and the highest of the others."""

    size: int
    nan: int
    lowest: float
    highest: float

    @property
    def infinite(self) -> bool:
        """Whether there is infinity, of either sign."""
        return isinf(self.lowest) or isinf(self.highest)

    @property
    def ends(self) -> str:
        """The lowest and the highest number, in words."""
        return f"from {self.lowest:.3g} to {self.highest:.3g}"


def look(tensor: Tensor) -> Look | None:
    """Look at a tensor's numbers; None where none can be NaN, or be seen."""
    plain = torch._C.DisableTorchFunction()
    with suppress(Exception), plain, torch.no_grad():
        floats = tensor.is_floating_point() or tensor.is_complex()
        if not floats or not tensor.numel() or dispatches(tensor):
            return None
        x = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        ends, nan = x.aminmax(), 0
        if ends.min.isnan():
            missing = x.isnan()
            nan, x = int(missing.sum()), x[~missing]
            if not len(x):
                return Look(nan, nan, inf, -inf)
            ends = x.aminmax()
        return Look(tensor.numel(), nan, ends.min.item(), ends.max.item())
    return None


class NonFinite(NamedTuple):
    """A call that makes NaN, or infinity: its step, what it makes, and what
    it reads, by the tensors' ids; and the tensor that brought NaN with it,
    which no call has made."""

    step: int
    result: Look
    reads: list[tuple[int, Look | None]]
    brought: Tensor | None = None


class NonFiniteSearch(Values):
    """Look at what each step reads and makes, and keep none of it.

    `nan` is the first that makes NaN, or reads some that no call has made;
    `infinite` are those that make infinity where there was none, and none
    was asked for by a constant.
    """

    def __init__(self, run: RecordedRun):
        super().__init__()
        self.run = run
        self.nan: NonFinite | None = None
        self.infinite: list[NonFinite] = []
        self.before: dict[int, Look | None] = {}
        self.raw: set[int] = set()

    def save(self, targets: list[Tensor]) -> None:
        """Look at what is about to be written."""
        self.before = {id(x): look(x) for x in targets}

    def keep(self, step: int, results: list, args: tuple, kwargs: Any) -> None:
        """Look at what a step made, and if that is amiss, at what it read."""
        if self.run.steps[step].name.strip("_") in RAW:
            self.raw |= set(map(storage, results))
        elif self.nan is None:
            for numbers in map(look, results):
                if numbers and (numbers.nan or numbers.infinite):
                    self.judge(step, numbers, args, kwargs)
                    break

    def judge(self, step: int, result: Look, args: tuple, kwargs: Any) -> None:
        """Note a call that makes NaN or infinity, if it is the first to."""
        operands = tensors((*args, *kwargs.values()))
        looks = {id(x): look(x) for x in operands} | self.before
        reads = [(id(x), looks[id(x)]) for x in operands]
        name = self.run.steps[step].name.strip("_")
        over = self.before if name in FILLS else {}
        leaves = tree_leaves((args, kwargs))
        constants = {x for x in leaves if isinstance(x, float)}
        if result.nan:
            pairs = [(x, looks[id(x)]) for x in operands if id(x) not in over]
            bad = [x for x, before in pairs if before and before.nan]
            written = [x for x in bad if storage(x) not in self.raw]
            if written or not bad:
                self.nan = NonFinite(step, result, reads, *written[:1])
        elif operands and not {inf, -inf} & constants:
            was_infinite = any(x.infinite for _, x in reads if x)
            if not was_infinite or (name in POWERS and result.highest == inf):
                self.infinite.append(NonFinite(step, result, reads))


class SearchedRun(RecordedRun):
    """A run in which each tensor was looked at: also, what makes NaN or
    infinity in it."""

    def __init__(self, call: ModelCall, sizes: dict[str, int]):
        super().__init__(sizes)
        self.values = self.looks = NonFiniteSearch(self)
        with aside(call):
            self.record(call, keep=True)

    def infinite_ends(self) -> list[int]:
        """List the steps that made the result, if there is infinity in it."""
        makers = {
            x.number: i for i, s in enumerate(self.steps) for x in s.makes
        }
        ends = any(x.infinite for x in map(look, tensors(self.result)) if x)
        marks = self.gives if ends else []
        return [makers[x.number] for x in marks if x.number in makers]

    def culprits(self) -> tuple[NonFinite | None, NonFinite | None]:
        """Give the first call that is amiss, and the one that makes NaN of
        its infinity. Infinity counts if NaN comes of it, if the result has
        some of it, or if it is +inf; -inf is what masks are made of."""
        nan, infinite = self.looks.nan, self.looks.infinite
        if nan:
            read = any(x.infinite for _, x in nan.reads if x)
            depends = self.above([nan.step]) if read else set()
            first = (x for x in infinite if x.step in depends)
            return next(((x, nan) for x in first), (nan, None))
        depends = self.above(self.infinite_ends())
        counts = (
            x for x in infinite if x.result.highest == inf or x.step in depends
        )
        return next(counts, None), None

    def above(self, steps: list[int]) -> set[int | None]:
        """List some steps, and all that they depend on."""
        above, sources = set[int | None](steps), sources_of(self.steps)
        for i in reversed(range(len(sources))):
            above |= {*sources[i]} if i in above else set()
        return above


class FirstNan(NamedTuple):
    """The first call that makes NaN or infinity; print it. It is false where
    there is none.

    `row` is the call, and `line` where it stands: "file.py:41".
    """

    row: Row | None
    line: str
    text: str

    def __bool__(self) -> bool:
        return self.row is not None

    def __repr__(self) -> str:
        return self.text


def first_nan(calls: Calls, call: ModelCall) -> FirstNan:
    """Find the first call that makes NaN or infinity, by another run."""
    run = SearchedRun(call, calls.run.sizes)
    culprit, then = run.culprits()
    if culprit is None:
        return FirstNan(None, "", nothing_found(run))
    if calls.run.calls != run.calls:  # it ran otherwise this time
        calls = Calls(run, [], [], calls.given)
    rows, step = calls.table.rows, run.steps[culprit.step]
    where = call_place(step, rows[culprit.step])
    lines = [
        *heading_lines(culprit, where, call),
        *read_lines(culprit, step, call),
    ]
    if then:
        later = call_place(run.steps[then.step], rows[then.step])
        lines.append(f"It becomes NaN {later}")
    at, text = source_line(step), "\n".join(lines)
    return FirstNan(rows[culprit.step], at, text)


def nothing_found(run: RecordedRun) -> str:
    """Say that no call is amiss, and what stopped the run."""
    many, stopped = sum(bool(step.makes) for step in run.steps), ""
    if run.error:
        name, text = type(run.error).__name__, str(run.error).split("\n")[0]
        stopped = f" (then it stopped: {name}: {text})"
    nothing = "makes NaN, or infinity that does harm"
    return f"None of {many:,} calls {nothing}{stopped}."


def call_place(step: Step, row: Row) -> str:
    """Say where a call is, and write it below."""
    inside = step.visit.path or step.visit.kind
    where = f"in {row.path}" if inside else "outside every module"
    return f"{where}, {source_line(step)}:\n{row}"


def heading_lines(
    culprit: NonFinite, where: str, call: ModelCall
) -> list[str]:
    """Say which call it is, and what it makes."""
    numbers, kind = culprit.result, "NaN" if culprit.result.nan else "infinity"
    if culprit.brought is not None:
        name = tensor_name(culprit.brought, call)
        return [f"NaN comes in with {name}. It is first read {where}"]
    contents = f"numbers {numbers.ends}"
    if numbers.nan:
        contents = f"{numbers.nan:,} NaN in {numbers.size:,} numbers"
    first = f"The first {kind} is made {where}"
    return [first, f"It makes {contents}. It reads:"]


def tensor_name(tensor: Tensor, call: ModelCall) -> str:
    """Name a parameter, a buffer or an input by the memory that it is in."""
    weights = *call.root.named_parameters(), *call.root.named_buffers()
    for name, named in (*weights, *tensors_in(call).items()):
        if storage(named) == storage(tensor):
            return f"{name}, before any call"
    return "a tensor that something has written into (x[...] = y)"


def read_lines(culprit: NonFinite, step: Step, call: ModelCall) -> list[str]:
    """Say of each tensor that a call reads how low and how high it goes."""
    weights = {id(x): name for name, x in call.root.named_parameters()}
    numbers = [f"tensor {i + 1}" for i in range(len(culprit.reads))]
    lines = []
    for name, (key, read) in zip(operands(step) or numbers, culprit.reads):
        if read:
            missing = f", and {read.nan:,} NaN" if read.nan else ""
            lines.append(f"  {weights.get(key, name)}: {read.ends}{missing}")
    return lines


def source_line(step: Step) -> str:
    """Say where a call stands: model.py:41; in a notebook, in its cell."""
    at, file = span(*step.place[0]), Path(step.code.co_filename)
    line = at[0] if at else "?"
    return f"{file.name}:{line}" if file.exists() else f"line {line}"
