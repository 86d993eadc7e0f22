"""Exercises on the whole model: what it holds, what it takes, a witness."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial

import torch
from torch import Tensor, nn

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, exercise
from classroom.exercises.chapter_10 import filled
from classroom.outcomes import build_answer
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder

ONE_TABLE = {
    "shared": {
        "two": "",
        "none": "nothing is saved: the numbers were copied into a matrix of "
        "its own, or one matrix is counted under both its names",
        "three": "the source's table is shared as well: the target's "
        "embedding and the head alone should be",
        "places": "the table of places is saved as well: the words' table "
        "alone is shared",
    },
    "gives": {
        "both": "",
        "exchanged": "the two numbers are exchanged: what the model holds "
        "before it shares comes first",
        "saved": "the second number is what is saved: asked is what the "
        "model holds then",
    },
    "counted": {
        "numbers": "",
        "tensors": "the tensors were counted: count the numbers in them, "
        "with numel()",
    },
}


class OneTable(Exercise):
    """Count a translator before and after its head shares a table."""

    chapter, kind, minutes, level = 12, "ablation", 10, 2
    title = "One table for two"
    teaches = "a parameter that serves twice is held once"
    axes = "V:, S:, C:, F:, L: ->"
    switches = ONE_TABLE

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes, and those of the chapter."""
        for _ in range(2):
            sizes = draw.sizes("L V S C F")
            yield Case(tuple(sizes[a] for a in "VSCFL"), sizes)
        yield Case((1024, 8, 12, 48, 1))

    def answer(
        self, case: Case, shared: str, gives: str, counted: str
    ) -> tuple[int, ...]:
        """Count as `parameter_count` does, and take a matrix off."""
        v, s, c, *_, n_layers = case.args
        before = exercise("parameter_count").right(case)
        if counted == "tensors":
            v = s = c = 1
            before = tensors(n_layers)
        saved = {"none": 0, "three": 2 * v * c, "places": (v + s) * c}
        less = saved.get(shared, v * c)
        second = less if gives == "saved" else before - less
        both = before, second
        return both[::-1] if gives == "exchanged" else both


@cache
def tensors(n_layers: int) -> int:
    """Count the tensors that are parameters of a translator."""
    model = EncoderDecoder(replace(tiny_translator, n_layers=n_layers))
    return len([*model.parameters()])


TWO_COSTS = {
    "memory": {
        "S": "",
        "T": "keys and values of cross-attention are counted at the target's "
        "positions: they are made of memory",
        "missing": "cross-attention is missing in the matrices",
        "both": "all four matrices of cross-attention are counted at the "
        "source's positions: queries and output belong to the target",
    },
    "cross": {
        "T S": "",
        "T T": "the scores of cross-attention have T rows and S columns",
        "missing": "cross-attention has two products between positions, too",
    },
    "products": {
        "two": "",
        "one": "one product was counted: each attention has two between "
        "positions, the scores and the weighted sums",
        "causal": "the future was left out: a mask hides scores that have "
        "been computed",
    },
    "wide": {
        "two": "",
        "one": "a feed-forward layer has two matrices, there and back",
    },
    "head": {
        "target": "",
        "none": "the head is missing",
        "source": "the head is counted at the source's positions",
        "both": "the head is counted at all positions: the source has none",
    },
    "batch": {
        "all": "",
        "one": "one sentence pair was counted: the batch has B of them",
    },
    "looked up": {
        "free": "",
        "counted": "looking up was counted: it multiplies nothing",
    },
    "order": {
        "as asked": "",
        "exchanged": "the two numbers are exchanged: the work of the matrices "
        "comes first",
    },
    "unit": {
        "multiply-adds": "",
        "operations": "both are twice too large: a multiplication and the "
        "addition that follows it count as one",
    },
}


