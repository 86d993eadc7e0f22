"""What comes of a task without a part: which share is still right."""

from collections.abc import Mapping, Sequence
from itertools import starmap
from statistics import mean

import torch

from pictures.canvas import WIDEST, Canvas
from tformer_lite.drawing.surface.page import (
    NAME,
    Box,
    Place,
    Style,
    lines,
    text_width,
)
from tformer_lite.drawing.surface.palette import EDGE, GREY, INK, SHARE
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["without"]

NOTHING = "nothing"  # what the whole model leaves out
WHOLE = "nothing left out"  # and what its row is called
NAMES = {"feed-forward, 3 × wider": "feed-forward, but attention wider"}
NAMES[NOTHING] = WHOLE
ROW, BAR, WIDE = 42, 12, 320  # a row of one panel, its bar, a bar of 100 %
LEFT, HIGH, LINE = 96, 31, 14  # of a table: names; a row, a line
LOST = 0.03  # what is less right than that is in strong colour
ORANGE = SHARE.light[-1]
# What the book calls the sentences of `benchmarks/left_out.py`, and one of
# each; for those in brackets the first word is given.
TASKS = {
    "roles": ("who did what to whom", "ram knew the tired student."),
    "other": ("other sentences", "his house was expensive."),
    "polite": ("polite", "you will buy mangoes. (तपाईं …)"),
    "order": ("order", "i bought mangoes there yesterday. (हिजो …)"),
    "people": ("people", "the doctor knew the thief of the doctor."),
    "names": ("names", "ram's ox is here. → बिजुली यहाँ छ ।"),
}
SENTENCES = dict(TASKS.values())
Shares = Mapping[str, float]  # of what is right, by seed
Tasks = Mapping[str, Mapping[str, Shares]]  # by part
Rows = dict[str, tuple[Shares, Shares]]  # without a part, and whole


def without(tasks: Tasks, part: str = "") -> Picture:
    """Draw which share of each task is right when a part is left out of the
    model: a bar or a cell for the mean of the seeds, and their range.

    `tasks` gives, for each task and part, the share of each seed between 0
    and 1; the part `nothing` is the whole model. With a `part` there is a
    bar for each task that was tried without it, what loses most first, and a
    mark where the whole model is. Without one there is a table, a row for
    each part, a column for each task, and a sentence of each. What is lost
    is orange. Raises ValueError for a part that no task leaves out.

    >>> tasks = {"names": {"nothing": {"1": 1.0}, "norms": {"1": 0.5}}}
    >>> without(tasks, "norms")
    without norms, percent right: names 50, whole 100.
    """
    tasks = {name: tasks[name] for name in TASKS if name in tasks} | {**tasks}
    parts = dict.fromkeys(name for found in tasks.values() for name in found)
    if part and part not in parts:
        raise ValueError(f"{part=} is none of {', '.join(parts)}.")
    if not parts:
        raise ValueError("there is no task: give one at least.")
    if part:
        title, rows = f"without {part}", by_task(tasks, part)
        return draw_rows(title, rows).picture(shares_text(title, rows))
    panels = by_part(tasks)
    text = "\n".join(starmap(shares_text, panels.items()))
    return draw_parts(panels).picture(text)


def title_of(task: str) -> str:
    """Give what the book calls a task."""
    return TASKS.get(task, (task,))[0]


def by_task(tasks: Tasks, part: str) -> Rows:
    """Give each task's shares without a part, and whole: what loses most
    first."""
    rows = {
        title_of(task): (found[part], found.get(NOTHING, {}))
        for task, found in tasks.items()
        if found.get(part)
    }
    return dict(sorted(rows.items(), key=lambda row: -lost(*row[1])))


def by_part(tasks: Tasks) -> dict[str, Rows]:
    """Give each task's shares without each part, in one order."""
    order = parts_order(tasks)
    return {
        title_of(task): {
            NAMES.get(x, x): (found[x], {}) for x in order if x in found
        }
        for task, found in tasks.items()
        if found
    }


def parts_order(tasks: Tasks) -> list[str]:
    """List the whole model, then what misses most on the average."""
    means = dict[str, list[float]]()
    for found in tasks.values():
        for part, shares in found.items():
            means.setdefault(part, []).append(mean_of(shares))
    return sorted(means, key=lambda x: (x != NOTHING, mean(means[x]), x))


def shares_text(title: str, rows: Rows) -> str:
    """Say in words what the dots show."""
    said = []
    for name, (shares, whole) in rows.items():
        numbers = ", ".join(map(percent, shares.values()))
        said.append(f"{name} {numbers}")
        said[-1] += f", whole {percent(mean_of(whole))}" if whole else ""
    return f"{title}, percent right: {'; '.join(said)}."


