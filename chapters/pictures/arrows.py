"""Pairs of numbers as arrows in a plane, and the angle between them."""

import math

import torch
from matplotlib.patches import Circle, Wedge
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, largest
from tformer_lite.drawing.surface.matrix import number, with_minus
from tformer_lite.drawing.surface.page import Place, Style, text_width
from tformer_lite.drawing.surface.palette import AROUND_ZERO, EDGE, INK, LINE
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["arrows"]

HIGH, RADIUS = 182, 48  # from circle to circle below, and of one
SHAFT: Style = {"angles": "xy", "scale_units": "xy", "scale": 1, "zorder": 3}
SHAFT |= {"units": "dots", "width": 1.6, "minlength": 0, "clip_on": False}
SHAFT |= {"headwidth": 4, "headlength": 5, "headaxislength": 5}


def arrows(
    one: Tensor, other: Tensor, columns: list[str], titles: list[str]
) -> Picture:
    """Draw pairs of numbers as two arrows in a circle: (T, 2), (T, 2).

    The first number of a pair goes to the right, the second up; the circles
    are as large as the longest arrow. The angle between the two has the
    colour of their dot product, which stands below. `columns` label the
    circles; a label's second line is small. `titles` names the arrows.
    Raises ValueError for other shapes.

    >>> arrows(torch.eye(2), torch.eye(2), ["at 0", "at 1"], ["q", "k"])
    q, k (2, 2): two arrows, and the angle between them, in 2 circles...
    """
    shape = tuple(one.shape)
    if one.shape != other.shape or shape != (len(columns), 2) or not columns:
        raise ValueError(
            f"{shape}, {tuple(other.shape)} and {len(columns)} labels: each "
            "arrow shows two channels, such as q[:, :2], needs its "
            "counterpart, and a label."
        )
    values = torch.stack((one, other)).detach().cpu().double()
    say = f"{', '.join(titles)} {shape}: two arrows, and the angle between "
    lines = [f"{say}them, in {len(columns)} circles.\n"]
    for label, ends in zip(columns, values.transpose(0, 1)):
        said = [f"({number(x)}, {number(y)})" for x, y in ends]
        said = [f"{name} {end}" for name, end in zip(titles, said)]
        product = f"product {number(ends.prod(0).sum())}"
        name = label.replace("\n", ", ")
        lines.append(f"{name}: {'  '.join([*said, product])}")
    return draw_circles(titles, values, columns).picture("\n".join(lines))


@with_style
def draw_circles(
    titles: list[str], values: Tensor, columns: list[str]
) -> Canvas:
    """Draw as many circles beside each other as fit, and more below."""
    page, longest = Canvas(), values.norm(dim=-1).max().item() or 1.0
    words = [line for label in columns for line in label.split("\n")]
    each = max(1, int((WIDEST - 12) // max(116, *map(text_width, words))))
    wide, scores = (WIDEST - 12) / each, values.prod(0).sum(-1)
    shades, limit = AROUND_ZERO.scale(AROUND_ZERO.light), largest(scores)
    for i, label in enumerate(columns):
        x, y = wide * (i % each + 0.5), HIGH * (i // each)
        (first, *more), score = label.split("\n"), scores[i].item()
        page.bold(x, y - RADIUS - 36, first, wide)
        for line in more[:1]:
            page.note(x, y - RADIUS - 22, line)
        ends = values[:, i] / longest * (RADIUS - 1) * torch.tensor([1, -1])
        fill = shades(0.5 + score / limit / 2)
        draw_arrows(page, (x, y), ends.tolist(), titles, fill)
        product = f"{' · '.join(titles)} = {with_minus(number(score))}"
        page.bold(x, y + RADIUS + 24, product, wide)
    return page


def draw_arrows(
    page: Canvas, at: Place, ends: list[Place], titles: list[str], fill: tuple
) -> None:
    """Draw a circle with two arrows, their names, and their angle, filled."""
    (x, y), taken = at, list[Place]()
    page.add(Circle(at, RADIUS, fill=False, ec=EDGE[0]))
    for title, (right, down) in zip(titles, ends):
        far = 1 + 9 / max(1.0, math.hypot(right, down))
        place = x + right * far, y + down * far
        if any(math.dist(place, other) < 14 for other in taken):
            place = place[0] + 14, place[1]
        taken.append(place)
        page.write(*place, title, weight="bold")
    one, other = (math.degrees(math.atan2(end[1], end[0])) for end in ends)
    turn = (other - one) % 360
    start, turn = (other, 360 - turn) if turn > 180 else (one, turn)
    style: Style = {"fc": fill, "ec": LINE[0], "lw": 0.6}
    page.add(Wedge(at, RADIUS * 0.45, start, start + turn, **style))
    page.ax.quiver([x, x], [y, y], *zip(*ends), color=INK[0], **SHAFT)
