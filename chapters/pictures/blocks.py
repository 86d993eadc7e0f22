"""Elements as blocks, which keep their colour wherever an operation moves
them."""

from dataclasses import dataclass

import torch
from matplotlib.colors import ListedColormap, Normalize
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import labels_for
from tformer_lite.drawing.surface.page import (
    SIZE,
    Box,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import AXES, GREY, PAPER, WRONG, tint
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["blocks"]

WORDS, CHANNELS = 20, 64  # so many have room
RULE = "a tensor of addresses, such as torch.arange(24).view(2, 12)"
CELL, HIGH, LOW = 24, 20, 14  # how wide and high elements are, and many
FEW, DIGIT = 4, 13  # words; how wide an element with room for digits is
GAP, APART, ARROW = 24, 8, 30  # between panels, heads, and lines of panels
LINE, HEAD = 14, 46  # a line of a title; the name of a head
HEADS: Style = {"size": SIZE, "color": AXES["H"][1][0]}


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
    titles = titles_of(titles, len(tensors))
    of = tensors[0] if of is None else of
    check_addresses(of)
    words = labels_for(words, len(of))
    n_heads = n_heads or max(len(x) if x.ndim == 3 else 1 for x in tensors)
    panels = [
        Elements(title, places_of(title, tensor, of), of.shape, words, n_heads)
        for title, tensor in zip(titles, tensors)
    ]
    text = " ".join(map(panel_text, panels))
    text = "\n\n".join([text, *map(rows_text, panels)])
    return Blocks(panels, axes).picture(text)


def check_addresses(of: Tensor) -> None:
    """Raise ValueError unless a matrix has a number for each place."""
    shape = tuple(of.shape)
    if of.ndim != 2 or not of.numel():
        raise ValueError(f"addresses have shape {shape}: give {RULE}.")
    if shape[0] > WORDS or shape[1] > CHANNELS:
        raise ValueError(
            f"addresses have shape {shape}, and a drawing has room for "
            f"{WORDS} words of {CHANNELS} channels: choose some of them."
        )
    if len(of.unique()) < of.numel():
        raise ValueError(f"a number stands in two places: give {RULE}.")


def places_of(title: str, tensor: Tensor, of: Tensor) -> Tensor:
    """Give the place in a matrix of each element of a tensor.

    Raises ValueError for what is not there, and for more than 3 axes.
    """
    if not 1 <= tensor.ndim <= 3:
        raise ValueError(
            f"{title} has shape {tuple(tensor.shape)}: choose one sentence "
            "of it, such as heads[0]."
        )
    index = {number: i for i, number in enumerate(of.flatten().tolist())}
    found = [index.get(number, -1) for number in tensor.flatten().tolist()]
    if -1 in found:
        raise ValueError(
            f"{title} has {tensor.flatten()[found.index(-1)]}, which is no "
            "address: take what an operation makes of the addresses, and "
            "calculate nothing."
        )
    return torch.tensor(found).view(tensor.shape)


@dataclass(frozen=True)
class Elements:
    """A tensor of addresses that an operation has made: (T, C), with heads
    (H, T, D), or (N) as it lies in memory. `places` tell where each element
    was in the matrix of addresses, whose `size` is (T, C): a word in each
    row, and columns in shares for `n_heads`."""

    title: str
    places: Tensor
    size: tuple[int, ...]
    words: list[str]
    n_heads: int

    @property
    def groups(self) -> Tensor:
        """The places by head, row and column."""
        return self.places[(None,) * (3 - self.places.ndim)]

    @property
    def at_home(self) -> Tensor | None:
        """Which elements are where attention wants them; None for a shape
        that is not of that kind."""
        home = torch.arange(self.places.numel())
        rows, columns = self.size
        if self.places.shape == (self.n_heads, rows, columns // self.n_heads):
            heads = home.view(rows, self.n_heads, -1).transpose(0, 1)
            return self.places == heads
        if self.places.shape == self.size:
            return self.places == home.view(self.size)
        return None

    @property
    def verdict(self) -> str:
        """Say how many elements are at home."""
        if self.at_home is None:
            return ""
        there, every = self.at_home.sum(), self.at_home.numel()
        count = "all" if there == every else f"{there} of"
        return f"{count} {every} elements in their place"

    def label(self, row: Tensor) -> str:
        """Name the words whose elements stand in a row, in order."""
        found = dict.fromkeys((row // self.size[1]).tolist())
        return ", ".join(self.words[word] for word in found)


def panel_text(panel: Elements) -> str:
    """Describe a panel to someone who does not see it."""
    shape = tuple(panel.places.shape)
    said = panel.verdict or f"{shape[-1]} in a row"
    return f"{panel.title} {shape}: {said}."


def rows_text(panel: Elements) -> str:
    """Write the elements row by row: each word, and the channels that
    follow it."""
    lines = [panel.title]
    for head, group in enumerate(panel.groups.tolist()):
        name = f"head {head}: " if panel.places.ndim == 3 else ""
        for row in group:
            say, before = [], None
            for word, channel in (divmod(x, panel.size[1]) for x in row):
                say += [] if word == before else [panel.words[word]]
                say.append(str(channel))
                before = word
            lines.append(name + " ".join(say))
    return "\n".join(lines)


class Blocks(Canvas):
    """A page of panels: the first, and below it the others, as many beside
    each other as have room for their titles and digits."""

    @with_style
    def __init__(self, panels: list[Elements], axes: str):
        super().__init__()
        first, *below = panels
        self.letters = axes.split()
        self.high = HIGH if first.size[0] <= FEW else LOW
        labels = [x.label(row) for x in panels for y in x.groups for row in y]
        self.names = 10 + min(80, max(text_width(x) for x in labels))
        counts = range(len(below), 1, -1)
        beside = next((n for n in counts if self.fit(below, n)), 1)
        rooms = [self.room(panel, beside) for panel in below]
        self.cell = min(CELL, self.room(first, 1), *rooms)
        start = end = draw_line(self, [first], 1, 0)
        for i in range(0, len(below), beside):
            line = below[i : i + beside]
            end = draw_line(self, line, beside, end + ARROW)
        for i in range(beside if below else 0):
            away = WIDEST * ((i + 0.5) / beside - 0.5)
            tail, tip = WIDEST / 2 + 0.2 * away, WIDEST / 2 + away
            self.arrow((tail, start + 4), (tip, start + ARROW - 4))

    def fit(self, panels: list[Elements], n: int) -> bool:
        """Tell whether n panels fit beside each other, with their titles."""
        wide = WIDEST / n - GAP
        titles = [text_width(x.title, SIZE, "bold") <= wide for x in panels]
        return all(titles) and min(self.room(x, n) for x in panels) >= DIGIT

    def room(self, panel: Elements, n: int) -> float:
        """How wide an element of one of n panels side by side can be."""
        names = [0, 0, self.names, HEAD + self.names][panel.places.ndim]
        wide = WIDEST / n - GAP * (n > 1) - names
        return wide / panel.places.shape[-1]


def draw_line(
    page: Blocks, panels: list[Elements], beside: int, top: float
) -> float:
    """Draw panels side by side, and give where the last of them ends."""
    ends = [
        draw_panel(page, panel, (WIDEST * (i + 0.5) / beside, top + LINE))
        for i, panel in enumerate(panels)
    ]
    return max(ends)


def draw_panel(page: Blocks, panel: Elements, at: Place) -> float:
    """Draw a panel from its title down: its shape, its elements, and what is
    said of it. Give where it ends."""
    (middle, y), shape = at, panel.places.shape
    page.bold(middle, y - 6, panel.title, size=SIZE)
    if len(shape) > 1:
        row, column = page.letters
        letters = [row, column] if len(shape) == 2 else ["H", row, "D"]
        page.shape(middle, y + 16, letters, shape)
        y += 32
    names = [0, 0, page.names, HEAD - page.names][len(shape)]
    wide, y = page.cell * shape[-1], y + 6
    left = middle - (wide - names) / 2
    for head, group in enumerate(panel.groups):
        box = left, y, wide, page.high * len(group)
        draw_cells(page, panel, group, box)
        if len(shape) == 3:
            name = f"head {head}"
            page.bold(left - 8, y + box[3] / 2, name, ha="right", **HEADS)
        if len(shape) > 1:
            draw_row_names(page, panel, group, box)
        y += box[3] + APART
    draw_foot(page, panel, (left, y + 4, wide, at[1] - LINE))
    return y + 18


def draw_foot(page: Blocks, panel: Elements, box: Box) -> None:
    """Say below a panel how many elements are at home, or below the first
    which channels are a head's."""
    (left, y, wide, above), n = box, panel.n_heads
    if above:
        right = panel.verdict.startswith("all")
        colour = (GREY if right else WRONG)[0]
        page.note(left + wide / 2, y, panel.verdict, color=colour)
    elif panel.places.ndim == 2 and n > 1:
        for head in range(n):
            name = f"{'head ' * (wide / n > HEAD)}{head}"
            page.bold(left + wide * (head + 0.5) / n, y, name, **HEADS)


def draw_cells(page: Blocks, panel: Elements, group: Tensor, box: Box) -> None:
    """Draw the elements of a head, with their channels if there is room."""
    left, top, wide, high = box
    n, c, (rows, columns) = panel.n_heads, panel.size[1], group.shape
    keys = group // c * n + group % c * n // c
    colours = [tint(*divmod(key, n)) for key in range(int(keys.max()) + 1)]
    page.ax.pcolormesh(
        torch.linspace(left, left + wide, columns + 1).numpy(),
        torch.linspace(top, top + high, rows + 1).numpy(),
        keys.numpy(),
        cmap=ListedColormap(colours),
        norm=Normalize(-0.5, len(colours) - 0.5),
        edgecolors=PAPER[0],
        linewidth=1,
        clip_on=False,
    )
    for i, row in enumerate((group % c).tolist()):
        for j, channel in enumerate(row):
            if page.cell >= DIGIT:
                x = left + page.cell * (j + 0.5)
                y = top + page.high * (i + 0.5)
                page.write(x, y, str(channel))


def draw_row_names(
    page: Blocks, panel: Elements, group: Tensor, box: Box
) -> None:
    """Name the words in each row, and mark those that do not belong there:
    at the right of heads, else at the left."""
    left, top, wide, _ = box
    heads = panel.places.ndim == 3
    x, side = (left + wide + 6, "left") if heads else (left - 6, "right")
    for i, row in enumerate(group):
        y, style = top + page.high * (i + 0.5), {"ha": side}
        if panel.at_home is not None and (row // panel.size[1] != i).any():
            style |= {"color": WRONG[0], "weight": "bold"}
        page.word(x, y, panel.label(row), page.names - 8, **style)