class TwoCosts(Exercise):
    """Count a translator's work at any two lengths."""

    chapter, kind, minutes, level = 12, "line", 20, 3
    title = "Longer sentences"
    teaches = "what grows with the length, and what with its square"
    axes = "B:, S:, T:, C:, F:, V: ->"
    switches = TWO_COSTS

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Sizes, and those of the chapter, doubled."""
        for _ in range(2):
            sizes = draw.sizes("B S T C F V")
            yield Case(tuple(sizes[a] for a in "BSTCFV"), sizes)
        yield Case((2, 16, 16, 12, 48, 1024))

    def answer(self, case: Case, **how: str) -> tuple[int, int]:
        """Add up the work of one sentence pair, times their number."""
        b, s, t, c, f, v = case.args
        b = {"all": b}.get(how["batch"], 1)
        b *= 2 if how["unit"] == "operations" else 1
        asked = {"T": 4 * t, "missing": 0, "both": 4 * s}
        square = 4 * s + 4 * t + asked.get(how["memory"], 2 * t + 2 * s)
        wide = {"two": 2, "one": 1}[how["wide"]] * (s + t) * c * f
        heads = {"none": 0, "source": s, "both": s + t}.get(how["head"], t)
        looked = {"counted": s + t}.get(how["looked up"], 0)
        matrices = square * c * c + wide + (heads + looked) * c * v
        cross = {"T T": t * t, "missing": 0}.get(how["cross"], t * s)
        own = {"causal": t * (t + 1) / 2}.get(how["products"], t * t)
        between = {"one": 1}.get(how["products"], 2) * (s * s + own + cross)
        both = b * matrices, b * int(between) * c
        return both if how["order"] == "as asked" else both[::-1]


THEIR_MASK = {
    "future": {
        "hidden": "",
        "seen": "the mask goes in as it is: there True means hidden, so it "
        "hides the past and shows the future",
        "unmasked": "the target's mask does not go in: the future is seen",
        "their own": "a causal mask of its own goes in: `mask` can hide more",
        "turned round": "rows and columns of the mask are exchanged",
        "turned": "the mask goes in turned round: so it hides each position "
        "from itself as well; exchange True and False, not rows and columns",
    },
    "padding": {
        "hidden": "",
        "shown": "memory's mask goes in as it is: there True means hidden, "
        "so the target attends to padding alone",
        "unmasked": "memory's mask does not go in: the target attends to "
        "padding of the source",
    },
}


class Theirs(nn.Module):
    """PyTorch's layer of a decoder, given masks as `choice` has them."""

    def __init__(
        self, choice: Mapping[str, str], d_model: int, n_heads: int, d_ff: int
    ):
        super().__init__()
        self.choice = choice
        self.layer = nn.TransformerDecoderLayer(
            *(d_model, n_heads, d_ff, 0.0),
            norm_first=True,
            batch_first=True,
            bias=False,
        )

    def forward(
        self, y: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor
    ) -> Tensor:
        """Look up what each mask becomes."""
        may, real = mask[0, 0], memory_mask[:, 0, 0]
        past = torch.ones_like(may).tril()
        masks = {"hidden": ~may, "seen": may, "their own": ~past}
        masks |= {"turned round": ~may.mT, "turned": may.mT}
        padding = {"hidden": ~real, "shown": real}
        return self.layer(
            *(y, memory),
            tgt_mask=masks.get(self.choice["future"]),
            memory_key_padding_mask=padding.get(self.choice["padding"]),
        )


class TheirMask(Exercise):
    """Hand our masks to PyTorch's layer of a decoder."""

    chapter, kind, minutes, level = 12, "bug", 8, 2
    title = "Their mask"
    teaches = "a mask's polarity, and the property that shows it"
    axes = (
        "y: B T C, memory: B S C, mask: 1 1 T T, memory_mask: B 1 1 S -> B T C"
    )
    dependence = "y 1 -> 1"
    switches = THEIR_MASK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """A causal mask, then one with holes; padding inside the memory."""
        for holes in (False, True):
            sizes = draw.sizes("B H D T S F C=H*D")
            b, t, s, c = (sizes[a] for a in "BTSC")
            make = {"d_model": c, "n_heads": sizes["H"], "d_ff": sizes["F"]}
            state = filled(draw, Theirs({}, **make)).state_dict()
            mask = torch.ones(1, 1, t, t, dtype=torch.bool).tril()
            if holes:
                mask[0, 0, 2:, 1] = False
            real = draw.flags(b, 1, 1, s, share=0.7)
            real[..., 0], real[..., 1], real[..., 2] = True, False, True
            args = draw.numbers(b, t, c), draw.numbers(b, s, c), mask, real
            yield Case(args, sizes, "", make, state)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Let a layer with these switches do it."""
        with torch.no_grad():
            return build_answer(partial(Theirs, choice), case)(*case.args)
