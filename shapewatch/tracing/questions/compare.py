"""Compare: the first call at which two runs part."""

from difflib import SequenceMatcher
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.tensors import USUAL


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
    ours, others = written_calls(mine), written_calls(theirs)
    matcher = SequenceMatcher(None, ours, others, autojunk=False)
    blocks = matcher.get_matching_blocks()
    pairs = [(i + k, j + k) for i, j, n in blocks for k in range(n)]
    for difference in shape_difference, value_difference:
        for before, (i, j) in enumerate(pairs):
            if says := difference(mine, i, theirs, j):
                path, text = ours[i]
                says = (
                    f"They part in {path or 'the whole model'}, at `{text}`: "
                    f"{says}. Calls compared before it: {before}."
                )
                return Comparison(False, path, says)
    kept = sum(bool(values_of(mine, i, theirs, j)) for i, j in pairs)
    values = f"with the same values: {kept}" if kept else "no values were kept"
    text = f"They agree. Calls with the same shapes: {len(pairs)}; {values}."
    left = [len(calls) - len(pairs) for calls in (ours, others)]
    if any(left):
        text += f" Not compared: {left[0]} calls of mine, {left[1]} of theirs."
    return Comparison(True, "", text)


def written_calls(run: Calls) -> list[tuple[str, str]]:
    """List the calls of a run: each the module's path, and how it is
    written."""
    rows = zip(run.steps, run.table.rows)
    return [(step.visit.path, row.call) for step, row in rows]


def shape_difference(mine: Calls, i: int, theirs: Calls, j: int) -> str:
    """Say what two calls make, if it has other sizes; else ""."""
    ours, others = (
        ", ".join(str(tuple(mark.shape)) for mark in step.makes)
        for step in (mine.steps[i], theirs.steps[j])
    )
    says = f"mine has {ours}, theirs has {others}"
    return says if ours != others else ""


def value_difference(mine: Calls, i: int, theirs: Calls, j: int) -> str:
    """Say how far two calls' values are apart; "" but for rounding."""
    for a, b in values_of(mine, i, theirs, j):
        if not nearly_equal(a, b):
            a, b = a.to("cpu", torch.double), b.to("cpu", torch.double)
            far = (a - b).abs()[a != b].max().item()
            return f"the shapes agree, the values are up to {far:.3g} apart"
    return ""


def values_of(
    mine: Calls, i: int, theirs: Calls, j: int
) -> list[tuple[Tensor, Tensor]]:
    """Pair what two calls made, if both kept it: of PyTorch's own class
    alone, and not inside a vmap."""
    ours = mine.run.values.kept.get(i, [])
    others = theirs.run.values.kept.get(j, [])
    in_vmap = torch._C._functorch.is_functorch_wrapped_tensor
    plain = all(type(x) in USUAL and not in_vmap(x) for x in ours + others)
    return list(zip(ours, others)) if plain else []


def nearly_equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding of decimals."""
    types = [x.dtype for x in (a, b) if x.is_floating_point()]
    near = max((torch.finfo(t).eps for t in types), default=0) ** (2 / 3)
    wide = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to("cpu", wide), b.to("cpu", wide)
    return torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)
