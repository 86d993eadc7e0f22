"""Ids fetch rows of an embedding table."""

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.figure import Figure
from torch import Tensor

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite.drawing.surface import matrix
from tformer_lite.drawing.surface.page import (
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    Page,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    DARK,
    KINDS,
    LINE,
    MUTED,
    PAPER,
    RIM,
)
from tformer_lite.drawing.surface.picture import Picture, styled
from tformer_lite.model.checks import check_ids

__all__ = ["look_up"]

WORDS, CHANNELS = 20, 24  # so many have room
STEP, HIGH, BOX = 26, 18, 30  # from id to id; a row's height; an id's width
ABOVE, BELOW = 56, 26  # for titles and shapes; for what is said
LEFT_OUT = "⋮"
CELLS = KINDS["scores"]
TITLE: Style = {"weight": "bold", "size": SIZE}
ONE_ROW: Style = {"color": RIM[0], "weight": "bold"}


def look_up(
    ids: Tensor, table: Tensor, words: list[str] | None = None
) -> Picture:
    """Draw which row of a table each id fetches: (S), (V, C) -> a picture.

    `words` stand beside the ids. Ids that stand there more than once fetch
    one row, and are marked. Of many channels, the first 24 are drawn. The
    headings are the arguments as you wrote them. Raises ValueError for an
    id without a row, and for more than 20 ids.

    >>> look_up(torch.tensor([1, 0, 1]), torch.eye(2), ["to", "be", "to"])
    3 ids fetch 2 of 2 rows: to, to fetch ...
    """
    titles = argument_texts(sys._getframe(1)) or []
    ids = check_sentence(ids, table)
    matrix.check_matrix("table", table)
    named = matrix.labels_for(words, len(ids))
    headings = titles[:2] if len(titles) >= 2 else ["ids", "table"]
    found = Fetched(headings, named, ids.tolist(), table.detach().cpu())
    wide, narrow = (draw_look_up(found, width) for width in (WIDE, NARROW))
    return Picture(wide, found.text, DARK | CELLS.counterparts(), narrow)


def check_sentence(ids: Tensor, table: Tensor) -> Tensor:
    """Raise ValueError unless ids are a sentence's, and have their rows."""
    if ids.ndim != 1 or not 0 < len(ids) <= WORDS:
        raise ValueError(
            f"ids have shape {tuple(ids.shape)}: give 1 to {WORDS} of one "
            "sentence, such as ids[0]."
        )
    check_ids(ids[None], len(table))
    return ids


@dataclass
class Fetched:
    """Ids and their words, and the table that they look in; the headings of
    ids and table."""

    headings: list[str]
    words: list[str]
    ids: list[int]
    table: Tensor

    @property
    def lines(self) -> list[int | None]:
        """The rows that are drawn: those fetched, the first and the last,
        and None where others are left out."""
        every = sorted({0, len(self.table) - 1, *self.ids})
        lines: list[int | None] = [0]
        for before, line in pairwise(every):
            lines += [line] if line == before + 1 else [None, line]
        return lines

    @property
    def twice(self) -> list[int]:
        """The ids that stand in more than one place."""
        return [id_ for id_, n in Counter(self.ids).items() if n > 1]

    @property
    def shared(self) -> str:
        """Say which words fetch one row."""
        pairs = list(zip(self.words, self.ids))
        return "; ".join(
            f"{', '.join(w for w, one in pairs if one == id_)} fetch row {id_}"
            for id_ in self.twice
        )

    @property
    def text(self) -> str:
        """Say it to someone who does not see it."""
        shared = f": {self.shared}" if self.twice else ""
        count = f"{len(set(self.ids))} of {len(self.table):,} rows{shared}."
        channels = map(str, range(self.table.shape[1]))
        rows = [["word", "id", *channels][: CHANNELS + 2]]
        for word, id_ in zip(self.words, self.ids):
            numbers = map(matrix.number, self.table[id_, :CHANNELS])
            rows.append([word, str(id_), *numbers])
        fetched = matrix.table(self.headings[1], rows)
        return f"{len(self.ids)} ids fetch {count}\n\n{fetched}"


class Columns:
    """Where ids, table and fetched rows are: x of the words' end, the ids,
    the table's rows and the fetched rows, and how wide such a row is."""

    def __init__(self, found: Fetched, width: float):
        words = max(text_width(word, SMALL) for word in found.words)
        self.words = min(70, 1.1 * words) + 4
        self.box = max(BOX, text_width(str(max(found.ids)), SMALL) + 8)
        self.number = text_width(str(len(found.table) - 1), SMALL) + 8
        room = width - self.words - 6 - self.box - self.number
        self.wide = min(160, 0.33 * room)
        self.ids = self.words + 6
        self.rows = width - self.wide - 1
        gap = (room - 2 * self.wide) / 2
        self.table = self.ids + self.box + gap + self.number


