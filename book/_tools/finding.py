"""Formulas for what was measured: the tracer's own search finds each, and
what has none is an error."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from shapewatch.tracing import Axis
from shapewatch.tracing.axes.names import shape_namer
from shapewatch.tracing.axes.sizes import Sizes, run_sizes

BLOCK = re.compile(r"(encoder|decoder)\.blocks\.(\d+)(?=\.|$)")
PRODUCT = re.compile(r"(\d*)\*?([^\W\d]\w*(?:\*[^\W\d]\w*)*)?")
ORDER = ["B", "H", "T", "S", "D", "C", "F", "V", "src_vocab_size", "max_len"]
LAYERS = "n_layers"
Lines = list[tuple[str, Any]]  # where something is, and what it is there


class NoFormulaError(ValueError):
    """What was measured cannot be written with the letters."""


def with_channels(sizes: Sizes) -> Sizes:
    """Add C, which is H times D, in the order of the letters."""
    every = sizes | {"C": sizes["H"] * sizes["D"]}
    return {name: every[name] for name in ORDER if name in every}


def probes(names: Sequence[str]) -> list[Sizes]:
    """Choose sizes to measure at: all names small, all other, and each other
    alone; the longest sentence is always long enough."""
    random = Random(0)
    more = {"max_len": 60}
    first = {n: random.randint(2, 6) + more.get(n, 0) for n in names}
    runs = [
        {n: random.randint(7, 15) + more.get(n, 0) for n in names}
        for _ in range(4)
    ]
    return [first, *runs, *(first | {n: first[n] + 1} for n in names)]


class Finder:
    """Finds formulas in what was measured at some sizes."""

    def __init__(self, runs: list[Sizes]):
        columns = [with_channels(sizes) for sizes in runs]
        self.dims = shape_namer(columns, columns[0] | {"C": "H*D"})

    def text(self, what: str, numbers: Sequence[Any]) -> str:
        """Write numbers, or the axes of shapes, with the letters: one a run;
        NoFormulaError if they cannot be."""
        shapes = [n if isinstance(n, tuple) else (n,) for n in numbers]
        axes = self.dims.shape(*shapes)
        if any(axis.proof != "proved" for axis in axes):
            raise NoFormulaError(f"{what}: no formula gives {[*numbers]}.")
        return " ".join(axis.name for axis in axes)

    def lines(self, what: str, runs: Sequence[Lines]) -> Lines:
        """Write what each run has at the same places."""
        if len({tuple(path for path, _ in run) for run in runs}) > 1:
            raise NoFormulaError(f"{what}: other places at other sizes.")
        return [
            (path, self.text(f"{what} of {path}", [run[i][1] for run in runs]))
            for i, (path, _) in enumerate(runs[0])
        ]


def folded(what: str, lines: Lines) -> list[tuple[str, str, str]]:
    """List equal blocks once, with how many times each line is there. The
    model has three blocks; the first may have more than the others, or less:
    what all of them read is kept once."""
    blocks: list[Counter] = [Counter(), Counter(), Counter()]
    found = []
    for path, text in lines:
        if number := BLOCK.match(path):
            path = BLOCK.sub(r"\1.blocks.*", path)
            blocks[int(number[2])][path, text] += 1
        else:
            found.append((path, text, "1"))
    first, each, last = blocks
    if each != last:
        raise NoFormulaError(f"{what}: the last two blocks differ.")
    for some, times in (
        (each, LAYERS),
        (first - each, "1"),
        (each - first, "-1"),
    ):
        found += [(*line, times) for line in some.elements()]
    return found


def product(factors: Iterable[str]) -> tuple[str, int]:
    """Multiply axes: the letters in their order, and a number."""
    number, letters = 1, list[str]()
    for text in factors:
        found = PRODUCT.fullmatch(text)
        if not found:
            raise NoFormulaError(f"{text} is no product of letters.")
        number *= int(found[1] or 1)
        letters += found[2].split("*") if found[2] else []
    return "*".join(sorted(letters, key=ORDER.index)), number


def shape_texts(path: str, shape: Iterable[Axis]) -> list[str]:
    """Write the axes of a shape; NoFormulaError if one is not proved."""
    for axis in shape:
        if axis.proof != "proved":
            raise NoFormulaError(f"a shape in {path}: {axis} is not proved.")
    return [axis.name for axis in shape]


def value(text: str, sizes: Sizes) -> int:
    """Work a formula out."""
    written = re.sub(r"(?<=\d)(?=[^\W\d])", "*", text)
    factors = written.replace(" ", ")*(")
    known = {**with_channels(sizes), **sizes}
    return run_sizes({**known, "": f"({factors})"})[""]
