"""What a reader can point at in a picture: the cells of its matrices."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from tformer_lite.drawing.surface.matrix import Matrix

MOST = 1024  # cells of a panel that one can point at
Box = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True)
class Panel:
    """A matrix of a picture, and where its cells are: in the drawing for a
    wide page and in that for a phone, in pixels.

    Panels of one `chain` are lit together: a cell that one points at, and in
    the other panels what has the same place on an axis of the same letter.
    """

    matrix: Matrix
    wide: Box
    narrow: Box | None = None
    chain: int = 0


def attribute(panels: Iterable[Panel]) -> str:
    """Write panels as an attribute of the drawing, for the page's script
    `linked.js`: of matrices that are small enough, the axes, the words, and
    the values as they are printed. Empty when there are none."""
    few = [entry(p) for p in panels if p.matrix.values.numel() <= MOST]
    data = json.dumps(few, ensure_ascii=False, separators=(",", ":"))
    return f" data-panels={quoteattr(data)}" if few else ""


def entry(panel: Panel) -> dict[str, Any]:
    """List what the script knows of a panel."""
    matrix, (rows, columns) = panel.matrix, panel.matrix.labels
    return {
        "name": matrix.title,
        "chain": panel.chain,
        "axes": list(matrix.axes),
        "words": [rows, columns],
        "values": list(map(values, matrix.cells, matrix.hidden.tolist())),
        "wide": panel.wide,
        "narrow": panel.narrow or panel.wide,
    }


def values(cells: list[str], hidden: list[bool]) -> str:
    """Write a row of values; of those that are masked, say so."""
    said = [f"{c} (masked)" if h else c for c, h in zip(cells, hidden)]
    return ";".join(said).replace("-", "−")
