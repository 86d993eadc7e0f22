"""Which head of keys and values each head of queries attends with."""

from fractions import Fraction
from itertools import starmap

import torch
from torch import Tensor

from pictures.canvas import WIDEST, Canvas, titles_of
from tformer_lite.drawing.surface.matrix import table
from tformer_lite.drawing.surface.palette import LINE, tint
from tformer_lite.drawing.surface.picture import Picture, with_style

__all__ = ["head_wires"]

MOST_HEADS = 32  # heads of queries that have room for their numbers
PITCH, BOX, LEAST = 24, 22, 150  # from head to head; a box; a panel's width
LEFT, LINES_OF = 18, {"q": 0, "k": 70, "v": 96}  # where q, k and v stand


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
    notes = [cost_text(keys) for _, keys in panels]
    if len({*notes}) < len(notes):  # panels differ in which heads are shared
        notes = ["keys " + " ".join(map(str, keys)) for _, keys in panels]
    page, *others = map(draw_sharing, *zip(*panels), notes)
    return page.picture("\n\n".join(texts), *others)


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
    size = Fraction(some, len(keys)) if some < len(keys) else "all"
    return f"{plural(some, 'k, v head')}: {size} of the cache"


def plural(n: int, thing: str) -> str:
    """Count things."""
    return f"{n} {thing}{'s' * (n != 1)}"


@with_style
def draw_sharing(title: str, keys: list[int], note: str) -> Canvas:
    """Draw queries above, keys and values below, and a wire for each query."""
    page, heads = Canvas(), list(range(max(keys) + 1))
    most = max(len(keys), len(heads))
    wide = min(max(most * PITCH, LEAST), WIDEST - LEFT)
    size = min(BOX, 0.85 * wide / most)
    page.bold(wide / 2, -14, title, wide)
    for i, head in enumerate(keys):
        start = wide * (i + 0.5) / len(keys), BOX
        end = wide * (head + 0.5) / len(heads), LINES_OF["k"]
        page.wire(start, end, upright=True)
    for letter, groups in ("q", keys), ("k", heads), ("v", heads):
        y = LINES_OF[letter]
        page.bold(-12, y + BOX / 2, letter)
        for i, head in enumerate(groups):
            x = wide * (i + 0.5) / len(groups)
            # A group has one colour, and its neighbours another.
            colour = tint(head % 2, head // 2)
            box = x - size / 2, y, size, BOX
            page.box(box, fc=colour, ec=LINE[0], lw=0.8)
            if size > 14 or letter != "q":
                page.word(x, y + BOX / 2, str(i))
    page.note(wide / 2, LINES_OF["v"] + BOX + 16, note)
    return page
