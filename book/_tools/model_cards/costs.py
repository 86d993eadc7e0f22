"""What a model has, keeps and computes, as sums of products of axes: each
axis has a name that was proved by building the model at other sizes."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from torch import Tensor

from shapewatch.tracing.axes.names import ShapeNamer
from shapewatch.tracing.axes.sizes import Sizes, run_sizes
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.tables import Row
from shapewatch.tracing.tracer import Trace

NUMBERS = re.compile(r"\.\d+(?=\.|$)")
PRODUCT = re.compile(r"(\d*)\*?([^\W\d]\w*(?:\*[^\W\d]\w*)*)?")
ROUNDED_UP = re.compile(r"⌈([^⌈⌉]*)/(\d+)⌉")
# Products of matrices, and which of the tensors that they read has, as its
# last axis, the one that is summed over.
FACTORS = {"addmm": 1, "baddbmm": 1}
FACTORS |= dict.fromkeys(("linear", "matmul", "__matmul__", "bmm", "mm"), 0)
FACTORS |= dict.fromkeys(("_grouped_mm", "grouped_mm"), 0)
LETTER_ORDER = *"BTSCH", "kv_heads", *"DFV"
PathShapes = list[tuple[str, tuple[int, ...]]]  # paths and shapes


class Line(NamedTuple):
    """A product of axes, and how many equal layers have it: in their path,
    a star is their number."""

    path: str
    axes: tuple[str, ...]
    times: int


@dataclass(frozen=True)
class Formula:
    """A sum of products of axes: `text` writes it, `value` works it out."""

    lines: list[Line]

    def value(self, sizes: Sizes) -> int:
        """Work it out at some sizes."""
        return sum(
            prod(axis_size(axis, sizes) for axis in axes) * times
            for _, axes, times in self.lines
        )

    def over(self, *axes: str) -> "Formula":
        """Divide by axes, where a product has them."""
        quotients = []
        for path, factors, times in self.lines:
            letters, number = product(factors)
            for axis in {*axes} & {*letters}:
                letters.remove(axis)
            quotients.append(Line(path, (str(number), *letters), times))
        return Formula(quotients)

    @property
    def text(self) -> str:
        """Write it: 32 × (4C*H*D + 3C*F) + C*V."""
        counts = Counter(line.times for line in self.lines)
        layers = sorted(n for n, lines in counts.items() if n > 1 < lines)
        sums: dict[int, Counter[str]] = {}
        for _, axes, times in self.lines:
            unit = next((n for n in layers if times % n == 0), 1)
            letters, number = product(axes)
            terms = sums.setdefault(unit, Counter())
            terms["*".join(letters)] += number * times // unit
        texts = []
        for times, terms in sorted(sums.items(), reverse=True):
            pairs = terms.items()
            text = " + ".join(term_text([x], n) for x, n in pairs)
            text = f"({text})" if len(terms) > 1 < times else text
            texts.append(f"{times} × {text}" if times > 1 else text)
        return " + ".join(texts)


def term_text(letters: Iterable[str], number: int) -> str:
    """Write a product: 2C*F."""
    text = "*".join(letters)
    return f"{number}{text}" if number > 1 or not text else text


def total(lines: Iterable[tuple[str, tuple[str, ...]]]) -> Formula:
    """Add up lines, those of equal layers as one."""
    counts = Counter((NUMBERS.sub(".*", path), x) for path, x in lines)
    return Formula([Line(*line, times) for line, times in counts.items()])


def product(axes: Iterable[str]) -> tuple[list[str], int]:
    """Multiply axes: the letters in their order, and a number; a sum is like
    a letter."""
    number, letters = 1, list[str]()
    for axis in axes:
        if factors := PRODUCT.fullmatch(axis):
            number *= int(factors[1] or 1)
            letters += filter(None, (factors[2] or "").split("*"))
        else:
            letters.append(axis if axis.startswith("(") else f"({axis})")
    places = {letter: i for i, letter in enumerate(LETTER_ORDER)}
    return sorted(letters, key=lambda x: (places.get(x, 99), x)), number


def axis_size(text: str, sizes: Sizes) -> int:
    """Work out what an axis is called, at some sizes."""
    rounded = ROUNDED_UP.sub(r"(\1+\2-1)//\2", text)
    rounded = re.sub("[⌈⌊]", "(", rounded).replace("/", "//")
    rounded = re.sub("[⌉⌋]", ")", rounded).replace("////", "//")
    written = re.sub(r"(?<=\d)(?=[^\W\d]|\()", "*", rounded)
    return run_sizes({**sizes, "": f"({written})"})[""]


def formula(record: Trace, runs: Sequence[PathShapes]) -> Formula:
    """Name the axes of tensors that were found in a model at the sizes of
    each run of a trace, in the light of those runs that have them, or one
    like them: layers that are alike may not all have run."""
    sizes = [run.sizes for run in record._calls.runs]
    namer = ShapeNamer(sizes, record._calls.given)
    first, *others = map(dict, runs)
    proved = {}
    for path in chain(*others):
        if path in first:
            proved.setdefault((NUMBERS.sub(".*", path), first[path]), path)
    named = {}
    for x, shape in first.items():
        twin = proved.get((NUMBERS.sub(".*", x), shape), x)
        named[x] = namer.shape(shape, *(run.get(twin) for run in others))
    return total(
        (path, tuple(axis.name for axis in shape))
        for path, shape in named.items()
    )


def parameter_shapes(model: Any) -> PathShapes:
    """List the parameters of a model, those with several names once."""
    return [(n, tuple(x.shape)) for n, x in model.named_parameters()]


def cache_shapes(result: Any) -> PathShapes:
    """List the keys and the values that a model of transformers keeps."""
    cache = getattr(result, "past_key_values", None)
    parts = [
        (name, part)
        for name in ("self_attention_cache", "cross_attention_cache")
        if (part := getattr(cache, name, None))
    ]
    return [
        (f"{name}.{i}.{what}", tuple(tensor.shape))
        for name, part in parts or [("cache", cache)]
        for i, layer in enumerate(getattr(part, "layers", ()))
        for what, kept in vars(layer).items()
        for tensor in (kept.values() if isinstance(kept, dict) else [kept])
        if isinstance(tensor, Tensor) and tensor.dim() > 1
    ]


def work(step: Step, row: Row) -> list[tuple[str, ...]]:
    """Count the operations of a call, as products of axes: 2 for each
    multiply-add. There are as many as the result has numbers, times the axis
    that is summed over; in a convolution, all but the first of its weight's.
    """
    reads = [[axis.name for axis in shape] for shape in row.inputs]
    result = [axis.name for axis in row.outputs[0]] if row.outputs else []
    if step.name in FACTORS:
        return [("2", *result, reads[FACTORS[step.name]][-1])]
    if step.name.startswith("conv") and len(reads) > 1:
        return [("2", *result, *reads[1][1:])]
    if step.name == "scaled_dot_product_attention":
        query, key, value = reads[:3]
        scores = *query[:-1], key[-2]
        return [("2", *scores, query[-1]), ("2", *scores, value[-1])]
    return []


def product_steps(record: Trace) -> list[dict[str, Any]]:
    """List the products of matrices of a run, those of equal layers once."""
    counts: Counter[tuple[str, ...]] = Counter()
    for step, row in zip(record.steps, record.calls().rows):
        for axes in work(step, row):
            path = NUMBERS.sub(".*", step.visit.path)
            shape = " ".join(axis.name for axis in row.outputs[0])
            flops = term_text(*product(axes))
            counts[path, row.call, shape, flops] += 1
    names = "path", "call", "shapes", "flops"
    return [
        dict(zip(names, (path, call, [shape.split()], flops)), times=str(n))
        for (path, call, shape, flops), n in counts.items()
    ]


def costs(
    record: Trace, learned: list[PathShapes], kept: list[PathShapes]
) -> tuple[Formula, Formula, Formula]:
    """Give formulas for the parameters of a model, for the numbers that it
    keeps while it writes, and for its floating-point operations."""
    calls = zip(record.steps, record.calls().rows)
    done = ((s.visit.path, axes) for s, row in calls for axes in work(s, row))
    return formula(record, learned), formula(record, kept), total(done)
