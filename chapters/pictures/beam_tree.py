"""A beam search as a tree that grows: likely beginnings are thick lines."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from pictures.canvas import WIDEST, Canvas
from tformer_lite.decoding.search import Beams, follow
from tformer_lite.drawing.surface.matrix import number, visible
from tformer_lite.drawing.surface.page import Place, Style, text_width
from tformer_lite.drawing.surface.palette import (
    EDGE,
    GREY,
    HATCH,
    HIGHLIGHT,
    INK,
    LINE,
    PAPER,
    RIM,
    SHARE,
)
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.model.models import EncoderDecoder

__all__ = ["beam_tree"]

LEAST_CHANCE = 0.005  # a dropped beginning less likely than that is not noted
RIVER = 15  # how wide the line of a certain beginning is
HIGH, STEP, ASIDE = 46, 64, 110  # a word's box; to the next below and beside


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
    says = {}
    for node in beams.nodes:
        word = "".join(map(visible, str(words[node.token])))
        says[node] = [word, (glosses or {}).get(word, "")]
        says[node] += [number(node.chance)] * (node.step > 0)
    return Tree(beams, says).picture(tree_text(beams, says))


@dataclass(eq=False)
class Node:
    """A token that was tried after those before it: how likely it was there
    (`chance`), and with all that comes before (`total`). `kept` tells whether
    the search went on from it; `rank` is the place among the rows of the
    node that ends one, 0 the best."""

    token: int
    step: int = 0
    chance: float = 1.0
    total: float = 1.0
    before: "Node | None" = None
    kept: bool = True
    rank: int | None = None

    def path(self) -> Iterator["Node"]:
        """Go back from here to the start."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.before


class WatchedBeams(Beams):
    """Beams that note what they try for one source: `nodes`, a step after the
    other; `rows` are the nodes that the rows have come to."""

    def __init__(
        self, src: Tensor, start: int, end: int, width: int, penalty: float
    ):
        super().__init__(src, start, end, width, penalty)
        self.nodes = [Node(start)]
        self.rows = self.nodes * width

    def grow(self, log_probs: Tensor) -> Tensor:
        """Grow, and note the best tokens after each row that had no end."""
        live = (~self.done).nonzero().flatten().tolist()
        before, totals = self.rows, self.total.exp().tolist()
        rows = super().grow(log_probs)
        chosen = list(zip(rows.tolist(), self.tgt[:, -1].tolist()))
        best = log_probs.topk(self.width).indices.tolist()
        tried = dict.fromkeys(pair for pair in chosen if pair[0] in live)
        tried |= dict.fromkeys((row, i) for row in live for i in best[row])
        made = {}
        for row, token in tried:
            chance = math.exp(log_probs[row, token])
            node = Node(token, before[row].step + 1, chance)
            node.total, node.before = totals[row] * chance, before[row]
            node.kept = (row, token) in chosen
            made[row, token] = node
            if node.kept or node.total >= LEAST_CHANCE:
                self.nodes.append(node)
        self.rows = [made.get(pair, before[pair[0]]) for pair in chosen]
        return rows

    def ranked(self) -> list[Node]:
        """Give the rows' last nodes their ranks, the best first."""
        last = [node for node in self.rows if node.before]
        for rank, node in enumerate(last):
            node.rank = rank
        return last


def lanes_of(shown: list[Node], steps: int) -> dict[Node, int]:
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


