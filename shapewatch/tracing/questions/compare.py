"""Compare: the first call at which two runs part."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.tensors import USUAL

Pair = tuple[int, int]  # the numbers of a call in the one run, and the other


class Comparison(NamedTuple):
    """What came out: print it.

    `agree` says whether all that was compared is the same. If not, `where`
    is the module of the first difference.
    """

    agree: bool
    where: str
    text: str

    def __str__(self) -> str:
        return self.text


def compare(mine: Calls, theirs: Calls) -> Comparison:
    """Find the first call at which two runs part: by its shapes, or, if no
    shape differs, by its values, as far as both have kept them.

    Calls that are written alike, in the same module and the same order, are
    compared; values may differ by rounding.
    """
    pairs = list(equal_calls(mine, theirs))
    for difference in shape_difference, value_difference:
        for before, (i, j) in enumerate(pairs):
            if says := difference(mine, i, theirs, j):
                path, text = mine.steps[i].visit.path, mine.table.rows[i].call
                return Comparison(
                    False,
                    path,
                    f"They part in {path or 'the whole model'}, at `{text}`: "
                    f"{says}. Calls compared before it: {before}.",
                )
    return Comparison(True, "", agreement_text(mine, theirs, pairs))


def equal_calls(*runs: Calls) -> Iterator[Pair]:
    """Pair the calls that are written alike, in the same order."""
    mine, theirs = (
        [(s.visit.path, x.call) for s, x in zip(run.steps, run.table.rows)]
        for run in runs
    )
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    for i, j, n in matcher.get_matching_blocks():
        yield from ((i + k, j + k) for k in range(n))


def shape_difference(mine: Calls, i: int, theirs: Calls, j: int) -> str:
    """Say what two calls make, if it has other sizes; else ""."""
    ours, others = (
        ", ".join(str(tuple(mark.shape)) for mark in step.makes)
        for step in (mine.steps[i], theirs.steps[j])
    )
    same = ours == others
    return "" if same else f"mine has {ours}, theirs has {others}"


def value_difference(mine: Calls, i: int, theirs: Calls, j: int) -> str:
    """Say how far two calls' values are apart; "" but for rounding."""
    for a, b in zip(plain_values(mine, i), plain_values(theirs, j)):
        if not nearly_equal(a, b):
            a, b = a.to("cpu", torch.double), b.to("cpu", torch.double)
            far = (a - b).abs()[a != b].max().item()
            return f"the shapes agree, the values are up to {far:.3g} apart"
    return ""


def plain_values(calls: Calls, i: int) -> list[Tensor]:
    """Give what a call made, if it was kept: of PyTorch's own class alone,
    and not inside a vmap."""
    in_vmap = torch._C._functorch.is_functorch_wrapped_tensor
    kept = calls.run.values.kept.get(i, [])
    plain = all(type(x) in USUAL and not in_vmap(x) for x in kept)
    return kept if plain else []


def nearly_equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding of decimals."""
    types = [x.dtype for x in (a, b) if x.is_floating_point()]
    near = max((torch.finfo(t).eps for t in types), default=0) ** (2 / 3)
    wide = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to("cpu", wide), b.to("cpu", wide)
    return torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)


def agreement_text(mine: Calls, theirs: Calls, pairs: list[Pair]) -> str:
    """Say that nothing differs, and how much was compared."""
    kept = sum(
        bool(plain_values(mine, i) and plain_values(theirs, j))
        for i, j in pairs
    )
    values = f"with the same values: {kept}" if kept else "no values were kept"
    text = f"They agree. Calls with the same shapes: {len(pairs)}; {values}."
    left = [len(calls.steps) - len(pairs) for calls in (mine, theirs)]
    if any(left):
        text += f" Not compared: {left[0]} calls of mine, {left[1]} of theirs."
    return text
