"""Attention: its weights are shares of one, and its scores are scaled."""

import re
from typing import Any

import torch
from torch import Tensor

from shapewatch.properties.attention_parts import (
    AttentionParts,
    attentions,
    first_matrix,
    how_many,
)
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.subject import NotJudgedError, Subject

ROW_TOLERANCE = 2 * torch.finfo(torch.bfloat16).eps  # of the fewest digits


@check
def weight_rows(subject: Subject) -> Verdict:
    """Check that the weights that mix the values sum to 1 in each row.

    Then the output is a mean of values, whatever the number of keys. Vaswani
    et al. (2017), equation 1.

    - Changes: nothing.
    - Looks at: the weights of each attention, as they multiply the values. A
      row of padding may be empty.
    - Says: which row of which attention sums to what. Unusual: a sink, a slot
      that is not a position, takes the rest.
    """
    every = attentions(subject)
    for parts in every:
        sums = parts.weights.double().sum(-1)
        wrong = ~((sums - 1).abs() < ROW_TOLERANCE)
        wrong &= ~empty_padding(subject, sums)
        if not wrong.any():
            continue
        row, matrix = wrong.nonzero()[0].tolist(), first_matrix(parts.weights)
        says = f"In {parts.path}, row {row} of the weights sums to "
        says += f"{sums[wrong][0].item():.2f}"
        if parts.sink and sums[wrong].max() < 1:
            says += ": a sink, which is no position, has the rest."
            return False, says, matrix, UNUSUAL
        says += ". Look at the axis of the softmax, at what is done after "
        says += "it, and whether that row has anything to attend to."
        return False, says, matrix
    says = f"Each row of weights sums to 1, in {how_many(every)}."
    return True, says, first_matrix(every[0].weights)


def empty_padding(subject: Subject, sums: Tensor) -> Tensor:
    """Which rows (..., T) may be empty: padding that attends to nothing."""
    padding = torch.zeros_like(sums, dtype=torch.bool)
    for real in subject.real:
        heads, rest = divmod(sums.numel(), real.numel())
        if real.shape[1] == sums.shape[-1] and not rest:
            shared = ~real.repeat_interleave(heads, 0)
            padding |= shared.view(sums.shape)
    return padding & ~(sums > 0)


@check
def score_scale(subject: Subject) -> Verdict:
    """Check that queries and keys of variance 1 would give scores of
    variance 1: a product of D of them has variance D.

    Larger scores give all weight to one position, and the softmax next to no
    gradient. Vaswani et al. (2017), section 3.2.1, footnote 4.

    - Changes: nothing.
    - Looks at: what a product of queries and keys is multiplied by, before it
      or after it; D times its square should be 1.
    - Says: that factor and 1/√D. Unusual: queries or keys are as much smaller
      themselves, as T5's are at the start, scores are a sum of products, or
      the model's config gives another number.
    """
    scaled = [x for x in attentions(subject) if not of_one_length(x)]
    if not scaled:
        says = "Queries and keys have one length: their scale is learned."
        raise NotJudgedError(says)
    variances = torch.tensor([[variance_of_scores(x) for x in scaled]])
    wrong = [x for x in scaled if not 0.8 < variance_of_scores(x) < 1.25]
    if not wrong:
        says = "Queries and keys of variance 1 would give scores of variance 1"
        return True, f"{says}, in {how_many(scaled)}.", variances
    reasons = [
        otherwise_scaled(parts) or said_scale(subject.model, parts.scale)
        for parts in wrong
    ]
    most = sum(map(bool, reasons)) * 2 > len(wrong)
    i = [bool(x) for x in reasons].index(most)
    parts, size = wrong[i], wrong[i].q.matrix.shape[-1]
    says = (
        f"In {parts.path}, queries and keys of variance 1 would give scores "
        f"of variance {parts.scale**2 * size:.2f}: scores are the product "
        f"times {parts.scale:.2f}, where 1/√{size} is {size**-0.5:.2f}."
    )
    if most:
        return False, says + reasons[i], variances, UNUSUAL
    return False, says, variances


def variance_of_scores(parts: AttentionParts) -> float:
    """Give the variance of scores of queries and keys of variance 1."""
    return parts.scale**2 * parts.q.matrix.shape[-1]


def otherwise_scaled(parts: AttentionParts) -> str:
    """Say what makes up for a scale, if something does; or ""."""
    size, v = parts.q.matrix.shape[-1], parts.scale**2
    q, k = (x.matrix.square().mean().item() for x in (parts.q, parts.k))
    apart = max(q, k) / max(min(q, k), 1e-30)
    if 0.9 < v < 1.1 and size > 3 and size / 2 < apart < 2 * size:
        return " Here queries or keys are smaller by just that."
    if v * size > 1 and v * size * q * k < 0.1:
        return f" Here their variance is only {v * size * q * k:.1g}, though."
    if parts.biases and any(abs(n * v * size - 1) < 0.02 for n in (2, 3)):
        return " Here the scores are a sum, of which that is a part."
    return ""


def said_scale(model: Any, scale: float) -> str:
    """Say which number of a model's config gives its scale; or ""."""
    said = vars(getattr(model, "config", None) or object).items()
    numbers = {n: x for n, x in said if isinstance(x, int | float) and x > 0}
    for name in filter(re.compile("scal|multiplier").search, numbers):
        x = numbers[name]
        if min(abs(x / scale - 1), abs(x**-0.5 / scale - 1)) < 1e-3:
            return f" The config says so, by {name}={x}."
    return ""


def of_one_length(parts: AttentionParts) -> bool:
    """Whether queries have one length, and keys: cosine attention."""
    sizes = [x.matrix.norm(dim=-1).flatten() for x in (parts.q, parts.k)]
    alike = all(len(x) > 1 and x.std() < 1e-3 * x.mean() for x in sizes)
    usual = parts.q.matrix.shape[-1] ** 0.5
    return alike and all(abs(x.mean() / usual - 1) > 0.1 for x in sizes)