def percent(share: float) -> str:
    """Write a share between 0 and 1 in percent."""
    return f"{100 * share:.0f}"


def mean_of(shares: Shares) -> float:
    """Give what the seeds have on the average."""
    return mean(shares.values())


def lost(shares: Shares, whole: Shares) -> float:
    """Give how much less is right than with the whole model."""
    return (mean_of(whole) if whole else 1) - mean_of(shares)


@with_style
def draw_rows(title: str, rows: Rows) -> Canvas:
    """Draw a bar for each row, as long as its mean, a line, and a mark."""
    page = Canvas()
    page.bold(0, -42, title, ha="left")
    page.note(0, -24, "% right (line: seeds; mark: whole model)", ha="left")
    for i, (name, (shares, whole)) in enumerate(rows.items()):
        y, share, ends = ROW * i, mean_of(shares), ends_of(shares)
        bad, middle = lost(shares, whole) > LOST, y + 16
        page.bold(0, y, name, ha="left")
        x = text_width(name, NAME, "bold") + 10
        page.note(x, y, SENTENCES.get(name, ""), ha="left")
        box: Box = 0, middle - BAR / 2, WIDE, BAR
        page.rectangle(box, fill=False, ec=EDGE[0], lw=0.8)
        box = 0, middle - BAR / 2, share * WIDE, BAR
        page.rectangle(box, fc=ORANGE if bad else EDGE[0], lw=0)
        drawn: list[tuple[Sequence[float], float]] = [(ends, 0)]
        drawn += [([mean_of(whole)] * 2, 8)] if whole else []
        for places, high in drawn:
            xs = [WIDE * x for x in places]
            ys = middle - high, middle + high
            page.ax.plot(xs, ys, color=INK[0], lw=1.5, clip_on=False)
        write_share(page, (WIDE + 22, middle), shares, bad)
    return page


def ends_of(shares: Shares) -> tuple[float, float]:
    """Give the lowest and the highest share."""
    return min(shares.values()), max(shares.values())


def write_share(page: Canvas, at: Place, shares: Shares, bad: bool) -> None:
    """Write a mean in percent, bold or grey."""
    style: Style = {"weight": "bold"} if bad else {"color": GREY[0]}
    page.write(*at, percent(mean_of(shares)), **style)


@with_style
def draw_parts(panels: Mapping[str, Rows]) -> Canvas:
    """Draw a column for each task and a row for each part: the mean, and,
    in a strong colour, what is lost, with the range of the seeds."""
    page, wide = Canvas(), (WIDEST - LEFT) / len(panels)
    names = [*dict.fromkeys(x for rows in panels.values() for x in rows)]
    losses = torch.zeros(len(names), len(panels))
    write_kinds(page, [title for title in panels if title in SENTENCES])
    page.note(LEFT - 6, -10, "% right without", ha="right")
    for j, (title, rows) in enumerate(panels.items()):
        x, whole = LEFT + wide * (j + 0.5), rows.get(WHOLE, ({}, {}))[0]
        head = lines(title.replace(" sentences", ""), wide + 4)
        for i, line in enumerate(head, -len(head)):
            page.write(x, LINE * i + 4, line)
        for name, (shares, _) in rows.items():
            i = names.index(name)
            y, less = HIGH * (i + 0.5), lost(shares, whole)
            bad, ends = less > LOST, [*map(percent, ends_of(shares))]
            losses[i, j] = less * bad
            two = bad and ends[0] != ends[1]
            write_share(page, (x, y - LINE / 2 * two), shares, bad)
            page.write(x, y + LINE / 2, "–".join(ends) if two else "")
    box = LEFT, 0, WIDEST - LEFT, HIGH * len(names)
    page.cells(box, losses.sqrt(), SHARE, (0, 1))  # a small loss is seen
    write_names(page, names)
    return page


def write_kinds(page: Canvas, titles: Sequence[str]) -> None:
    """Write a sentence of each task, above the table."""
    for i, title in enumerate(titles, -len(titles)):
        y, x = 18 * i - 3 * LINE, text_width(title, weight="bold") + 8
        page.write(0, y, title, ha="left", weight="bold")
        page.note(x, y, SENTENCES[title], ha="left")


def write_names(page: Canvas, names: list[str]) -> None:
    """Write what each row of a table is called, beside it."""
    for i, name in enumerate(names):
        broken = lines(name, LEFT - 8)
        top = HIGH * (i + 0.5) - LINE * (len(broken) - 1) / 2
        for k, line in enumerate(broken):
            page.write(LEFT - 6, top + LINE * k, line, ha="right")
