"""The shapes that source 003 shows, each beside the same tensor of ours."""

from collections import Counter, namedtuple
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter

import torch

from shapewatch import Sheet, Trace, shape_html
from shapewatch.tracing.axes.names import Shapes
from shapewatch.tracing.markup import STYLE, html_groups
from tformer_lite import causal_mask, dot_product_attention, sinusoids, trace

__all__ = ["witness"]

LIST = files("tformer_lite.example") / "texts" / "source_003.txt"
Call = tuple[str, str, tuple[Shapes, Shapes]]  # where, its line, the shapes
Line = namedtuple("Line", "source shows ours axes equal")


class Lines(Sheet):
    """A line for each shape; `titles` says of which codeblock each is."""

    def __init__(self, lines: list[Line]):
        super().__init__(lines, [])
        self.titles: list[str] = []

    def _repr_html_(self) -> str:
        shown = '<span class="shape">{}</span>'.format
        rows = [
            (escape(a), shown(b), escape(c), shape_html(axes), equal)
            for a, b, c, axes, equal in self.rows
        ]
        groups = groupby(zip(self.titles, rows), itemgetter(0))
        parts = [(title, [row for _, row in found]) for title, found in groups]
        return STYLE + html_groups(self.headers, parts)


def witness(run: Trace) -> Lines:
    """Look up every shape of the source's list in a trace of the whole model,
    or in one of the two functions that the source tries by themselves."""
    calls = [
        (f"{name or row.path}.", row.call, shapes)
        for name, one in {"": run, **alone()}.items()
        for row, shapes in zip(one.calls().rows, one.axes)
    ]
    lines: list[Line] = []
    found, last = Lines(lines), Counter[str]()  # the call after the last
    for entry in LIST.read_text("utf8").splitlines()[1:]:
        block, label, shape, part, place = entry.split(" | ")
        reads = place.startswith("into ")
        words, _, nth = place.removeprefix("into ").partition("#")
        first, end = find(calls, part, words, 0 if reads else last[block])
        last[block] = last[block] if reads else end + 1
        axes = calls[first if reads else end][2][not reads][int(nth or 0)]
        sizes = " ".join(str(axis.size) for axis in axes)
        equal = "yes" if sizes == shape else f"no: {sizes}"
        place = place.partition("#")[0].removesuffix(" =")
        lines.append(Line(label, shape, place, axes, equal))
        found.titles.append(f"codeblock {block}: {part or 'the whole model'}")
    return found


def alone() -> dict[str, Trace]:
    """Trace the two functions, at the source's sizes."""

    def head(B: int, T: int, D: int) -> tuple:
        qkv = torch.randn(3, B, T, D)
        return dot_product_attention, (*qkv, causal_mask(T)[0])

    def waves(T: int, P: int) -> tuple:
        return sinusoids, (T, 2 * P)

    return {
        "dot_product_attention": trace(
            build=head, dims={"B": 1, "T": 200, "D": 64}
        ),
        "sinusoids": trace(build=waves, dims={"T": 200, "P": 256, "C": "2*P"}),
    }


def find(calls: list[Call], part: str, place: str, start: int) -> list[int]:
    """Number the first and last call of a module's next run; or, twice, the
    next call in whose line these words stand."""
    module = f"{part}.{place}.".lstrip(".")
    inside = [i for i, x in enumerate(calls) if x[0].startswith(module)]
    found = inside or [
        i for i, (path, line, _) in enumerate(calls)
        if path.startswith(f"{part}.") and place in line
    ]  # fmt: skip
    later = [i for i in found if i >= start] or found
    run = [i for n, i in enumerate(later) if i == later[0] + n]
    return [later[0], run[-1 if inside else 0]]
