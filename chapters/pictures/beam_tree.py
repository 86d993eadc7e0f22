"""A beam search as a tree that grows: likely beginnings are thick lines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from torch import Tensor

from pictures.watched import Node, WatchedBeams
from tformer_lite.decoding.search import follow
from tformer_lite.drawing.surface.matrix import number, visible
from tformer_lite.drawing.surface.page import (
    NARROW,
    SMALL,
    WIDE,
    Page,
    Place,
    Style,
    text_width,
)
from tformer_lite.drawing.surface.palette import (
    DARK,
    EDGE,
    HATCH,
    INK,
    KINDS,
    LINE,
    LIT,
    MUTED,
    PAPER,
    RIM,
)
from tformer_lite.drawing.surface.picture import Picture, styled
from tformer_lite.model.models import EncoderDecoder

__all__ = ["beam_tree"]

RIVER = 15  # how wide the line of a certain beginning is
HIGH, APART = 42, 48  # of a word's box; from one to the next
BAR, HEAD = 56, 16  # of the best row; above the lanes
ORANGE = KINDS["weights"].light[-1]


def beam_tree(
    model: EncoderDecoder,
    src: Tensor,
    start: int,
    end: int,
    max_len: int,
    width: int = 2,
    penalty: float = 0.6,
    *,
    words: Mapping[int, str] | Sequence[str],
    glosses: Mapping[str, str] | None = None,
) -> Picture:
    """Draw what `beam` does for one source: (1, S) -> a picture.

    Each box is a word that was tried, and how likely it was there. A line is
    as wide as all from the start to there is likely together; bars show that
    of whole rows. The row that the search gives is lit, what it dropped is
    grey; each beginning shows its `width` best words at most. `words` gives a
    token its word, and `glosses` a word its meaning, written below it. Raises
    ValueError for more than one source, and for a width below 1.

    >>> model, src = running_model(), running_example().src[:1]
    >>> beam_tree(model, src, start=2, end=3, max_len=4, words=range(1024))
    A beam of 2, 3 steps: ...
    """
    if width < 1 or len(src) != 1:
        raise ValueError(
            f"{width=} and {len(src)} sources: a tree shows 1 or more "
            "beginnings of a single source, such as src[:1]."
        )
    beams = WatchedBeams(src, start, end, width, penalty)
    follow(model, src, beams, max_len)
    tree = Tree(beams, words, glosses or {})
    wide, narrow = (draw_tree(tree, page) for page in (WIDE, NARROW))
    dark = DARK | KINDS["weights"].counterparts()
    return Picture(wide, tree.text(), dark, narrow)


class Tree:
    """The nodes of a search, to be drawn: what each says; how many `steps`
    there were; the `ends` of rows, the best first; the nodes on the way
    to the best (`lit`)."""

    def __init__(
        self,
        beams: WatchedBeams,
        words: Mapping[int, str] | Sequence[str],
        glosses: Mapping[str, str],
    ):
        self.nodes, self.ends = beams.nodes, beams.ranked()
        self.width = beams.width
        self.steps = max(node.step for node in self.nodes)
        self.lit = set(self.ends[0].path())
        self.says = {n: self.lines(n, words, glosses) for n in self.nodes}
        self.box = 8 + max(
            text_width(line, SMALL if i else 11, "normal" if i else "bold")
            for lines in self.says.values()
            for i, line in enumerate(lines)
        )

    def lines(
        self, node: Node, words: Any, glosses: Mapping[str, str]
    ) -> list[str]:
        """Say of a node its word, its gloss and its chance."""
        word = "".join(map(visible, str(words[node.token])))
        chance = [number(node.chance)] * (node.step > 0)
        return [word, glosses.get(word, ""), *chance]

    def text(self) -> str:
        """Say what the search did: a paragraph, then a line for each word."""
        say = [f"A beam of {self.width}, {self.steps} steps:"]
        rows = [
            f"{self.row(end)} has {number(end.total)}" for end in self.ends
        ]
        say.append(f"{'; '.join(rows)}.")
        lines = [
            f"{node.step}: {self.row(node)} {number(node.chance)}, together "
            f"{number(node.total)}{', dropped' * (not node.kept)}"
            for node in self.nodes[1:]
        ]
        return " ".join(say) + "\n\n" + "\n".join(lines)

    def row(self, node: Node) -> str:
        """Write all words up to a node, the start apart."""
        path = [self.says[each][0] for each in node.path()]
        return " ".join(path[-2::-1])


def lanes(shown: list[Node], steps: int) -> dict[Node, int]:
    """Put each node in a lane, as near its forerunner's as there is room,
    and so that no two lines cross. A row that has ended keeps its lane."""
    found: dict[Node, int] = {}
    free: Counter[int] = Counter()  # of each step, the first free lane

    def put(node: Node) -> None:
        last = node.step if node.rank is None else steps
        taken = range(node.step, last + 1)
        above = found[node.before] if node.before else 0
        found[node] = max([above, *(free[step] for step in taken)])
        free.update({step: found[node] + 1 - free[step] for step in taken})
        after = [each for each in shown if each.before is node]
        for each in sorted(after, key=lambda each: -each.chance):
            put(each)

    put(shown[0])
    return found


class Lanes:
    """Where everything stands on a page so wide: steps go to the right where
    the words have room side by side, and `down` where they have not."""

    def __init__(self, tree: Tree, width: float):
        self.lanes, self.box = lanes(tree.nodes, tree.steps), tree.box
        count = 1 + max(self.lanes.values())
        self.bars = width - BAR - 32
        self.ahead = (self.bars - self.box - 18) / max(1, tree.steps)
        self.down = self.ahead < self.box + 14
        self.aside, self.size = float(APART), (width, HEAD + count * APART)
        if self.down:
            if count * (self.box + 4) > width:  # no room for what was dropped
                kept = [node for node in tree.nodes if node.kept]
                self.lanes = lanes(kept, tree.steps)
                count = 1 + max(self.lanes.values())
            self.ahead, self.aside = HIGH + 18, min(110, width / count)
            self.bars = (tree.steps + 1) * self.ahead
            self.size = count * self.aside, self.bars + 34

    def middle(self, node: Node) -> Place:
        """Where the middle of a node's box is."""
        far, lane = node.step * self.ahead, self.lanes[node] + 0.5
        if self.down:
            return lane * self.aside, far + HIGH / 2 + 1
        return far + self.box / 2 + 1, HEAD + lane * self.aside

    def edge(self, node: Node, side: int, off: float = 0) -> Place:
        """Where a line leaves a node's box (`side` 1), or comes to it."""
        x, y = self.middle(node)
        if self.down:
            return x + off, y + side * HIGH / 2
        return x + side * self.box / 2, y + off

    def end(self, node: Node) -> Place:
        """Where the line of a row that has ended comes to its bar."""
        x, y = self.middle(node)
        return (x, self.bars) if self.down else (self.bars, y)


