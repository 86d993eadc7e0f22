"""What comes of a task without a part: a dot for every seed."""

from collections.abc import Mapping
from statistics import mean
from textwrap import fill

from pictures.canvas import Canvas
from tformer_lite.drawing.surface.page import Style
from tformer_lite.drawing.surface.palette import EDGE, GREY, INK, PAPER
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["without"]

NOTHING = "nothing"  # what the whole model leaves out
WHOLE = "nothing left out"  # and what its row is called
ROW, WIDE = 20, 164  # a row, and what its dots have
LETTERS = 23  # of a name, in a line
SPOT: Style = {"marker": "o", "ls": "", "ms": 5.5, "clip_on": False}
# What the book calls the sentences of `benchmarks/left_out.py`.
TASKS = {
    "roles": "who did what to whom",
    "other": "other sentences",
    "polite": "polite",
    "order": "order",
    "people": "people",
    "names": "names",
}
Shares = Mapping[str, float]  # of what is right, by seed
Tasks = Mapping[str, Mapping[str, Shares]]  # by part
Rows = dict[str, tuple[Shares, Shares]]  # without a part, and whole


def without(tasks: Tasks, part: str = "") -> Picture:
    """Draw which share of each task is right when a part is left out of the
    model: a dot for each seed.

    `tasks` gives, for each task and part, the share of each seed between 0
    and 1; the part `nothing` is the whole model. With a `part` there is a
    row for each task that was tried without it, and the whole model's shares
    are rings; without one a panel for each task, with a row for each part,
    in one order. Raises ValueError for a part that no task leaves out.

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
        panels = {f"without {part}": by_task(tasks, part)}
    else:
        order = parts_order(tasks)
        panels = {
            TASKS.get(task, task): by_part(found, order)
            for task, found in tasks.items()
            if found
        }
    pages = [draw_rows(title, rows) for title, rows in panels.items()]
    text = "\n".join(shares_text(*panel) for panel in panels.items())
    return pages[0].picture(text, *pages[1:])


def by_task(tasks: Tasks, part: str) -> Rows:
    """Give each task's shares without a part, and whole."""
    return {
        TASKS.get(task, task): (found[part], found.get(NOTHING, {}))
        for task, found in tasks.items()
        if found.get(part)
    }


def by_part(found: Mapping[str, Shares], order: list[str]) -> Rows:
    """Give a task's shares without each part, in an order."""
    names = {part: WHOLE if part == NOTHING else part for part in order}
    return {
        name: (found[part], {})
        for part, name in names.items()
        if part in found
    }


def parts_order(tasks: Tasks) -> list[str]:
    """List the whole model, then what the first task that lacks it misses
    most."""
    order = [NOTHING]
    for found in tasks.values():
        rest = found.keys() - {*order}
        order += sorted(rest, key=lambda x: (mean_of(found[x]), x))
    return order


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


@with_style
def draw_rows(title: str, rows: Rows) -> Canvas:
    """Draw a row for each name: rings for the whole, dots without a part."""
    page, high = Canvas(), ROW * len(rows)
    ax = page.chart((0, 0, WIDE, high))
    ax.set(xlim=(0, 100), ylim=(len(rows) - 0.5, -0.5), axisbelow=True)
    ax.set_xticks(range(0, 101, 25))
    names = [fill(name, LETTERS) for name in rows]
    ax.set_yticks(range(len(rows)), names)
    ax.grid(color=EDGE[0], lw=0.7)
    ax.tick_params(axis="y", pad=8)
    for y, (shares, whole) in enumerate(rows.values()):
        ring: Style = SPOT | {"mec": GREY[0], "mfc": PAPER[0], "ms": 7.5}
        dot: Style = SPOT | {"mec": PAPER[0], "mfc": INK[0], "mew": 0.6}
        ax.plot(*spread(whole, y), **ring)
        ax.plot(*spread(shares, y), **dot)
        mid: Style = {"va": "center", "weight": "bold"}
        ax.text(107, y, percent(mean_of(shares)), **mid)
    page.bold(-120, -13, title, ha="left")
    page.note(WIDE + 32, -13, "% right", ha="right")
    return page


def spread(shares: Shares, y: float) -> tuple[list[float], list[float]]:
    """Place dots so that near ones lie above and below their row."""
    across = sorted(100 * share for share in shares.values())
    middle = (len(across) - 1) / 2
    near = len(across) > 1 and across[-1] - across[0] < 10
    down = [y + 0.12 * (i - middle) * near for i in range(len(across))]
    return across, down
