"""Exercises on masks at work: in an attention, and in a model."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from classroom.exercises.chapter_05 import drawn_state
from classroom.outcomes import build_answer, own_seed
from tformer_lite.model.attention import dot_product_attention
from tformer_lite.model.masks import causal_mask

MOVED_PLACES = {
    "left_out": {
        "padding": "",
        "both": "one of the two runs has no mask at all: leave out the "
        "padding mask only, and keep the causal one in both",
        "causal": "the causal mask is left out: leave out the padding "
        "mask, and keep the causal one in both",
    },
    "counted": {
        "each": "",
        "padding": "these are the padding's own places: words behind "
        "padding attend to it too",
        "rows": "where one place of a sentence moves, all of it is marked: is "
        "the causal mask missing, or was the whole row asked at once",
        "still": "True and False are exchanged: True means that the "
        "result moves",
    },
}


class MovedPlaces(Exercise):
    """Measure which results the padding mask changes."""

    chapter, kind, minutes, level = 7, "ablation", 10, 2
    title = "Is padding needed?"
    teaches = "what the padding mask does that the causal one does not"
    axes = "q: B H T D, k: B H T D, v: B H T D, real: B T -> B T"
    switches = MOVED_PLACES

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A full row, and padding inside; then at the end alone; then none."""
        for about in ("", "", "padding at the end moves no word", NO_PADDING):
            sizes = draw.sizes("B H T D")
            b, _, t, _ = sizes.values()
            real = torch.ones(b, t, dtype=torch.bool)
            if about != NO_PADDING:
                real[:, 1 + draw.below(t - 3) if not about else -2] = False
                real[:, -1] = not about
                real[0] = True
            args = (draw.numbers(*sizes.values()) for _ in "qkv")
            yield Case((*args, real), sizes, about)

    def answer(self, case: Case, left_out: str, counted: str) -> Tensor:
        """Attend twice, and compare."""
        q, k, v, real = case.args
        padding = real[:, None, None, :]
        causal = causal_mask(real.shape[1])
        others = {"padding": causal, "causal": padding, "both": None}
        one = dot_product_attention(q, k, v, padding & causal)
        other = dot_product_attention(q, k, v, others[left_out])
        moved = (one - other).abs().amax((1, 3)) > 1e-6
        if counted == "padding":
            return ~real
        if counted == "rows":
            return moved.any(1, keepdim=True).expand_as(moved)
        return ~moved if counted == "still" else moved


NO_PADDING = "where there is no padding, nothing moves"


SINK_MASK = {
    "window": {
        "three": "",
        "two": "the window is too narrow: a position sees itself and "
        "the two before it, three in all",
        "four": "the window is too wide: a position sees itself and the "
        "two before it, three in all",
        "none": "there is no window: far back, only the first two places "
        "are seen",
    },
    "sinks": {
        "two": "",
        "one": "only the first place is kept in sight: the first two are",
        "three": "the first three places are kept in sight: the first two are",
        "none": "the first two places are not kept in sight",
    },
    "future": {
        "hidden": "",
        "early": "position 0 sees position 1, which is its future: the "
        "first two places are kept in sight of those behind them",
        "seen": "the future is not hidden",
        "turned": "past and future are exchanged: row i asks, column j "
        "answers",
    },
}


class SinkMask(Exercise):
    """Give a translator a mask of your own."""

    chapter, kind, minutes, level = 7, "part", 15, 2
    title = "A mask of your own in the model"
    teaches = "a window, and places that everybody keeps in sight"
    axes = "src: B S, tgt: B T -> B T V"
    switches = SINK_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Targets that are longer than the window and the two places."""
        make = {"vocab_size": 23, "max_len": 19, "d_ff": 4}
        make |= {"d_model": 6, "n_heads": 2}
        for t in (11, 13):
            sizes = {"B": 3, "T": t, "S": 5, "V": 23}
            ids = (draw.ids(3, n, below=23, least=2) for n in (5, t))
            state = drawn_state(draw, make)
            yield Case((*ids,), sizes, "", make, state, "mask")

    def answer(
        self, case: Case, window: str, sinks: str, future: str
    ) -> Tensor:
        """Build a translator whose mask is set so."""

        def mask(t: int, device: torch.device | None = None) -> Tensor:
            i, j = torch.arange(t)[:, None], torch.arange(t)[None, :]
            wide = {"two": 2, "four": 4, "none": t}.get(window, 3)
            near = (i - j).abs() < wide if future == "seen" else i - j < wide
            kept = j < {"two": 2, "one": 1, "three": 3, "none": 0}[sinks]
            if future == "early":
                return ((near & (j <= i)) | kept)[None, None]
            seen = (near | kept) & ((j <= i) | (future == "seen"))
            return (seen.mT if future == "turned" else seen)[None, None]

        with own_seed(), torch.no_grad():
            return build_answer(mask, case)(*case.args)
