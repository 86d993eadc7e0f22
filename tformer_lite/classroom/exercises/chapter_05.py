"""Exercises on heads."""

from collections.abc import Iterable

from torch import Tensor

from tformer_lite.classroom.cases import Case, Draw
from tformer_lite.classroom.exercise import Exercise


class DealtOut(Exercise):
    """Split the channels into heads."""

    chapter, kind, minutes, level = 5, "line", 5, 1
    title = "Deal the channels out"
    teaches = "split into heads: unflatten, then transpose"
    axes = "x: B T C, n_heads: -> B H T D"
    switches = {
        "cut": {
            "channels": "",
            "row": "the row was cut as it lies in memory: each head has its "
            "own positions instead of its own channels of every position",
            "strided": "head h takes every H-th channel, and should take D "
            "channels that lie side by side: unflatten with (H, D)",
        },
        "turn": {
            "done": "",
            "left": "H and T did not change places: transpose(1, 2) after "
            "the split",
        },
    }

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Numbers that are all different."""
        for _ in range(2):
            sizes = draw.sizes("B T H D C=H*D")
            x = draw.tags(*(sizes[a] for a in "BTC"))
            yield Case((x, sizes["H"]), sizes)

    def answer(self, case: Case, cut: str, turn: str) -> Tensor:
        """Cut C or the row, and turn H and T round or not."""
        x, h = case.args
        if cut == "row":
            dealt = x.reshape(len(x), h, x.shape[1], -1).transpose(1, 2)
        elif cut == "strided":
            dealt = x.unflatten(-1, (-1, h)).mT
        else:
            dealt = x.unflatten(-1, (h, -1))
        return dealt.transpose(1, 2) if turn == "done" else dealt