@styled
def draw_look_up(found: Fetched, width: float) -> Figure:
    """Draw ids at the left, the table, and the fetched rows."""
    columns = Columns(found, width)
    high = STEP * max(len(found.ids), len(found.lines))
    page = Page(width, ABOVE + high + BELOW)
    places, lines = (down(high, len(x)) for x in (found.ids, found.lines))
    for id_ in sorted(set(found.ids)):
        line = lines[found.lines.index(id_)]
        draw_wires(page, columns, found, id_, line, places)
    for word, id_, y in zip(found.words, found.ids, places):
        draw_word(page, columns, word, str(id_), id_ in found.twice, y)
        draw_row(page, found, id_, (columns.rows, y, columns.wide))
    for drawn, y in zip(found.lines, lines):
        draw_line(page, columns, found, drawn, y)
    draw_headings(page, columns, found)
    if found.table.shape[1] > CHANNELS:
        cut = f"the first {CHANNELS} channels"
        page.note(columns.table, ABOVE + high + 2, cut, ha="left")
    said = shortened(found.shared, 0.9 * width, size=SMALL, weight="bold")
    y = page.height - 10
    page.write(width, y, said, ha="right", size=SMALL, **ONE_ROW)
    return page.figure


def down(high: float, n: int) -> list[float]:
    """How far down n lines are that share a height."""
    return [ABOVE + high * (i + 0.5) / n for i in range(n)]


def draw_wires(
    page: Page,
    columns: Columns,
    found: Fetched,
    id_: int,
    line: float,
    heights: list[float],
) -> None:
    """Draw curves from all places of an id to its row, and from there to
    the rows that are fetched."""
    style: Style = {"ec": LINE[0], "lw": 1}
    if id_ in found.twice:
        style = {"ec": RIM[0], "lw": 1.8, "zorder": 2}
    left = columns.table - columns.number
    for y in [y for one, y in zip(found.ids, heights) if one == id_]:
        page.wire((columns.ids + columns.box, y), (left, line), **style)
        end = columns.rows, y
        page.wire((columns.table + columns.wide, line), end, **style)


def draw_word(
    page: Page, columns: Columns, word: str, id_: str, twice: bool, y: float
) -> None:
    """Draw an id in a box, and its word before it."""
    box = columns.ids, y - HIGH / 2, columns.box, HIGH
    page.box(box, fc=PAPER[0], ec=(RIM if twice else LINE)[0], lw=0.9)
    page.write(columns.ids + columns.box / 2, y, id_, size=SMALL)
    style: Style = {"color": MUTED[0]} if word == "[PAD]" else {}
    word = shortened(word, 0.95 * columns.words, size=SMALL)
    page.write(columns.words, y, word, ha="right", size=SMALL, **style)


def draw_line(
    page: Page, columns: Columns, found: Fetched, line: int | None, y: float
) -> None:
    """Draw a row of the table, or say that some are left out."""
    if line is None:
        page.write(columns.table + columns.wide / 2, y, LEFT_OUT)
        return
    style = ONE_ROW if line in found.twice else {}
    x = columns.table - 5
    page.write(x, y, str(line), ha="right", size=SMALL, **style)
    draw_row(page, found, line, (columns.table, y, columns.wide))


def draw_row(
    page: Page, found: Fetched, line: int, at: tuple[float, float, float]
) -> None:
    """Draw the channels of a row: where it begins, its middle, its width."""
    left, y, wide = at
    drawn = found.table[sorted({0, len(found.table) - 1, *found.ids})]
    limit = drawn[:, :CHANNELS].abs().max().item() or 1.0
    row = found.table[line : line + 1, :CHANNELS]
    box = left, y - HIGH / 2, wide, HIGH
    page.cells(box, row, CELLS, (-limit, limit))


def draw_headings(page: Page, columns: Columns, found: Fetched) -> None:
    """Write what ids, table and rows are, and their shapes."""
    ids, table = found.headings
    (v, c), s = found.table.shape, len(found.ids)
    half = columns.wide / 2
    for x, name, letters, sizes in (
        (columns.ids + columns.box / 2, ids, "S", (s,)),
        (columns.table + half, table, "VC", (v, c)),
        (columns.rows + half, f"{table}[{ids}]", "SC", (s, c)),
    ):
        room = 1.9 * min(x, page.width - x, page.width / 6)
        page.write(x, 8, shortened(name, room, **TITLE), **TITLE)
        page.shape(x, 32, letters, sizes)
