"""Elements as blocks, which keep their colour wherever an operation moves
them."""

import sys
from collections.abc import Sequence

from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from torch import Tensor

from pictures.elements import (
    Elements,
    Source,
    verdict,
    written,
)
from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface.page import (
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    Box,
    Page,
    Place,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    AXES,
    DARK,
    MUTED,
    PAPER,
    WRONG,
)
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["blocks"]

CELL, HIGH, LOW = 24, 20, 14  # how wide and high elements are, and many
FEW = 4  # words
DIGIT = 13  # how wide an element is that has room for its digits
GAP, APART = 24, 8  # between panels; between heads
ABOVE, BELOW = 54, 26  # for a panel's title and shape; for what is said of it
LINE = 14  # from one line of a title to the next
TOP = 24  # above what lies in memory, which has a title alone
HEAD = 46  # for the name of a head
ARROW = 30  # from the first panel to those below it
TINY = 9  # letters of a digit
HEADS: Style = {"weight": "bold", "color": AXES["H"][1][0], "size": SMALL}
TITLE: Style = {"weight": "bold", "size": SIZE}


def blocks(
    *tensors: Tensor,
    of: Tensor | None = None,
    words: list[str] | None = None,
    n_heads: int | None = None,
    axes: str = "T C",
    titles: list[str] | None = None,
) -> Picture:
    """Draw where an operation takes each element: (T, C), (H, T, D) -> a
    picture.

    `of` is a matrix of addresses, all different, for which the first tensor
    stands if it is left out; the tensors are what operations made of it,
    (T, C), (H, T, D), or (N) as it lies in memory. An element keeps its
    colour: a hue for its word, a tint for its head; its digit is its
    channel. A row with elements of a word that does not belong there is
    marked. Each panel is headed by its argument as you wrote it; `titles`
    replaces what you wrote. `words` name the rows of `of`, `axes` its axes,
    and `n_heads` tells how many tints there are where no tensor has heads.
    Raises ValueError for numbers that are no addresses.

    >>> x = torch.arange(24).view(2, 12)
    >>> blocks(x, x.view(3, 2, 4), words=["mouth", "is"])
    x (2, 12): all 24 elements in their place. x.view(3, 2, 4) (3, 2, 4): 8 ...
    """
    titles = titles or argument_texts(sys._getframe(1))
    titles = titles or [f"tensor {i}" for i in range(len(tensors))]
    if not tensors or len(titles) != len(tensors):
        raise ValueError(f"{len(tensors)} tensors, {len(titles)} titles.")
    of = tensors[0] if of is None else of
    found = max(len(x) if x.ndim == 3 else 1 for x in tensors)
    source = Source(of, words, n_heads or found)
    panels = []
    for title, tensor in zip(titles, tensors):
        if not 1 <= tensor.ndim <= 3:
            raise ValueError(
                f"{title} has shape {tuple(tensor.shape)}: choose one "
                "sentence of it, such as heads[0]."
            )
        panels.append(Elements(title, source.places(title, tensor), source))
    text = "\n\n".join([" ".join(map(sentence, panels)), *map(rows, panels)])
    wide, narrow = (draw_blocks(panels, axes, w) for w in (WIDE, NARROW))
    return Picture(wide, text, DARK, narrow)


def sentence(panel: Elements) -> str:
    """Describe a panel to someone who does not see it."""
    shape, (said, _) = tuple(panel.places.shape), verdict(panel)
    return f"{panel.title} {shape}: {said or f'{shape[-1]} in a row'}."


def rows(panel: Elements) -> str:
    """Write the elements row by row."""
    lines = [panel.title]
    for head, group in enumerate(panel.groups):
        name = f"head {head}: " if panel.places.ndim == 3 else ""
        lines += [name + written(row, panel.source) for row in group]
    return "\n".join(lines)


class Plan:
    """How panels are laid out: how many stand beside each other below the
    first, how wide and high an element is, and how wide words are."""

    def __init__(self, panels: list[Elements], width: float):
        self.width, below = width, panels[1:]
        labels = [panel.label(row) for panel in panels for row in panel.rows]
        self.words = 10 + min(80, max(text_width(x, SMALL) for x in labels))
        counts = range(len(below), 1, -1)
        self.beside = next((n for n in counts if self.fit(below, n)), 1)
        spaces = [(panels[0], 1), *((panel, self.beside) for panel in below)]
        self.cell = min(CELL, *(self.room(*space) for space in spaces))
        self.high = HIGH if panels[0].source.shape[0] <= FEW else LOW
        lines = max(len(self.title(panel)) for panel in below or panels)
        self.titles = LINE * (lines - 1)

    def title(self, panel: Elements, n: int | None = None) -> list[str]:
        """Break the title of one of n panels side by side."""
        return broken(panel.title, self.width / (n or self.beside) - GAP)

    def fit(self, panels: list[Elements], n: int) -> bool:
        """Tell whether n panels fit beside each other, with their titles."""
        whole = all("".join(self.title(p, n)) == p.title for p in panels)
        return whole and min(self.room(p, n) for p in panels) >= DIGIT

    def room(self, panel: Elements, n: int) -> float:
        """How wide an element of one of n panels side by side can be."""
        wide = self.width / n - GAP * (n > 1) - self.beside_cells(panel)
        return wide / panel.places.shape[-1]

    def beside_cells(self, panel: Elements) -> float:
        """How wide the names of heads and words are."""
        heads = HEAD if panel.places.ndim == 3 else 0
        return heads + self.words * (panel.places.ndim > 1)

    def above(self, panel: Elements) -> float:
        """How much of a panel is above its cells."""
        return self.titles + (ABOVE if panel.places.ndim > 1 else TOP)

    def height(self, panel: Elements) -> float:
        """How high a panel is."""
        gaps = APART * (len(panel.groups) - 1)
        return self.above(panel) + len(panel.rows) * self.high + gaps + BELOW

    def left(self, panel: Elements, middle: float) -> float:
        """Where the cells of a panel begin that is centred on its middle."""
        wide = self.cell * panel.places.shape[-1] + self.beside_cells(panel)
        names = [0, 0, self.words, HEAD][panel.places.ndim]
        return middle - wide / 2 + names


