"""Elements as blocks, which keep their colour wherever an operation moves
them."""

from dataclasses import dataclass

import torch
from matplotlib.colors import ListedColormap, Normalize
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of, word_style
from tformer_lite.drawing.surface.matrix import labels_for
from tformer_lite.drawing.surface.page import (
    SIZE,
    SMALL,
    Box,
    Place,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    AXES,
    MUTED,
    PAPER,
    WRONG,
    tint,
)
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["blocks"]

WORDS, CHANNELS = 20, 64  # so many have room
RULE = "a tensor of addresses, such as torch.arange(24).view(2, 12)"
CELL, HIGH, LOW = 24, 20, 14  # how wide and high elements are, and many
FEW, DIGIT = 4, 13  # words; how wide an element with room for digits is
GAP, APART, ARROW = 24, 8, 30  # between panels, heads, and lines of panels
LINE, HEAD = 14, 46  # a line of a title; the name of a head
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
    titles = titles_of(titles, len(tensors))
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
    words, rows = map(panel_text, panels), map(rows_text, panels)
    return Blocks(panels, axes).picture("\n\n".join([" ".join(words), *rows]))


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


class Source:
    """A matrix whose every number is the address of its place: the rows are
    words, and the columns their channels, in shares for `n_heads`.

    Raises ValueError for another tensor, for numbers that stand there twice,
    for sizes that cannot be drawn, and for words that do not fit.
    """

    def __init__(self, of: Tensor, words: list[str] | None, n_heads: int):
        check_addresses(of)
        self.shape, self.n_heads = tuple(of.shape), n_heads
        self.words = labels_for(words, self.shape[0])
        numbers = of.flatten().tolist()
        self.index = {number: i for i, number in enumerate(numbers)}

    def places(self, title: str, tensor: Tensor) -> Tensor:
        """Give the place in the matrix of each element of a tensor."""
        numbers = tensor.flatten().tolist()
        strange = [n for n in numbers if n not in self.index]
        if strange:
            raise ValueError(
                f"{title} has {strange[0]}, which is no address: take what an "
                "operation makes of the addresses, and calculate nothing."
            )
        found = torch.tensor([self.index[n] for n in numbers])
        return found.view(tensor.shape)

    def find(self, place: int) -> tuple[int, int]:
        """Give the word, a row, and the channel, a column, of a place."""
        return divmod(place, self.shape[1])

    def colour(self, place: int) -> str:
        """A hue for the word, and a tint for the head."""
        word, channel = self.find(place)
        return tint(word, channel * self.n_heads // self.shape[1])


@dataclass(frozen=True)
class Elements:
    """A tensor of addresses that an operation has made: (T, C), with heads
    (H, T, D), or (N) as it lies in memory. `places` tell where each element
    was in the source."""

    title: str
    places: Tensor
    source: Source

    @property
    def groups(self) -> list[list[list[int]]]:
        """The places, by head and row; what has no heads is one group."""
        missing = 3 - self.places.ndim
        return self.places[(None,) * missing].tolist()

    @property
    def rows(self) -> list[list[int]]:
        """The places by row, those of all heads."""
        return [row for group in self.groups for row in group]

    @property
    def home(self) -> Tensor | None:
        """What `places` are when all elements are where attention wants
        them, or None for a shape that is not of that kind."""
        every = torch.arange(self.places.numel())
        if self.places.shape == self.source.shape:
            return every.view(self.source.shape)
        rows, columns = self.source.shape
        heads = self.source.n_heads
        if self.places.shape == (heads, rows, columns // heads):
            dealt = every.view(rows, heads, columns // heads)
            return dealt.transpose(0, 1)
        return None

    def words(self, row: list[int]) -> list[int]:
        """The words whose elements stand in a row, in order."""
        return list(dict.fromkeys(self.source.find(x)[0] for x in row))

    def strays(self, row: list[int], position: int) -> bool:
        """Tell whether a row of a position has another word's elements."""
        return self.home is not None and self.words(row) != [position]

    def label(self, row: list[int]) -> str:
        """Name the words in a row."""
        return ", ".join(self.source.words[word] for word in self.words(row))


def panel_text(panel: Elements) -> str:
    """Describe a panel to someone who does not see it."""
    shape, (said, _) = tuple(panel.places.shape), verdict_text(panel)
    return f"{panel.title} {shape}: {said or f'{shape[-1]} in a row'}."


def rows_text(panel: Elements) -> str:
    """Write the elements row by row."""
    lines = [panel.title]
    for head, group in enumerate(panel.groups):
        name = f"head {head}: " if panel.places.ndim == 3 else ""
        lines += [name + row_text(row, panel.source) for row in group]
    return "\n".join(lines)


def verdict_text(elements: Elements) -> tuple[str, bool]:
    """Say how many elements are at home, and whether all are."""
    home, places = elements.home, elements.places
    if home is None:
        return "", True
    there, every = (places == home).sum(), places.numel()
    count = "all" if there == every else f"{there} of"
    return f"{count} {every} elements in their place", bool(there == every)


def row_text(row: list[int], source: Source) -> str:
    """Write a row: each word, and the channels that follow it."""
    say, before = [], None
    for place in row:
        word, channel = source.find(place)
        say += [] if word == before else [source.words[word]]
        say.append(str(channel))
        before = word
    return " ".join(say)


class Blocks(Canvas):
    """A page of panels: the first, and below it the others, as many beside
    each other as have room for their titles and digits."""

    @styled
    def __init__(self, panels: list[Elements], axes: str):
        super().__init__()
        first, *below = panels
        self.letters, self.n_heads = axes.split(), first.source.n_heads
        self.high = HIGH if first.source.shape[0] <= FEW else LOW
        labels = [panel.label(row) for panel in panels for row in panel.rows]
        self.words = 10 + min(80, max(text_width(x, SMALL) for x in labels))
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
        whole = all("".join(title_lines(p, n)) == p.title for p in panels)
        return whole and min(self.room(p, n) for p in panels) >= DIGIT

    def room(self, panel: Elements, n: int) -> float:
        """How wide an element of one of n panels side by side can be."""
        names = [0, 0, self.words, HEAD + self.words][panel.places.ndim]
        wide = WIDEST / n - GAP * (n > 1) - names
        return wide / panel.places.shape[-1]


def title_lines(panel: Elements, n: int) -> list[str]:
    """Break the title of one of n panels side by side before one of its
    calls, or cut it, if it must be."""
    title, wide = panel.title, WIDEST / n - GAP * (n > 1)
    dots = [i for i, letter in enumerate(title) if letter == "."]
    halves = ([title[:i], title[i:]] for i in reversed(dots))
    for lines in [title], *halves:
        if max(text_width(line, **TITLE) for line in lines) <= wide:
            return lines
    return [shortened(title, wide, **TITLE)]


def draw_line(
    page: Blocks, panels: list[Elements], beside: int, top: float
) -> float:
    """Draw panels side by side, each below its title, and give where the
    last of them ends."""
    titles = [title_lines(panel, beside) for panel in panels]
    ends, y = [], top + LINE * max(map(len, titles))
    for i, (lines, panel) in enumerate(zip(titles, panels)):
        middle = WIDEST * (i + 0.5) / beside
        for above, line in enumerate(reversed(lines)):
            page.write(middle, y - 6 - LINE * above, line, **TITLE)
        ends.append(draw_panel(page, panel, (middle, y), not top))
    return max(ends)


def draw_panel(page: Blocks, panel: Elements, at: Place, first: bool) -> float:
    """Draw a panel below its title: its shape, its elements, and what is
    said of it. Give where it ends."""
    (middle, y), shape, wide = at, panel.places.shape, panel.places.shape[-1]
    if len(shape) > 1:
        row, column = page.letters
        letters = [row, column] if len(shape) == 2 else ["H", row, "D"]
        page.shape(middle, y + 16, letters, shape)
        y += 32
    names = [0, 0, page.words, HEAD - page.words][len(shape)]
    left, y = middle - (wide * page.cell - names) / 2, y + 6
    for head, group in enumerate(panel.groups):
        box = left, y, page.cell * wide, page.high * len(group)
        draw_cells(page, box, group, panel.source)
        if len(shape) == 3:
            style = HEADS | {"ha": "right"}
            page.write(left - 8, y + box[3] / 2, f"head {head}", **style)
        if len(shape) > 1:
            draw_words(page, panel, group, box)
        y += box[3] + APART
    draw_foot(page, panel, first, (left, y + 4, box[2], 0))
    return y + 18


def draw_foot(page: Blocks, panel: Elements, first: bool, box: Box) -> None:
    """Say below a panel how many elements are at home, or below the first
    which channels are a head's."""
    left, y, wide, _ = box
    (said, right), n = verdict_text(panel), page.n_heads
    if not first:
        colour = (MUTED if right else WRONG)[0]
        page.note(left + wide / 2, y, said, color=colour)
    elif panel.places.ndim == 2 and n > 1:
        name = "head " if wide / n > HEAD else ""
        for head in range(n):
            x = left + wide * (head + 0.5) / n
            page.write(x, y, f"{name}{head}", **HEADS)


def draw_cells(
    page: Blocks, box: Box, group: list[list[int]], source: Source
) -> None:
    """Draw the elements of a head, with their channels if there is room."""
    (left, top, *_), w, h = box, page.cell, page.high
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
        clip_on=False,
    )
    for i, row in enumerate(group):
        for j, place in enumerate(row):
            if w >= DIGIT:
                x, y = left + w * (j + 0.5), top + h * (i + 0.5)
                page.write(x, y, str(source.find(place)[1]), size=9)


def draw_words(
    page: Blocks, panel: Elements, group: list[list[int]], box: Box
) -> None:
    """Name the words in each row, and mark those that do not belong there:
    at the right of heads, else at the left."""
    left, top, wide, _ = box
    heads = panel.places.ndim == 3
    x, side = (left + wide + 6, "left") if heads else (left - 6, "right")
    for i, row in enumerate(group):
        style = word_style(panel.label(row)) | {"ha": side, "size": SMALL}
        if panel.strays(row, i):
            style |= {"color": WRONG[0], "weight": "bold"}
        word = shortened(panel.label(row), page.words - 8, size=SMALL)
        page.write(x, top + page.high * (i + 0.5), word, **style)
