"""Compare: the first call at which two runs part."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.tensors import USUAL


class ComparedCall(NamedTuple):
    """A call: its module's path, how it is written, the sizes that it makes,
    and the values, if they were kept."""

    path: str
    text: str
    sizes: list[tuple[int, ...]]
    values: list[Tensor]


Pair = tuple[ComparedCall, ComparedCall]


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


def compared_calls(calls: Calls) -> list[ComparedCall]:
    """List what is compared; values of PyTorch's own class alone, and none
    of a vmap."""
    compared = []
    for i, (step, row) in enumerate(zip(calls.steps, calls.table.rows)):
        values = calls.run.values.kept.get(i, [])
        values = values if all(map(is_plain, values)) else []
        sizes = [tuple(mark.shape) for mark in step.makes]
        compared.append(ComparedCall(step.visit.path, row.call, sizes, values))
    return compared


def is_plain(tensor: Tensor) -> bool:
    """Whether a tensor is of PyTorch's own class, and not inside a vmap."""
    in_vmap = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return type(tensor) in USUAL and not in_vmap


def compare(*runs: Calls) -> Comparison:
    """Find the first call at which two runs part: by its shapes, or, if no
    shape differs, by its values, as far as both have kept them.

    Calls that are written alike, in the same module and the same order, are
    compared; values may differ by rounding.
    """
    mine, theirs = map(compared_calls, runs)
    pairs = list(equal_calls(mine, theirs))
    shapes = [shape_difference(*pair) for pair in pairs]
    values = (value_difference(*pair) for pair in pairs)
    for differences in shapes, values:
        for before, difference in enumerate(differences):
            if difference:
                path, text, *_ = pairs[before][0]
                says = (
                    f"They part in {path or 'the whole model'}, at `{text}`: "
                    f"{difference}. Calls compared before it: {before}."
                )
                return Comparison(False, path, says)
    return Comparison(True, "", agreement_text(mine, theirs, pairs))


def equal_calls(
    mine: list[ComparedCall], theirs: list[ComparedCall]
) -> Iterator[Pair]:
    """Pair the calls that are written alike, in the same order."""
    places = [[call[:2] for call in calls] for calls in (mine, theirs)]
    matcher = SequenceMatcher(None, places[0], places[1], autojunk=False)
    for i, j, n in matcher.get_matching_blocks():
        yield from zip(mine[i : i + n], theirs[j : j + n])


def shape_difference(mine: ComparedCall, theirs: ComparedCall) -> str:
    """Say what two calls make, if it has other sizes; else ""."""
    if mine.sizes == theirs.sizes:
        return ""
    a, b = (", ".join(map(str, x.sizes)) for x in (mine, theirs))
    return f"mine has {a}, theirs has {b}"


def value_difference(mine: ComparedCall, theirs: ComparedCall) -> str:
    """Say how far two calls' values are apart; "" but for rounding."""
    for a, b in zip(mine.values, theirs.values):
        if not nearly_equal(a, b):
            a, b = a.to("cpu", torch.double), b.to("cpu", torch.double)
            far = (a - b).abs()[a != b].max().item()
            return f"the shapes agree, the values are up to {far:.3g} apart"
    return ""


def nearly_equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same, but for rounding of decimals."""
    types = [x.dtype for x in (a, b) if x.is_floating_point()]
    near = max((torch.finfo(t).eps for t in types), default=0) ** (2 / 3)
    wide = torch.promote_types(a.dtype, b.dtype)
    a, b = a.to("cpu", wide), b.to("cpu", wide)
    return torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)


def agreement_text(
    mine: list[ComparedCall], theirs: list[ComparedCall], pairs: list[Pair]
) -> str:
    """Say that nothing differs, and how much was compared."""
    kept = sum(bool(ours.values and others.values) for ours, others in pairs)
    values = f"with the same values: {kept}" if kept else "no values were kept"
    text = f"They agree. Calls with the same shapes: {len(pairs)}; {values}."
    left = [len(calls) - len(pairs) for calls in (mine, theirs)]
    if any(left):
        text += f" Not compared: {left[0]} calls of mine, {left[1]} of theirs."
    return text
