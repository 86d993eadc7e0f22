"""Ids fetch rows of an embedding table."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

from pictures.canvas import Canvas, arguments, word_style
from tformer_lite.drawing.surface import matrix
from tformer_lite.drawing.surface.page import (
    SIZE,
    SMALL,
    Style,
    shortened,
    text_width,
)
from tformer_lite.drawing.surface.palette import KINDS, LINE, PAPER, RIM
from tformer_lite.drawing.surface.picture import Picture, styled
from tformer_lite.model.checks import check_ids

__all__ = ["look_up"]

WORDS, CHANNELS = 20, 24  # so many have room
STEP, HIGH, WIDE = 26, 18, 68  # from id to id; how large a row is drawn
TABLE, ROWS = 100, 206  # from the ids to the table, and to the rows
TITLE: Style = {"weight": "bold", "size": SIZE}
ONE_ROW: Style = {"color": RIM[0], "weight": "bold", "size": SMALL}


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
    if ids.ndim != 1 or not 0 < len(ids) <= WORDS:
        raise ValueError(
            f"ids have shape {tuple(ids.shape)}: give 1 to {WORDS} of one "
            "sentence, such as ids[0]."
        )
    check_ids(ids[None], len(table))
    matrix.check_matrix("table", table)
    named = matrix.labels_for(words, len(ids))
    written = arguments()
    headings = written if len(written) > 1 else ["ids", "table"]
    found = Fetched(headings[:2], named, ids.tolist(), table.detach().cpu())
    return draw_look_up(found).picture(found.text)


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


@styled
def draw_look_up(found: Fetched) -> Canvas:
    """Draw ids at the left, the table, and the fetched rows."""
    page, lines = Canvas(), found.lines
    high = STEP * max(len(found.ids), len(lines))
    draw_headings(page, found)
    heights = list(zip(lines, spread(high, len(lines))))
    for line, y in heights:
        draw_line(page, found, line, y)
    middles, row_of = spread(high, len(found.ids)), dict(heights)
    for word, id_, y in zip(found.words, found.ids, middles):
        style: Style = {"ec": LINE[0], "lw": 1}
        if id_ in found.twice:
            style = {"ec": RIM[0], "lw": 1.8, "zorder": 2}
        number = text_width(str(id_), SMALL) + 8
        page.wire((0, y), (TABLE - number, row_of[id_]), **style)
        page.wire((TABLE + WIDE, row_of[id_]), (ROWS, y), **style)
        draw_word(page, word, str(id_), y, style["ec"])
        draw_row(page, found, id_, (ROWS, y))
    if found.table.shape[1] > CHANNELS:
        cut = f"the first {CHANNELS} channels"
        page.note(TABLE, high + 4, cut, ha="left")
    said = shortened(found.shared, 340, size=SMALL, weight="bold")
    page.write(ROWS + WIDE, high + 18, said, ha="right", **ONE_ROW)
    return page


def spread(high: float, n: int) -> list[float]:
    """How far down n lines are that share a height."""
    return [high * (i + 0.5) / n for i in range(n)]


def draw_word(
    page: Canvas, word: str, id_: str, y: float, colour: str
) -> None:
    """Draw an id in a box, and its word before it."""
    wide = max(30, text_width(id_, SMALL) + 8)
    page.box((-wide, y - HIGH / 2, wide, HIGH), fc=PAPER[0], ec=colour, lw=0.9)
    page.write(-wide / 2, y, id_, size=SMALL)
    short = shortened(word, 66 - wide, size=SMALL)
    page.write(-6 - wide, y, short, ha="right", size=SMALL, **word_style(word))


def draw_line(
    page: Canvas, found: Fetched, line: int | None, y: float
) -> None:
    """Draw a row of the table, or say that some are left out."""
    if line is None:
        page.write(TABLE + WIDE / 2, y, "⋮")
        return
    style = ONE_ROW if line in found.twice else {"size": SMALL}
    page.write(TABLE - 5, y, str(line), ha="right", **style)
    draw_row(page, found, line, (TABLE, y))


def draw_row(
    page: Canvas, found: Fetched, line: int, at: tuple[float, float]
) -> None:
    """Draw the channels of a row, from the middle of its left side on."""
    drawn = found.table[sorted({0, len(found.table) - 1, *found.ids})]
    limit = drawn[:, :CHANNELS].abs().max().item() or 1.0
    row = found.table[line : line + 1, :CHANNELS]
    box = at[0], at[1] - HIGH / 2, WIDE, HIGH
    page.cells(box, row, KINDS["scores"], (-limit, limit))


def draw_headings(page: Canvas, found: Fetched) -> None:
    """Write what ids, table and rows are, and their shapes."""
    ids, table = found.headings
    (v, c), s, half = found.table.shape, len(found.ids), WIDE / 2
    for x, name, letters, sizes in (
        (-20, ids, "S", (s,)),
        (TABLE + half, table, "VC", (v, c)),
        (ROWS + half, f"{table}[{ids}]", "SC", (s, c)),
    ):
        page.write(x, -48, shortened(name, 96, **TITLE), **TITLE)
        page.shape(x, -24, letters, sizes)
