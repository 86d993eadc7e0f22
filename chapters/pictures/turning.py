"""What cross-attention changes: the word that would be written before it, and
the one after it."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

import torch
from matplotlib.patches import Circle, FancyArrowPatch
from torch import Tensor
from torch.nn.functional import normalize

from pictures.canvas import Canvas
from shapewatch.tracing import Trace
from tformer_lite.drawing.plots.charts import Bars, bars_text, draw_bars
from tformer_lite.drawing.surface.page import Style, crop
from tformer_lite.drawing.surface.palette import (
    DARK,
    EDGE,
    GREY,
    PAPER,
    RIM,
    SHARE,
)
from tformer_lite.drawing.surface.picture import Picture, with_style
from tformer_lite.example.shipped import nepali_tokenizer
from tformer_lite.text.datasets import Batch

__all__ = ["before_the_english", "stream_turns"]

STEP, HIGH, WIDE, BAND = 52, 36, 86, 26  # of rows; a bar, a ribbon of 1
READ, FIRST, LOOKS, LAST = 28, 64, 220, 268  # columns of a row
HEADS = "has read", "first guess", "looks at (%)", "new guess"
MEANT = "orange: the right word, grey: another one"
LONG, FEW = 180, 3  # the longest arrow; bars of the words before
ORANGE = SHARE.light[-1]
TITLES = "before (%)", "after (%)"
TIMES = ("before", 0.6, 6, "left"), ("after", 0.84, -8, "right")
BROAD = "-|>, head_length=12, head_width=8"
TIP = "-|>, head_length=11, head_width=5"
Words = Mapping[str, str]  # and what they mean
Guess = tuple[str, float, bool]  # a word, how likely it is, if it is right


def streams_of(seen: Trace, at: int) -> tuple[Tensor, Any]:
    """Give the last decoder block's stream before cross-attention and after
    it, through the final norm, (2, T, C); and the head that reads it."""
    model: Any = seen.model
    name = f"decoder.blocks.{len(model.decoder.blocks) - 1}:x"
    both = torch.stack([seen[name, i][at] for i in (0, 1)])
    return model.decoder.norm(both).detach(), model.head


def looks_of(seen: Trace, batch: Batch, at: int, t: int) -> dict[str, float]:
    """Give the two words with most weight, the mean of the heads."""
    most = seen.attention()[-1].weights[at].mean(0)[t].topk(2)
    words = [batch.src_words[at][j] for j in most.indices.tolist()]
    return dict(zip(words, most.values.tolist()))


def share_text(share: float) -> str:
    """Write a share in percent, and what is nearly whole as such."""
    return ">99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def before_the_english(
    seen: Trace, batch: Batch, at: int = 0, glosses: Words | None = None
) -> Picture:
    """Draw what a translator would write at each position before it looks at
    the English, and what after: (B, T), (B, S) -> a picture.

    A row is a position of the sentence that `at` chooses, named by the last
    word read. A bar is its likeliest word, if norm and head read the stream
    just before the last cross-attention, or just after it: orange where the
    word is right, grey where not. The English words with most weight are
    between, with ribbons as wide. `glosses` tells what words mean. The model
    has pre-norm, and the trace has kept its values.

    >>> before_the_english(running_trace(), running_example(), at=1)
    [SOS]: के 98 %, looks at hungry 37 %, . 23 %, then भोको >99 %. ...
    """
    page, said, known = Canvas(), [], nepali_tokenizer().words
    for x, name in zip((0, FIRST, LOOKS - 62, LAST), HEADS):
        page.bold(x, -16, name, ha="left")
    streams, head = streams_of(seen, at)
    chances = head(streams).detach().softmax(-1)
    words, ends = batch.tgt_words[at], ("[EOS]", "[PAD]")
    for t, word in enumerate(takewhile(lambda x: x not in ends, words)):
        shares, ids = (x.tolist() for x in chances[:, t].max(-1))
        right = [i == batch.labels[at, t].item() for i in ids]
        guesses = list(zip([known[i] for i in ids], shares, right))
        looks = looks_of(seen, batch, at, t)
        draw_place(page, STEP * t, word, guesses, looks, glosses or {})
        first, new = (f"{x} {share_text(share)}" for x, share, _ in guesses)
        most = ", ".join(
            f"{x} {share_text(share)}" for x, share in looks.items()
        )
        said.append(f"{word}: {first}, looks at {most}, then {new}.")
    page.note(FIRST, STEP * len(said) - 4, MEANT, ha="left")
    return page.picture(" ".join(said))


@with_style
def draw_place(
    page: Canvas,
    y: float,
    read: str,
    guesses: list[Guess],
    looks: Mapping[str, float],
    glosses: Words,
) -> None:
    """Draw a row: what is read, a bar, what is looked at, a bar."""
    middle = y + HIGH / 2
    page.word(READ, middle - 8, read, 2 * READ)
    page.note(READ, middle + 8, glosses.get(read, ""))
    for x, (word, share, right) in zip((FIRST, LAST), guesses):
        page.rectangle((x, y, WIDE, HIGH), fc=PAPER[0], ec=EDGE[0], lw=0.8)
        fill = ORANGE if right else EDGE[0]
        page.rectangle((x, y, WIDE * share, HIGH), fc=fill, lw=0)
        top = middle - 8 * (word in glosses)
        page.bold(x + 4, top, word, ha="left")
        page.write(x + 4, middle + 8, glosses.get(word, ""), ha="left")
        page.write(x + WIDE - 4, top, share_text(share), ha="right")
    stop = middle - BAND * sum(looks.values()) / 2
    for start, (word, share) in zip((middle - 9, middle + 9), looks.items()):
        wide = BAND * share
        page.write(LOOKS, start, f"{word} {100 * share:.0f}", ha="right")
        ends = (LOOKS + 4, start), (LAST - 2, stop + wide / 2)
        page.wire(*ends, ec=ORANGE, lw=wide)
        stop += wide


def stream_turns(
    seen: Trace,
    batch: Batch,
    at: int = 0,
    place: int = 1,
    glosses: Words | None = None,
) -> Picture:
    """Draw how cross-attention turns the stream of a position, (C,), from
    one word to another: -> a picture.

    Two rows of the head span the plane: of the likeliest word before, and of
    the likeliest after. So nothing of their scores is lost: a score is the
    arrow's shadow on the line of a word, times the length of that row. The
    arrows are the stream after the final norm. Bars are probabilities in
    percent. Arguments are those of `before_the_english`, with the number of
    the `place`. Raises ValueError where the word stays the same.

    >>> stream_turns(running_trace(), running_example(), at=1, place=1)
    After भोको, cross-attention (dog 52 %, the 11 %) turns the stream. ...
    """
    known, told = nepali_tokenizer().words, glosses or {}
    every, head = streams_of(seen, at)
    streams = every[:, place]
    chances = head(streams).detach().softmax(-1)
    old, new = chances.argmax(-1).tolist()
    if old == new:
        raise ValueError(f"{known[old]} stays: choose another place.")
    best = [x for x in chances[0].topk(FEW + 1).indices.tolist() if x != new]
    ids = [*best[:FEW], new]
    words = {known[i]: told.get(known[i], "") for i in ids}
    shares = list((100 * chances[:, ids]).round().long())
    chart = Bars(TITLES, shares, [*words], [*words.values()])
    rows = head.weight.detach()[[old, new]]
    pairs = (streams @ rows.mT).T.tolist()
    scores = [f"{one:.1f} → {other:.1f}" for one, other in pairs]
    labels = [(*word, x) for word, x in zip([*words.items()][::FEW], scores)]
    page, looks = Canvas(), looks_of(seen, batch, at, place).items()
    looked = ", ".join(f"{word} {share_text(share)}" for word, share in looks)
    draw_turn(page, streams, rows, labels)
    page.bold(0, -LONG - 32, "cross-attention")
    page.note(0, -LONG - 16, looked)
    said = ", ".join(f"{word} {score}" for word, _, score in labels)
    text = f"After {batch.tgt_words[at][place]}, cross-attention ({looked}) "
    text += f"turns the stream. Scores: {said}. {bars_text(chart)}"
    return Picture([crop(page.figure), *draw_bars(chart)], text, DARK)


@with_style
def draw_turn(
    page: Canvas,
    streams: Tensor,
    rows: Tensor,
    labels: Sequence[tuple[str, str, str]],
) -> None:
    """Draw two arrows in the plane of two rows, the lines of these, and the
    shadow of either on its own."""
    units = normalize(rows)
    plane = normalize(torch.stack([units[1] - units[0], units.sum(0)]))
    points, lines = streams @ plane.mT, units @ plane.mT
    flip = torch.tensor([1, -1]) * LONG / points.norm(dim=-1).max()
    feet = (points * lines).sum(-1, True) * lines * flip
    tips, colours = (points * flip).tolist(), (GREY[0], RIM[0])
    for tip, foot, line, label, colour, (name, *place) in zip(
        tips, feet.tolist(), lines * flip.sign(), labels, colours, TIMES
    ):
        x, y = (line * (LONG + 46)).tolist()
        page.ax.plot((0, x), (0, y), ls=":", color=colour, clip_on=False)
        page.ax.plot(*zip(tip, foot), lw=0.8, color=colour, clip_on=False)
        page.add(Circle(foot, 3, fc=colour, lw=0))
        page.bold(x, y - 56, label[0], color=colour)
        for up, text in zip((40, 25, 11), (label[1], "score", label[2])):
            page.write(x, y - up, text, color=colour)
        page.arrow((0, 0), tip, color=colour, lw=3, arrowstyle=TIP)
        far, aside, ha = place
        x, y = far * tip[0] + aside, far * tip[1]
        page.bold(x, y, name, ha=ha, color=colour)
    (x, y), (x2, y2) = tips
    arc: Style = {"connectionstyle": "arc3, rad=-0.3", "arrowstyle": BROAD}
    arc |= {"color": ORANGE, "lw": 7, "zorder": 1}
    page.add(FancyArrowPatch((x, y - 8), (x2 - 4, y2 - 6), **arc))
