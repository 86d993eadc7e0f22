"""A dot for each mark that a thing has: things down, marks across."""

from collections import Counter
from collections.abc import Collection, Mapping

from matplotlib.axes import Axes

from pictures.canvas import WIDEST, Canvas
from tformer_lite.drawing.surface.page import SIZE, Style, text_width
from tformer_lite.drawing.surface.palette import EDGE, INK, PAPER
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["dots"]

LINE, STEP = 14, 24  # a row; a column at most
KEY = {True: "the only one", False: "one of several"}
Marks = Mapping[str, list[str]]


def dots(
    found: Mapping[str, Collection[str]],
    titles: Mapping[str, str] | None = None,
) -> Picture:
    """Draw a row of dots for each thing: one for each mark that it has.

    `found` gives the marks of each thing, `titles` what to write above which
    of them. A mark that is a thing's only one is a full dot, others are
    rings; the columns begin with the most frequent mark. Raises ValueError
    where there is nothing to draw, or no row for a title.

    >>> dots({"no_scale": ["score_scale"], "rows_hidden": []})
    2 rows, 1 columns (2, 1): 1 rows have one dot alone, 1 none. ...
    """
    rows = {name: list(dict.fromkeys(marks)) for name, marks in found.items()}
    counts = Counter(mark for marks in rows.values() for mark in marks)
    if not counts:
        raise ValueError(f"{len(rows)} rows, and no mark in any: no dots.")
    for name in titles or {}:
        if name not in rows:
            raise ValueError(f"no row {name!r}: there are {', '.join(rows)}")
    columns = dict(counts.most_common())
    canvas = draw_dots(rows, titles or {}, columns)
    return canvas.picture(dots_text(rows, columns))


def dots_text(rows: Marks, columns: dict[str, int]) -> str:
    """Say in words what there is: alone, and in all."""
    alone = sum(len(marks) == 1 for marks in rows.values())
    none = sum(not marks for marks in rows.values())
    first, most = next(iter(columns.items()))
    head = (
        f"{len(rows)} rows, {len(columns)} columns "
        f"({len(rows)}, {len(columns)}): {alone} rows have one dot alone, "
        f"{none} none. Most dots, {most}, are in the column {first}."
    )
    lines = [f"{row}: {', '.join(marks)}" for row, marks in rows.items()]
    return "\n".join([head, "", *lines])


@with_style
def draw_dots(
    rows: Marks, titles: Mapping[str, str], columns: dict[str, int]
) -> Canvas:
    """Draw the words, and the dots where they meet."""
    page, n, y, ys = Canvas(), len(columns), -1.0, {}
    for row in rows:
        y += 2.3 if row in titles else 1
        ys[row] = y
    left = -4 - max(map(text_width, rows))
    wide, high = min(STEP * n, WIDEST + left), LINE * (y + 1)
    ax = page.chart((0, 0, wide, high))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(y + 0.5, -0.5), axisbelow=True)
    ax.set_xticks(range(n), columns, rotation=90)
    ax.set_yticks([*ys.values()], ys)
    ax.xaxis.tick_top()
    ax.grid(color=EDGE[0], lw=0.7)
    draw_spots(ax, rows, [*columns], ys)
    for row, title in titles.items():
        page.bold(left, LINE * (ys[row] - 0.6), title, ha="left", size=SIZE)
    page.note(-4, high + 9, "in all", ha="right")
    for i, count in enumerate(columns.values()):
        lower = high + 9 + 12 * (i % 2) * (n > 12)
        page.write(wide * (i + 0.5) / n, lower, str(count))
    return page


def draw_spots(
    ax: Axes, rows: Marks, columns: list[str], ys: dict[str, float]
) -> None:
    """Draw dots and rings, and say what they are."""
    for full, label in KEY.items():
        spots = [
            (columns.index(mark), ys[row])
            for row, marks in rows.items()
            for mark in marks
            if (len(marks) == 1) is full
        ]
        style: Style = {"ls": "", "marker": "o", "ms": 7.5, "mec": INK[0]}
        style |= {"mfc": (INK if full else PAPER)[0], "clip_on": False}
        ax.plot(*(zip(*spots) if spots else ([], [])), label=label, **style)
    key: Style = {"loc": "lower right", "bbox_to_anchor": (0, 1)}
    key |= {"frameon": False, "markerfirst": False, "handletextpad": 0.2}
    ax.legend(labelcolor=INK[0], **key)
