"""Exercises on bugs that keep every shape."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from classroom.blocks import blocks_around
from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from shapewatch.properties import report
from tformer_lite.example.running import EncoderDecoder, running_example
from tformer_lite.gallery import planted
from tformer_lite.model.config import tiny_translator

Forward = Callable[[Tensor, Callable, Callable], Tensor]
RESIDUALS: dict[tuple[str, str], Forward] = {
    ("input", "before"): lambda x, f, norm: x + f(norm(x)),
    ("normed", "before"): lambda x, f, norm: norm(x) + f(norm(x)),
    ("lost", "before"): lambda x, f, norm: f(norm(x)),
    ("ignored", "before"): lambda x, f, norm: norm(x),
    ("input", "after"): lambda x, f, norm: norm(x + f(x)),
    ("input", "none"): lambda x, f, norm: x + f(x),
    ("lost", "after"): lambda x, f, norm: norm(f(x)),
    ("lost", "none"): lambda x, f, norm: f(x),
    ("input", "result"): lambda x, f, norm: x + norm(f(x)),
}


class Switched(nn.Module):
    """A residual connection as two switches say."""

    def __init__(self, form: Forward, d_model: int, norm: Callable, _: float):
        super().__init__()
        self.form, self.norm = form, norm(d_model)

    def forward(self, x: Tensor, sublayer: Callable) -> Tensor:
        """Let the form do it: (B, T, C) -> (B, T, C)."""
        return self.form(x, sublayer, self.norm)


MENDED_RESIDUAL = {
    "path": {
        "input": "",
        "normed": "the residual connection starts after the norm, not "
        "before it",
        "lost": "there is no residual connection: the input is not added "
        "to what the sublayer makes of it",
        "ignored": "what the sublayer made is not used",
    },
    "norm": {
        "before": "",
        "after": "the sum is normalised: that is post-norm, and this "
        "model is pre-norm",
        "none": "the sublayer gets its input without the norm",
        "result": "the norm stands after the sublayer, and should stand "
        "before it",
    },
}


class MendedResidual(Exercise):
    """Mend a residual connection inside a translator."""

    chapter, kind, minutes, level = 15, "bug", 10, 2
    title = "What is left of nothing"
    teaches = "pre-norm: the residual connection starts before the norm"
    axes = "src: B S, tgt: B T -> B T V"
    switches = MENDED_RESIDUAL

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Translators of several sizes, with all their parameters drawn."""
        for _ in range(2):
            yield self.case(draw, draw.sizes("B H D C=H*D S T V"))

    def case(self, draw: Draw, sizes: dict[str, int]) -> Case:
        """Draw ids and parameters for a translator of these sizes."""
        make = {"vocab_size": sizes["V"], "max_len": 19}
        make |= {"d_model": sizes["C"], "n_heads": sizes["H"]}
        right = partial(Switched, RESIDUALS["input", "before"])
        theirs = self.model(make, right).state_dict()
        state = {
            n: draw.numbers(*x.shape, scale=0.5) for n, x in theirs.items()
        }
        ids = [draw.ids(sizes["B"], sizes[a], below=sizes["V"]) for a in "ST"]
        for each in ids:
            each[:, 0] = 2  # nobody has only padding to attend to
        return Case(tuple(ids), sizes, "", make, state, "residual")

    def model(self, make: Any, residual: Callable) -> nn.Module:
        """Build the translator with a residual connection of our own."""
        own = blocks_around(residual)
        config = replace(tiny_translator, **make, residual=own)
        return EncoderDecoder(config).eval()

    def answer(self, case: Case, path: str, norm: str) -> Tensor:
        """Run the translator with residual connections so switched."""
        if (path, norm) not in RESIDUALS:
            raise ValueError("two mistakes that are not looked for together")
        form = RESIDUALS[path, norm]
        model = self.model(case.make, partial(Switched, form))
        model.load_state_dict(dict(case.state or {}))
        with torch.no_grad():
            return model(*case.args)


CAUSAL_VERDICT = {
    "when": {
        "later": "",
        "earlier": "rows and columns are exchanged: pushed[s] has what "
        "came when position s was pushed",
        "itself": "a position may depend on itself",
        "next": "only the very next position was looked at: a leak may "
        "come from further on",
    },
    "size": {
        "absolute": "",
        "signed": "a number that sinks has moved too: take the absolute value",
        "summed": "what rises and what sinks cancels: take the absolute "
        "value before the sum",
    },
    "how many": {
        "any": "",
        "all": "one leak is enough: it takes any, and not all",
        "words": "a position has moved when any of its numbers has, and "
        "not only when all have",
    },
    "rounding": {
        "allowed": "",
        "alarmed": "rounding alone moves numbers a little: only more "
        "than the limit counts",
    },
    "verdict": {
        "holds": "",
        "broken": "the verdict is turned round: True means that no "
        "position depends on a later one",
    },
}


