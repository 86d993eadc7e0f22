"""Attention close-up: what happens inside one attention, box by box."""

from typing import NamedTuple

from matplotlib.axes import Axes

from tformer_lite.drawing.diagram.anatomy import Inside, Shape
from tformer_lite.drawing.diagram.pen import (
    HERE,
    arrow,
    box,
    extent,
    named_shape,
    width,
    words,
)

BOX, STEP, HEAD, MARGIN = 17, 40, 44, 8  # heights and a width, in points
TALL = 68  # the last box, which shows three steps
HIGH = HEAD + 5 * STEP + TALL + 27
# Each box: its part, what it says, and how many of three lanes it takes.
STEPS = (
    ("projections", "projections", 3),
    ("heads", "split into heads", 3),
    ("scores", "scores: q @ kᵀ / √D", 2),
    ("mask", "mask", 1),
    ("softmax", "softmax", 2),
    ("output", "output", 3),
)


class Arrow(NamedTuple):
    """An arrow down: its row and lane, its name, its shape, and its length
    in rows."""

    row: int
    lane: int
    name: str
    shape: Shape | None
    rows: int = 1


def arrows(inner: Inside, cross: bool) -> list[Arrow]:
    """List the arrows of a close-up; row i + 1 is what step i gives."""
    ordered = sorted(inner.projections, key=lambda each: each[0][0] != "q")
    read = {}
    for name, reads, _ in ordered:
        other = cross and not name.startswith("q")
        read.setdefault("memory" if other else "x", reads)
    found = [Arrow(0, i, *each) for i, each in enumerate(read.items())]
    for i, (name, _, made) in enumerate(ordered):
        found.append(Arrow(1, i, name, made))
    key = "kᵀ" if inner.scores else "k"  # one call for all reads k itself
    for i, name in enumerate(("q", key, "v")):
        found.append(Arrow(2, i, name, inner.heads[i], rows=1 + 3 * (i == 2)))
    names = ("scores", "masked", "weights", "output")
    for row, name in enumerate(names, 3):
        found.append(Arrow(row, 0, name, getattr(inner, name)))
    return found


def lanes(found: list[Arrow]) -> tuple[float, float]:
    """How wide a lane is, and how far within it its arrow is."""
    lead = max(width(each.name) for each in found) + 6
    widest = max(extent(each.shape or ()) for each in found)
    return lead + widest + 8, lead


def closeup(
    ax: Axes,
    place: tuple[float, float, float, float],
    title: str,
    found: list[Arrow],
    inner: Inside,
    part: str,
) -> None:
    """Draw the inside of an attention at (left, top, wide, high), with a
    part lit."""
    left, top, wide, _ = place
    left += MARGIN
    box(ax, place, frame=True)
    words(ax, left, top + 12, title, ha="left", weight="bold")
    lane = (wide - 2 * MARGIN) / 3
    rows = [top + HEAD + i * STEP for i in range(len(STEPS) + 1)]
    for (name, label, taken), y in zip(STEPS, rows):
        step(ax, (left, y, taken * lane, BOX), name == part, label, inner)
    rows[-1] += TALL - BOX
    for each in found:
        x = left + lanes(found)[1] + each.lane * lane
        down(ax, x, rows[each.row] - STEP + BOX, each)
    if inner.mask:
        y = rows[3] + BOX / 2
        arrow(ax, (left + 1.25 * lane, y), (left + lane, y))
        named_shape(ax, left + 1.25 * lane + 4, y, inner.mask)


def down(ax: Axes, x: float, y: float, each: Arrow) -> None:
    """Draw an arrow from (x, y) on: its name at its left, its shape at its
    right."""
    gap = STEP - BOX
    arrow(ax, (x, y), (x, y + gap + (each.rows - 1) * STEP))
    words(ax, x - 5, y + gap / 2, each.name, ha="right")
    if each.shape:
        named_shape(ax, x + 6, y + gap / 2 - 1, each.shape)


def step(ax: Axes, place: tuple, lit: bool, label: str, inner: Inside) -> None:
    """Draw one box of the close-up; the last shows three steps in one."""
    left, top, wide, high = place
    here = f"  {HERE}" * lit
    if label != "output":
        box(ax, place, lit)
        words(ax, left + wide / 2, top + high / 2, label + here)
        return
    box(ax, (left, top, wide, TALL), lit)
    three = {
        "weights @ v": inner.mixed,
        "join heads": inner.joined,
        "output projection" + here: None,
    }
    for i, (text, shape) in enumerate(three.items()):
        y = top + 11 + 23 * i
        words(ax, left + 8, y, text, ha="left")
        if shape:
            named_shape(ax, left + wide / 3, y, shape)
