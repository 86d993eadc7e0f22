"""Which head of keys and values each head of queries attends with."""

from fractions import Fraction
from itertools import starmap

import torch
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import table
from tformer_lite.drawing.surface.palette import LINE, tint
from tformer_lite.drawing.surface.picture import Picture, styled

__all__ = ["head_wires"]

MOST_HEADS = 32  # heads of queries that have room for their numbers
PITCH, BOX, LEAST = 24, 22, 150  # from head to head; a box; a panel's width
LEFT, GAP, HIGH = 18, 24, 190  # for q, k, v; between panels; of a panel
LINES_OF = {"q": 22, "k": 92, "v": 118}  # how far down heads stand


def head_wires(*served: Tensor, titles: list[str] | None = None) -> Picture:
    """Draw which head of keys each head of queries uses: (H) -> a picture.

    Number h of a tensor is the head of keys and values for head h of the
    queries. Measure it: let the code share heads that are filled with their
    own numbers. Each panel is headed by its argument as you wrote it;
    `titles` replaces what you wrote. Raises ValueError for anything but 1
    to 32 whole numbers from 0.

    >>> head_wires(torch.tensor([0, 0, 1, 1]), titles=["grouped"])
    grouped: 4 heads of queries share 2 heads of ...
    """
    titles = titles_of(titles, len(served))
    panels = list(zip(titles, map(whole_numbers, titles, served)))
    texts = [" ".join(starmap(sharing_text, panels))]
    for title, keys in panels:
        rows = [["query head", *map(str, range(len(keys)))]]
        texts.append(table(title, [*rows, ["key head", *map(str, keys)]]))
    return draw_panels(panels).picture("\n\n".join(texts))


def whole_numbers(title: str, keys: Tensor) -> list[int]:
    """Raise ValueError unless keys are numbers of heads."""
    keys = torch.as_tensor(keys)
    if keys.ndim != 1 or not 0 < len(keys) <= MOST_HEADS:
        raise ValueError(
            f"{title} has shape {tuple(keys.shape)}: give 1 to {MOST_HEADS} "
            "numbers, for each head of queries its head of keys."
        )
    if (keys < 0).any() or (keys != keys.long()).any():
        raise ValueError(f"{title} has numbers that are no heads: {keys}.")
    return keys.long().tolist()


def sharing_text(title: str, keys: list[int]) -> str:
    """Say it to someone who does not see it."""
    n, some = len(keys), max(keys) + 1
    verb = "share" if some < n else "use"
    heads, shared = plural(n, "head"), plural(some, "head")
    return f"{title}: {heads} of queries {verb} {shared} of keys."


def cost_text(keys: list[int]) -> str:
    """Say how large the cache of keys and values is beside one without
    sharing."""
    some = max(keys) + 1
    share = Fraction(some, len(keys))
    size = "all" if share == 1 else f"{share}"
    return f"{plural(some, 'k, v head')}: {size} of the cache"


def plural(n: int, thing: str) -> str:
    """Count things."""
    return f"{n} {thing}{'s' * (n != 1)}"


@styled
def draw_panels(panels: list[tuple[str, list[int]]]) -> Canvas:
    """Draw panels, beside each other if two of them have room."""
    page = Canvas()
    heads = max(max(len(keys), max(keys) + 1) for _, keys in panels)
    wide = min(max(heads * PITCH, LEAST), WIDEST - LEFT)
    beside = 1 + (2 * wide + LEFT + GAP <= WIDEST and len(panels) > 1)
    for i, (title, keys) in enumerate(panels):
        row, column = divmod(i, beside)
        left, top = LEFT + column * (wide + GAP), row * HIGH
        page.bold(left + wide / 2, top + 8, title, wide)
        below = top + LINES_OF["v"] + BOX + 16
        page.note(left + wide / 2, below, cost_text(keys))
        draw_sharing(page, keys, left, top, wide)
        for letter, line in LINES_OF.items():
            if not column:
                page.bold(6, top + line + BOX / 2, letter)
    return page


def draw_sharing(
    page: Canvas, keys: list[int], left: float, top: float, wide: float
) -> None:
    """Draw queries above, keys and values below, and a wire for each query."""
    lines = {letter: top + line for letter, line in LINES_OF.items()}
    most, heads = max(len(keys), max(keys) + 1), list(range(max(keys) + 1))
    size = min(BOX, 0.85 * wide / most)

    def place(head: int, of: int) -> float:
        return left + wide * (head + 0.5) / of

    for i, head in enumerate(keys):
        start = place(i, len(keys)), lines["q"] + BOX
        page.wire(start, (place(head, len(heads)), lines["k"]), upright=True)
    for letter, groups in ("q", keys), ("k", heads), ("v", heads):
        for i, head in enumerate(groups):
            x, y = place(i, len(groups)), lines[letter]
            # A group has one colour, and its neighbours another.
            style = {"fc": tint(head % 2, head // 2), "ec": LINE[0]}
            page.box((x - size / 2, y, size, BOX), lw=0.8, **style)
            if size > 14 or letter != "q":
                page.word(x, y + BOX / 2, str(i))