def pushes(
    draw: Draw,
    depends: Tensor,
    noise: float = 0.0,
    sign: int = 0,
    few: int = 99,
) -> Case:
    """Move what a matrix says: in `few` words, whose sum stays, or in
    all, in one direction."""
    n = len(depends)
    before = draw.numbers(n, 12)
    moves = draw.numbers(n, n, 12)
    moves[..., few:] = 0
    moves[..., :few] -= moves[..., :few].mean(-1, keepdim=True)
    moves = sign * moves.abs() if sign else moves
    pushed = before + moves * depends.mT[..., None]
    pushed = pushed + noise * draw.numbers(n, n, 12)
    return Case((before, pushed), {"T": n, "S": n, "V": 12})


class CausalVerdict(Exercise):
    """Judge from pushes whether a position depends on a later one."""

    chapter, kind, minutes, level = 15, "line", 20, 3
    title = "A property of your own"
    teaches = "a check that accepts every right model and no wrong one"
    axes = "before: T V, pushed: S T V ->"
    switches = CAUSAL_VERDICT

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Right models and wrong ones, in number about the same."""
        n = 7 + draw.below(4)
        ones = torch.ones(n, n)
        one = torch.zeros(n, n)
        one[1, n - 2] = 1
        for matrix in (ones.tril(), torch.eye(n), ones.tril(-1)):
            yield pushes(draw, matrix)
            yield pushes(draw, matrix, noise=3e-6)
        for matrix in (ones, ones.tril(1), ones.tril() + one, ones.triu()):
            yield pushes(draw, matrix)
        for sign in (1, -1):
            yield pushes(draw, ones.tril() + one, sign=sign)
        yield pushes(draw, ones.tril() + one, few=2)
        yield pushes(draw, ones.tril() + ones.triu(2))

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Measure the moves, and look where nothing should have moved."""
        before, pushed = case.args
        moves, n = pushed - before, len(before)
        sizes = {"signed": moves.amax(-1), "summed": moves.sum(-1).abs()}
        size = sizes.get(choice["size"], moves.abs().amax(-1))
        if choice["how many"] == "words":
            size = moves.abs().amin(-1)
        moved = size > (1e-4 if choice["rounding"] == "allowed" else 0)
        depends = moved.mT  # whose row moves, when which column is pushed
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        looked = {"earlier": future.mT, "next": future & ~future.triu(2)}
        looked["itself"] = future.triu(1) | torch.eye(n).bool()
        leaks = depends[looked.get(choice["when"], future)]
        found = leaks.all() if choice["how many"] == "all" else leaks.any()
        return ~found if choice["verdict"] == "holds" else found


@cache
def broken(n_layers: int, line: str) -> tuple[str, ...]:
    """Ask a translator with so many blocks, and a line of its own."""
    right = "for block in self.blocks:"
    model = planted("models", right, line).running.running_model(
        replace(tiny_translator, n_layers=n_layers)
    )
    return tuple(report(model, *running_example()[:2]).broken)


LAST_BLOCK_ALONE = {
    "blocks": {
        "both": "",
        "one": "with two blocks some property notices: is the line "
        "planted, and n_layers=2 for the second model",
        "two": "both models have two blocks: n_layers=1 for the first",
        "turned": "the model of one block comes first, then that of two",
    },
}


class LastBlockAlone(Exercise):
    """Plant a bug that takes two blocks to be seen."""

    chapter, kind, minutes, level = 15, "ablation", 15, 2
    title = "Only the last block"
    teaches = "which property sees a block that no output depends on"
    switches = LAST_BLOCK_ALONE

    def answer(self, case: Case, blocks: str) -> Any:
        """Plant the line, and ask."""
        numbers = {"one": (1, 1), "two": (2, 2), "turned": (2, 1)}
        line = "for block in self.blocks[-1:]:"
        return tuple(broken(n, line) for n in numbers.get(blocks, (1, 2)))


class OneBlockHidesIt(Exercise):
    """Say why a bug can only be seen in a deeper model."""

    chapter, kind, minutes, level = 15, "explain", 10, 2
    title = "Why one block hides it"
    teaches = "a test has to run where the bug makes a difference"
    rubric = (
        "why the planted line changes nothing in a model of one block",
        "why a model with two blocks still depends on what it should",
        "which parameters get no gradient, and why",
    )