@styled
def draw_tree(tree: Tree, width: float) -> Figure:
    """Draw lines, then the words on them, and a bar for each row."""
    at = Lanes(tree, width)
    page = Page(*at.size)
    for node in at.lanes:
        draw_lines(page, tree, node, at)
    for node in at.lanes:
        draw_word(page, tree, node, at)
    for end in tree.ends:
        draw_end(page, tree, end, at)
    if not at.down:
        for step in range(1, 1 + tree.steps):
            page.note(step * at.ahead + at.box / 2, 7, f"word {step}")
        page.note(at.bars, 7, "all together", ha="left")
    return page.figure


def line_style(tree: Tree, node: Node) -> Style:
    """Give the line to a node its width and its colour."""
    colour = RIM if node in tree.lit else LINE if node.kept else HATCH
    return {"lw": max(0.7, RIVER * node.total), "ec": colour[0]}


def draw_lines(page: Page, tree: Tree, node: Node, at: Lanes) -> None:
    """Draw the lines from a node, beside each other as far as they go."""
    after = [each for each in at.lanes if each.before is node]
    after.sort(key=lambda each: at.lanes[each])
    widths = [RIVER * each.total for each in after]
    off = -sum(widths) / 2
    for each, wide in zip(after, widths):
        start = at.edge(node, 1, off + wide / 2)
        style = line_style(tree, each)
        page.wire(start, at.edge(each, -1), at.down, **style)
        off += wide


def draw_word(page: Page, tree: Tree, node: Node, at: Lanes) -> None:
    """Draw a node's box, with its word, its gloss and its chance."""
    x, y = at.middle(node)
    lit = node in tree.lit
    fill, rim = (LIT, RIM) if lit else (PAPER, LINE if node.kept else EDGE)
    style: Style = {"fc": fill[0], "ec": rim[0], "lw": 1.4 if lit else 0.9}
    page.box((x - at.box / 2, y - HIGH / 2, at.box, HIGH), **style)
    ink = {"color": (INK if node.kept else MUTED)[0]}
    lines = [line for line in tree.says[node] if line]
    y -= 6.5 * (len(lines) - 1)
    bold = "bold" if node.kept else "normal"
    page.write(x, y, lines[0], weight=bold, **ink)
    for i, line in enumerate(lines[1:], 1):
        last = node.step > 0 and i == len(lines) - 1
        colour = ink if last else {"color": MUTED[0]}
        page.write(x, y + 13 * i, line, size=SMALL, **colour)


def draw_end(page: Page, tree: Tree, end: Node, at: Lanes) -> None:
    """Lead a row to its bar, and say how likely the row is."""
    x, y = at.end(end)
    page.wire(at.edge(end, 1), (x, y), at.down, **line_style(tree, end))
    most = max(each.total for each in tree.ends)
    long = (at.box if at.down else BAR) * end.total / most
    bar, said, ha = (x, y - 8, long, 16), (x + long + 5, y), "left"
    if at.down:
        bar, said, ha = (x - long / 2, y, long, 14), (x, y + 24), "center"
    page.box(bar, 1, fc=ORANGE, ec=LINE[0], lw=0.6)
    weight = "bold" if end in tree.lit else "normal"
    page.write(*said, number(end.total), weight=weight, ha=ha)
