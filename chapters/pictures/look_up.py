"""Ids fetch rows of an embedding table."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor

from pictures.canvas import Canvas, arguments, largest
from tformer_lite.drawing.surface import matrix
from tformer_lite.drawing.surface.page import SIZE, Style, text_width
from tformer_lite.drawing.surface.palette import INK, LINE, PAPER, RIM
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.model.checks import check_ids

__all__ = ["look_up"]

WORDS, CHANNELS = 20, 24  # so many have room
STEP, HIGH, WIDE = 26, 18, 68  # from id to id; how large a row is drawn
TABLE, ROWS = 100, 206  # from the ids to the table, and to the rows
Pairs = Sequence[tuple[str, int]]  # words and their ids


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
    written, table = arguments(), table.detach().cpu()
    names = written[:2] if len(written) > 1 else ["ids", "table"]
    pairs = list(zip(matrix.labels_for(words, len(ids)), ids.tolist()))
    page = draw_look_up(pairs, table, names)
    return page.picture(look_up_text(pairs, table, names[1]))


def look_up_text(pairs: Pairs, table: Tensor, name: str) -> str:
    """Say it to someone who does not see it."""
    shared = f": {shared_text(pairs)}" if shared_text(pairs) else ""
    count = len({id_ for _, id_ in pairs})
    say = f"{count} of {len(table):,} rows{shared}."
    few = table[:, :CHANNELS]
    rows = [["word", "id", *map(str, range(few.shape[1]))]]
    for word, id_ in pairs:
        rows.append([word, str(id_), *map(matrix.number, few[id_])])
    return f"{len(pairs)} ids fetch {say}\n\n{matrix.table(name, rows)}"


def shared_text(pairs: Pairs) -> str:
    """Say which words fetch one row."""
    return "; ".join(
        f"{', '.join(w for w, one in pairs if one == id_)} fetch row {id_}"
        for id_, n in Counter(id_ for _, id_ in pairs).items()
        if n > 1
    )


def lines_of(pairs: Pairs, last: int) -> list[int | None]:
    """List the rows that are drawn: those fetched, the first and the last,
    and None where others are left out."""
    lines: list[int | None] = [0]
    for before, line in pairwise(
        sorted({0, last, *(id_ for _, id_ in pairs)})
    ):
        lines += [line] if line == before + 1 else [None, line]
    return lines


@with_style
def draw_look_up(pairs: Pairs, table: Tensor, names: list[str]) -> Canvas:
    """Draw ids at the left, the table, and the fetched rows."""
    page, lines = Canvas(), lines_of(pairs, len(table) - 1)
    count = Counter(id_ for _, id_ in pairs)
    few, high = table[:, :CHANNELS], STEP * max(len(pairs), len(lines))
    limit, heights = largest(few[[*count, 0, -1]]), heights_of(lines, high)
    for line, y in heights:
        if line is None:
            page.write(TABLE + WIDE / 2, y, "⋮")
        else:
            colour = (RIM if count[line] > 1 else INK)[0]
            page.word(TABLE - 5, y, str(line), ha="right", color=colour)
            page.scores((TABLE, y - HIGH / 2, WIDE, HIGH), few[[line]], limit)
    for (word, id_), y in heights_of(pairs, high):
        shared = count[id_] > 1
        draw_fetch(page, word, id_, y, dict(heights)[id_], shared)
        page.scores((ROWS, y - HIGH / 2, WIDE, HIGH), few[[id_]], limit)
    if table.shape[1] > CHANNELS:
        cut = f"the first {CHANNELS} channels"
        page.note(TABLE, high + 4, cut, ha="left")
    style: Style = {"ha": "right", "color": RIM[0], "size": SIZE}
    page.bold(ROWS + WIDE, high + 18, shared_text(pairs), **style)
    draw_headings(page, names, len(pairs), table.shape)
    return page


def heights_of(things: Sequence[Any], high: float) -> list[tuple[Any, float]]:
    """Give things that share a height, each with how far down it is."""
    return [(x, high * (i + 0.5) / len(things)) for i, x in enumerate(things)]


def draw_fetch(
    page: Canvas, word: str, id_: int, y: float, row: float, shared: bool
) -> None:
    """Draw an id in a box, its word before it, and curves from there to its
    row of the table, and on to where it is fetched."""
    style: Style = {"ec": (RIM if shared else LINE)[0], "lw": 1 + 0.8 * shared}
    wide = max(30, text_width(str(id_)) + 8)
    left = TABLE - text_width(str(id_)) - 8
    page.wire((0, y), (left, row), zorder=1 + shared, **style)
    page.wire((TABLE + WIDE, row), (ROWS, y), zorder=1 + shared, **style)
    page.box((-wide, y - HIGH / 2, wide, HIGH), fc=PAPER[0], **style)
    page.word(-wide / 2, y, str(id_))
    page.word(-6 - wide, y, word, 66 - wide, ha="right")


def draw_headings(
    page: Canvas, names: list[str], s: int, shape: Sequence[int]
) -> None:
    """Write what ids, table and rows are, and their shapes."""
    ids, table = names
    for x, name, letters, sizes in (
        (-20, ids, "S", (s,)),
        (TABLE + WIDE / 2, table, "VC", shape),
        (ROWS + WIDE / 2, f"{table}[{ids}]", "SC", (s, shape[1])),
    ):
        page.bold(x, -48, name, 84, size=SIZE)
        page.shape(x, -24, letters, sizes)
