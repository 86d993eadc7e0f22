"""Pairs of numbers as arrows in a plane: hands of clocks, turned vectors."""

import itertools
import math

import torch
from matplotlib.patches import Circle, Wedge
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, largest, titles_of
from tformer_lite.drawing.surface.matrix import (
    labels_for,
    number,
    with_minus,
)
from tformer_lite.drawing.surface.page import (
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import AROUND_ZERO, EDGE, INK, LINE
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["arrows"]

# From dial to dial, at least and at most: of one hand, and of two.
PITCH = {1: (28, 44), 2: (116, 172)}
RADIUS, LINE_HIGH = 48, 14  # of a dial, at most; of a line of letters
Labels = list[list[str]]


def arrows(
    *points: Tensor,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    titles: list[str] | None = None,
) -> Picture:
    """Draw pairs of numbers as arrows, each in a circle: (T, 2) -> a picture.

    The first number of a pair goes to the right, the second up; the circles
    are as large as the longest arrow. With (R, T, 2) there are R rows of
    circles. Of two tensors, each circle shows an arrow of either: the angle
    between them has the colour of their dot product, which stands below.
    `rows` and `columns` label the circles; a label's further lines are
    small. `titles` replaces what you wrote as arguments. Raises ValueError
    for other shapes, and for other than one or two tensors.

    >>> arrows(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), titles=["hand"])
    hand (1, 2, 2): an arrow in each of 2 ...
    """
    titles = titles_of(titles, len(points))
    if len(points) not in PITCH:
        raise ValueError(
            f"{len(points)} tensors: give one tensor of arrows, or two to "
            "compare."
        )
    tensors = [torch.as_tensor(each).detach().cpu() for each in points]
    for title, each in zip(titles, tensors):
        check_pairs(title, each, tensors[0])
    values = torch.stack(tensors).double()
    values = values[:, None] if values.ndim == 3 else values
    n_rows, n_columns = values.shape[1:3]
    given = [""] if rows is None and n_rows == 1 else rows
    labels = labels_of(given, n_rows), labels_of(columns, n_columns)
    page = Dials(titles, values, *labels)
    return page.picture(arrows_text(titles, values, *labels))


def check_pairs(title: str, values: Tensor, first: Tensor) -> None:
    """Raise ValueError for what is no (T, 2) or (R, T, 2), or not shaped as
    the first."""
    shape = tuple(values.shape)
    if len(shape) not in (2, 3) or shape[-1] != 2 or not values.numel():
        raise ValueError(
            f"{title} has shape {shape}, and an arrow shows two numbers: "
            "choose two channels, such as q[:, :2]."
        )
    if values.shape != first.shape:
        raise ValueError(
            f"{title} has shape {shape}, the first {tuple(first.shape)}: "
            "each arrow needs its counterpart."
        )
    if values.is_complex() or not values.double().isfinite().all():
        raise ValueError(f"{title} is not real and finite everywhere.")


def labels_of(chosen: list[str] | None, size: int) -> Labels:
    """Split each label in its lines; the first may be empty."""
    if chosen is not None and len(chosen) != size:
        raise ValueError(f"{len(chosen)} labels for {size} circles.")
    chosen = labels_for(None, size) if chosen is None else chosen
    lines = [str(label).split("\n") for label in chosen]
    return [labels_for(each, len(each)) for each in lines]


def arrows_text(
    titles: list[str], values: Tensor, rows: Labels, columns: Labels
) -> str:
    """Say what the circles show: a paragraph of words, then numbers."""
    count, what = len(rows) * len(columns), "an arrow"
    if len(values) == 2:
        what = "two arrows, and the angle between them,"
    say = f"{', '.join(titles)} {tuple(values.shape[1:])}: {what} in each of "
    paragraphs = [f"{say}{count} circle{'s' * (count > 1)}."]
    for i, row in enumerate(rows):
        lines = [" ".join(row)] * any(row)
        for j, column in enumerate(columns):
            ends = [
                f"{title} ({number(x)}, {number(y)})"
                for title, (x, y) in zip(titles, values[:, i, j].tolist())
            ]
            if len(values) == 2:
                score = values[:, i, j].prod(0).sum()
                ends.append(f"product {number(score)}")
            lines.append(f"{', '.join(column)}: {'  '.join(ends)}")
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def label_width(labels: Labels) -> float:
    """How wide the widest line of labels is."""
    return max(text_width(x) for lines in labels for x in lines)


class Dials(Canvas):
    """A page of circles: in bands, as many beside each other as fit, with
    labels beside and above."""

    @with_style
    def __init__(
        self, titles: list[str], values: Tensor, rows: Labels, columns: Labels
    ):
        super().__init__()
        self.titles, self.values, self.rows = titles, values, len(rows)
        n, self.two = len(columns), len(values) == 2
        least, most = map(float, PITCH[len(values)])
        least = max(least, 6 + label_width(columns))
        room = WIDEST - 12 - label_width(rows)
        bands = math.ceil(n / max(1, room // least))
        self.band = math.ceil(n / bands)
        self.pitch = min(max(most, least), room / self.band)
        self.radius = min(RADIUS, self.pitch / 2 - 2 - 14 * self.two)
        self.head = LINE_HIGH * max(map(len, columns)) + 12 * self.two
        self.high = 2 * self.radius + 8 + 32 * self.two
        self.longest = float(values.norm(dim=-1).max()) or 1.0
        for i, j in itertools.product(range(len(rows)), range(n)):
            x, y = self.middle(i, j)
            if j % self.band == 0:
                side = -6, y - LINE_HIGH * (len(rows[i]) - 1) / 2
                draw_label(self, side, rows[i], ha="right")
            if i == 0:
                top = y - self.radius - self.head + 4
                draw_label(self, (x, top), columns[j])
            draw_dial(self, i, j)

    def middle(self, i: int, j: int) -> Place:
        """Where the middle of a circle is."""
        band, at = divmod(j, self.band)
        top = self.head + band * (self.head + self.high * self.rows + 4)
        y = top + self.high * i + self.radius + 4
        return self.pitch * (at + 0.5), y


def draw_label(page: Page, at: Place, lines: list[str], **style: str) -> None:
    """Write a label: its first line bold, the others small."""
    (x, y), (first, *others) = at, lines
    page.write(x, y, first, weight="bold", **style)
    for n, line in enumerate(others, 1):
        page.note(x, y + LINE_HIGH * n, line, **style)


def draw_dial(page: Dials, i: int, j: int) -> None:
    """Draw a circle with its arrows; between two, their angle in the colour
    of their product, which stands below."""
    (x, y), vectors = page.middle(i, j), page.values[:, i, j]
    ends = vectors / page.longest * (page.radius - 1) * torch.tensor([1, -1])
    circle: Style = {"fill": False, "ec": EDGE[0]}
    page.add(Circle((x, y), page.radius, **circle))
    if page.two:
        draw_angle(page, (x, y), ends.tolist(), vectors.prod(0).sum())
    shafts: Style = {"angles": "xy", "scale_units": "xy", "scale": 1}
    shafts |= {"units": "dots", "width": 1.6, "minlength": 0, "zorder": 3}
    shafts |= {"headwidth": 4, "headlength": 5, "headaxislength": 5}
    tails = [x] * len(ends), [y] * len(ends)
    page.ax.quiver(*tails, *ends.T, color=INK[0], clip_on=False, **shafts)


def draw_angle(
    page: Dials, at: Place, ends: list[list[float]], score: Tensor
) -> None:
    """Name two arrows, fill the angle between them, and write their
    product."""
    (x, y), taken = at, list[Place]()
    for title, (right, down) in zip(page.titles, ends):
        far = 1 + 9 / max(1.0, math.hypot(right, down))
        place = x + right * far, y + down * far
        if any(math.dist(place, other) < 14 for other in taken):
            place = place[0] + 14, place[1]
        taken.append(place)
        page.write(*place, title, weight="bold")
    limit = largest(page.values.prod(0).sum(-1))
    fill = AROUND_ZERO.scale(AROUND_ZERO.light)(0.5 + score.item() / limit / 2)
    one, other = (math.degrees(math.atan2(end[1], end[0])) for end in ends)
    turn = (other - one) % 360
    start, turn = (other, 360 - turn) if turn > 180 else (one, turn)
    style: Style = {"fc": fill, "ec": LINE[0], "lw": 0.6}
    page.add(Wedge(at, page.radius * 0.45, start, start + turn, **style))
    product = f"{' · '.join(page.titles)} = {with_minus(number(score))}"
    page.write(x, y + page.radius + 24, product, weight="bold")
