"""A dot product is a length times a shadow."""

import math

import torch
from matplotlib.patches import Arc
from torch import Tensor

from pictures.canvas import Canvas
from tformer_lite.drawing.surface.matrix import number, with_minus
from tformer_lite.drawing.surface.page import PANEL, Style, text_width
from tformer_lite.drawing.surface.palette import AROUND_ZERO, INK, LINE
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["shadows"]

# Of an angle; at most, the longest arrow, and a name: pixels.
ARC, HIGHEST, LONGEST = 24, 160, 90
SHAFT = "-|>, head_length=9, head_width=4"
# What an angle is called, up to so many degrees.
HEADS = {30: "nearly the same way", 80: "somewhat the same way"}
HEADS |= {100: "about a right angle", 181: "turned away"}


def shadows(one: Tensor, others: Tensor, names: list[str]) -> Picture:
    """Draw a vector's dot products: (C), (N, C) -> a picture of N panels.

    In each panel the vector of the first name lies level, with another one:
    two arrows share a plane, so that lengths and angle are true, on one
    scale for all. The bar is the shadow of the other arrow on the first,
    orange where it counts up, blue where it counts down. Below stand length,
    shadow and their product, the cosine where all lengths are 1. Raises
    ValueError for other shapes, and for more or fewer names.

    >>> shadows(torch.ones(4), torch.eye(4)[:1], ["ones", "first"])
    ones · first: at 60°, 2.00 × 0.50 = 1.00.
    """
    fit = one.shape == others.shape[1:] and len(names) == len(others) + 1
    if not fit or len(names) < 2 or not one.any():
        raise ValueError(
            f"{tuple(one.shape)}, {tuple(others.shape)}, {len(names)} names: "
            "give (C) that is not 0, (N, C), and a name for each."
        )
    rows = torch.cat((one[None], others)).detach().cpu().double()
    lengths = rows.norm(dim=-1)
    along = rows[1:] @ rows[0] / lengths[0]
    up = (lengths[1:] ** 2 - along**2).clamp(min=0).sqrt()
    room: float = (220 if len(others) > 2 else PANEL) - 36
    room -= min(max(map(text_width, names)), LONGEST)
    span = lengths[0] - along.clamp(max=0).min()
    unit = min(room / span, HIGHEST / lengths.max()).item()
    top = -unit * up.max().item() - 44
    product = "dot product" if (lengths - 1).abs().max() > 1e-4 else "cosine"
    pages, said = list[Plane](), []
    for name, x, y in zip(names[1:], along.tolist(), up.tolist()):
        pages.append(Plane(lengths[0].item(), x, y, unit))
        said.append(pages[-1].draw_arrows(names[0], name))
        pages[-1].write_sum(top, product)
    return pages[0].picture(" ".join(said), *pages[1:])


class Plane(Canvas):
    """A page on which two arrows begin at 0, one of them level."""

    def __init__(self, base: float, along: float, up: float, unit: float):
        super().__init__()
        self.numbers = base, along, base * along
        self.angle = math.degrees(math.atan2(up, along))
        self.base, self.x, self.y = base * unit, along * unit, -up * unit

    @with_style
    def draw_arrows(self, base: str, other: str) -> str:
        """Draw both arrows, their angle and the shadow, and say so."""
        x, y, angle = self.x, self.y, f"{self.angle:.0f}°"
        line: Style = {"color": LINE[0], "lw": 0.8, "zorder": 0.5}
        self.ax.plot([x, x, 0], [y, 0, 0], ls=":", clip_on=False, **line)
        size = 2 * ARC, 2 * ARC
        self.add(Arc((0, 0), *size, theta1=-self.angle, theta2=0, **line))
        middle = math.radians(self.angle / 2)
        far = max(ARC + 14, 15 / max(math.sin(middle), 0.1))
        at = far * math.cos(middle), -far * math.sin(middle)
        self.note(*at, angle)
        for end in (self.base, 0), (x, y):
            self.arrow((0, 0), end, arrowstyle=SHAFT, color=INK[0], lw=2)
        self.bold(self.base + 6, 0, base, LONGEST, ha="left")
        self.bold(x, y - 11, other, LONGEST)
        fill: Style = {
            "fc": AROUND_ZERO.light[-(x > 0)],
            "ec": LINE[0],
            "lw": 0.6,
        }
        self.rectangle((min(x, 0), 5, abs(x), 8), **fill)
        length, along, product = map(number, self.numbers)
        return f"{base} · {other}: at {angle}, {length} × {along} = {product}."

    def write_sum(self, top: float, product: str) -> None:
        """Write what it comes to: above in words, below in numbers."""
        left = min(self.x, 0)
        head = next(head for most, head in HEADS.items() if self.angle < most)
        self.bold(left, top, head, ha="left")
        base, along, result = map(with_minus, map(number, self.numbers))
        texts = {18: base, 45: "×", 74: along, 102: "=", 138: result}
        for x, text in texts.items():
            self.write(left + x, 32, text, weight="bold" * (x > 102) or None)
        for x, note in (18, "length"), (74, "shadow"), (138, product):
            self.note(left + x, 47, note)
