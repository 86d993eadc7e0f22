"""Attention from inside: its weights, its scale, where its elements go."""

import torch
from torch import Tensor

from tformer_lite.properties.checking import Verdict, check
from tformer_lite.properties.mixing import mixings
from tformer_lite.properties.origins import joined_in_order, split_in_order
from tformer_lite.properties.subject import NotJudgedError, Subject


@check
def weight_rows(subject: Subject) -> Verdict:
    """See whether the weights that mix the values sum to 1 in each row.

    Vaswani et al. (2017), equation 1.
    """
    found = mixings(subject)
    for one in found:
        sums = one.weights.sum(-1)
        wrong = ~((sums - 1).abs() < 1e-3) & ~nobody(subject, sums)
        if wrong.any():
            place = wrong.nonzero()[0].tolist()
            says = (
                f"In {one.path}, row {place} of the weights sums to "
                f"{sums[wrong][0].item():.2f}. Look at the axis of the "
                "softmax, at what is done after it, and whether that row has "
                "anybody to hear."
            )
            return False, says, matrix(one.weights)
    says = f"Each row of weights sums to 1, in {attentions(found)}."
    return True, says, matrix(found[0].weights)


@check
def score_scale(subject: Subject) -> Verdict:
    """See whether queries and keys of variance 1 would give scores of
    variance 1: a product of D of them has variance D.

    Vaswani et al. (2017), section 3.2.1, footnote 4.
    """
    found = mixings(subject)
    sizes = [one.q.matrix.shape[-1] for one in found]
    variances = [one.scale**2 * size for one, size in zip(found, sizes)]
    seen = torch.tensor([variances])
    for one, size, variance in zip(found, sizes, variances):
        if not 0.8 < variance < 1.25:
            says = (
                f"In {one.path}, queries and keys of variance 1 would give "
                f"scores of variance {variance:.2f}: scores are the product "
                f"times {one.scale:.2f}, where 1/√{size} is "
                f"{size**-0.5:.2f}."
            )
            return False, says, seen
    says = "Queries and keys of variance 1 would give scores of variance 1"
    return True, f"{says}, in {attentions(found)}.", seen


@check
def provenance(subject: Subject) -> Verdict:
    """See whether splitting and joining heads keeps every element at its
    position: by its value, each is followed to where it came from.

    A head's query is the same channels of one position, and a joined row is
    all heads of one position.
    """
    pushed = range(len(subject.inputs))  # so that no two rows are alike
    seen = []
    for one in mixings(subject, *pushed):
        splits = zip(("queries", "keys", "values"), (one.q, one.k, one.v))
        moves = {f"split {name}": split_in_order(x) for name, x in splits}
        moves["joined heads"] = joined_in_order(one)
        found = {what: move for what, move in moves.items() if move}
        seen += [move.positions for move in found.values()]
        for what, move in found.items():
            if not move.in_order:
                says = (
                    f"In {one.path}, the {what} mix positions or channels. "
                    "A view or reshape moves no element: transpose the axes "
                    "first, and then merge them."
                )
                return False, says, move.positions
    if not seen:
        raise NotJudgedError("No heads are split or joined that can be seen.")
    says = f"{len(seen)} splits and joins keep each element in its place."
    return True, says, seen[-1]


def nobody(subject: Subject, sums: Tensor) -> Tensor:
    """Which rows (..., T) may be empty: of padding, with nobody to hear."""
    rows, length = len(subject.target), sums.shape[-1]
    padding = torch.zeros_like(sums, dtype=torch.bool)
    for x in subject.inputs:
        if x.shape[1] == length and sums.numel() % (rows * length) == 0:
            hidden = ~subject.is_real(x)[:, None]
            shape = rows, sums.numel() // (rows * length), length
            padding |= hidden.expand(shape).reshape(sums.shape)
    return padding & (sums == 0)


def matrix(weights: Tensor) -> Tensor:
    """Take those of the first sentence and head: (..., T, S) -> (T, S)."""
    return weights.flatten(0, -3)[0] if weights.ndim > 2 else weights


def attentions(found: list) -> str:
    """Count attentions in words."""
    return f"{len(found)} attention{'s' * (len(found) > 1)}"