def broken(title: str, wide: float) -> list[str]:
    """Break a title before one of its calls, or cut it, if it must be."""
    dots = [i for i, letter in enumerate(title) if letter == "."]
    halves = ([title[:i], title[i:]] for i in reversed(dots))
    for lines in [title], *halves:
        if max(text_width(line, **TITLE) for line in lines) * 1.05 <= wide:
            return lines
    return [shortened(title, 0.95 * wide, **TITLE)]


@styled
def draw_blocks(panels: list[Elements], axes: str, width: float) -> Figure:
    """Draw the first panel, and the others below, as many in a line as have
    room."""
    plan, (first, *below) = Plan(panels, width), panels
    lines = [
        below[i : i + plan.beside] for i in range(0, len(below), plan.beside)
    ]
    heights = [max(map(plan.height, line)) for line in lines]
    page = Page(width, plan.height(first) + sum(heights) + ARROW * len(lines))
    draw_panel(page, plan, first, axes, (width / 2, 0))
    top = plan.height(first)
    for line, high in zip(lines, heights):
        for i, panel in enumerate(line):
            middle = width * (i + 0.5) / plan.beside
            tail = width / 2 + (middle - width / 2) * 0.2
            if line is lines[0]:
                page.arrow((tail, top + 4), (middle, top + ARROW - 4))
            draw_panel(page, plan, panel, axes, (middle, top + ARROW))
        top += high + ARROW
    return page.figure


def draw_panel(
    page: Page, plan: Plan, panel: Elements, axes: str, at: Place
) -> None:
    """Draw a panel below a place: its title, its shape, its groups, and what
    is said of it."""
    (middle, top), shape = at, panel.places.shape
    y = top + plan.above(panel)
    if len(shape) > 1:
        page.shape(middle, y - 22, letters(axes, shape), shape)
    title = y - (46 if len(shape) > 1 else 12)
    for i, line in enumerate(reversed(plan.title(panel))):
        page.write(middle, title - LINE * i, line, **TITLE)
    left = plan.left(panel, middle)
    for head, group in enumerate(panel.groups):
        box = left, y, plan.cell * shape[-1], plan.high * len(group)
        draw_cells(page, box, group, panel.source)
        if len(shape) == 3:
            style = HEADS | {"ha": "right"}
            page.write(left - 8, y + box[3] / 2, f"head {head}", **style)
        if len(shape) > 1:
            draw_words(page, plan, panel, group, box)
        y += box[3] + APART
    draw_foot(page, panel, not top, (left, y + 4, box[2], 0))


def draw_foot(page: Page, panel: Elements, first: bool, box: Box) -> None:
    """Say below a panel how many elements are at home, or below the first
    which channels are a head's."""
    left, y, wide, _ = box
    n, (said, right) = panel.source.n_heads, verdict(panel)
    if not first:
        colour = (MUTED if right else WRONG)[0]
        page.note(left + wide / 2, y, said, color=colour)
    elif panel.places.ndim == 2 and n > 1:
        name = "head " if wide / n > HEAD else ""
        for head in range(n):
            x = left + wide * (head + 0.5) / n
            page.write(x, y, f"{name}{head}", **HEADS)


def letters(axes: str, shape: Sequence[int]) -> list[str]:
    """Name the axes of a tensor: the matrix's own, or those of heads."""
    row, column = axes.split()
    return [row, column] if len(shape) == 2 else ["H", row, "D"]


def draw_cells(
    page: Page, box: Box, group: list[list[int]], source: Source
) -> None:
    """Draw the elements of a head, with their channels if there is room."""
    left, top, wide, high = box
    w, h = wide / len(group[0]), high / len(group)
    colours = [[source.colour(place) for place in row] for row in group]
    known = sorted({colour for row in colours for colour in row})
    page.ax.pcolormesh(
        [left + w * i for i in range(len(group[0]) + 1)],
        [top + h * i for i in range(len(group) + 1)],
        [[known.index(colour) for colour in row] for row in colours],
        cmap=ListedColormap(known),
        norm=Normalize(-0.5, len(known) - 0.5),
        edgecolors=PAPER[0],
        linewidth=1,
    )
    for i, row in enumerate(group):
        for j, place in enumerate(row):
            if w >= DIGIT:
                x, y = left + w * (j + 0.5), top + h * (i + 0.5)
                page.write(x, y, str(source.channel(place)), size=TINY)


def draw_words(
    page: Page, plan: Plan, panel: Elements, group: list[list[int]], box: Box
) -> None:
    """Name the words in each row, and mark those that do not belong there:
    at the right of heads, else at the left."""
    left, top, wide, _ = box
    heads = panel.places.ndim == 3
    x, side = (left + wide + 6, "left") if heads else (left - 6, "right")
    for i, row in enumerate(group):
        style: Style = {"ha": side, "size": SMALL}
        if panel.strays(row, i):
            style |= {"color": WRONG[0], "weight": "bold"}
        elif panel.label(row) == "[PAD]":
            style |= {"color": MUTED[0]}
        word = shortened(panel.label(row), plan.words - 8, size=SMALL)
        page.write(x, top + plan.high * (i + 0.5), word, **style)