class Tree(Canvas):
    """A page with the nodes of a search, one below the other and each in its
    lane: `says` is what stands in them, `lit` leads to the best row."""

    @with_style
    def __init__(self, beams: WatchedBeams, says: dict[Node, list[str]]):
        super().__init__()
        self.says, self.ends = says, beams.ranked()
        self.lit = set(self.ends[0].path())
        self.steps = max(node.step for node in says)
        self.wide = 8 + max(
            text_width(line, weight="normal" if i else "bold")
            for lines in says.values()
            for i, line in enumerate(lines)
        )
        self.lanes = lanes_of([*says], self.steps)
        if (1 + max(self.lanes.values())) * (self.wide + 4) > WIDEST:
            kept = [node for node in says if node.kept]
            self.lanes = lanes_of(kept, self.steps)
        room = WIDEST / (1 + max(self.lanes.values()))
        self.aside = min(ASIDE, max(room, self.wide + 4))
        for node in self.lanes:
            draw_lines(self, node)
        for node in self.lanes:
            draw_node(self, node)
        for end in self.ends:
            draw_bar(self, end)
        foot = (self.steps + 1.5) * STEP - 4, "bars: all words of a path"
        self.note(-self.wide / 2, *foot, ha="left")

    def middle(self, node: Node) -> Place:
        """Where the middle of a node's box is."""
        return self.lanes[node] * self.aside, node.step * STEP


def tree_text(beams: WatchedBeams, says: dict[Node, list[str]]) -> str:
    """Say what the search did: a paragraph, then a line for each word."""
    rows = {
        node: " ".join([says[each][0] for each in node.path()][-2::-1])
        for node in says
    }
    best = [f"{rows[x]} has {number(x.total)}" for x in beams.ranked()]
    steps = max(node.step for node in says)
    say = f"A beam of {beams.width}, {steps} steps: {'; '.join(best)}.\n"
    lines = [
        f"{node.step}: {rows[node]} {number(node.chance)}, together "
        f"{number(node.total)}{', dropped' * (not node.kept)}"
        for node in beams.nodes[1:]
    ]
    return "\n".join([say, *lines])


def line_style(tree: Tree, node: Node) -> Style:
    """Give the line to a node its width and its colour."""
    colour = RIM if node in tree.lit else LINE if node.kept else HATCH
    return {"lw": max(0.7, RIVER * node.total), "ec": colour[0]}


def draw_lines(tree: Tree, node: Node) -> None:
    """Draw the lines from a node, beside each other as far as they go."""
    after = [each for each in tree.lanes if each.before is node]
    after.sort(key=lambda each: tree.lanes[each])
    (x, y), widths = tree.middle(node), [RIVER * each.total for each in after]
    x -= sum(widths) / 2
    for each, wide in zip(after, widths):
        right, down = tree.middle(each)
        end, style = (right, down - HIGH / 2), line_style(tree, each)
        tree.wire((x + wide / 2, y + HIGH / 2), end, upright=True, **style)
        x += wide


def draw_node(tree: Tree, node: Node) -> None:
    """Draw a node's box, with its word, its gloss and its chance."""
    (x, y), lit = tree.middle(node), node in tree.lit
    fill, rim = (
        (HIGHLIGHT, RIM) if lit else (PAPER, LINE if node.kept else EDGE)
    )
    style: Style = {"fc": fill[0], "ec": rim[0], "lw": 1.4 if lit else 0.9}
    box = x - tree.wide / 2, y - HIGH / 2, tree.wide, HIGH
    tree.box(box, **style)
    lines = [line for line in tree.says[node] if line]
    y -= 6.5 * (len(lines) - 1)
    ink, bold = (INK, "bold") if node.kept else (GREY, "normal")
    tree.write(x, y, lines[0], weight=bold, color=ink[0])
    for i, line in enumerate(lines[1:], 1):
        last = node.step > 0 and i == len(lines) - 1
        tree.note(x, y + 13 * i, line, color=(ink if last else GREY)[0])


def draw_bar(tree: Tree, end: Node) -> None:
    """Lead a row to its bar, and say how likely the row is."""
    (x, y), bottom = tree.middle(end), (tree.steps + 1) * STEP - HIGH / 2
    style = line_style(tree, end)
    tree.wire((x, y + HIGH / 2), (x, bottom), upright=True, **style)
    most = max(each.total for each in tree.ends)
    wide = tree.wide * end.total / most
    style = {"fc": SHARE.light[-1], "ec": LINE[0], "lw": 0.6}
    tree.box((x - wide / 2, bottom, wide, 14), 1, **style)
    weight = "bold" if end in tree.lit else "normal"
    tree.write(x, bottom + 24, number(end.total), weight=weight)
