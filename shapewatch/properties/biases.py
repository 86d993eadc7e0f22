"""Biases: what is added to the scores where positions enter in that way."""

import torch
from torch import Tensor

from shapewatch.properties.few import few_outputs
from shapewatch.properties.finding import BROKEN, UNUSUAL
from shapewatch.properties.mixing import Mixing, followed
from shapewatch.properties.subject import Subject
from shapewatch.properties.variants import same_word

LEAST = 5  # positions: of fewer, numbers may be in order by chance


def wrong_bias(subject: Subject) -> tuple[str, str, Tensor] | None:
    """Say what is wrong with what is added to the scores, of which level that
    is, and show the weights of one word at all positions."""
    alike = same_word(few_outputs(subject), 0)
    found = [x for x in followed(alike) if of_places(x)]
    for one in found:
        for x in filter(is_viewed, one.biases):
            says = (
                f"In {one.path}, what is added to the scores "
                f"{tuple(x.shape)} depends on the distance of positions if "
                "its numbers are taken as (T, T, H), and not as (H, T, T). A "
                "view moves no element: permute the axes."
            )
            return says, BROKEN, one.weights
    if says := scaled_late(found) or in_some_layers(subject, found):
        return says, UNUSUAL, found[0].weights
    if found and all(rises(one.weights) for one in found):
        says = (
            "With the same word everywhere, all heads hear a position the "
            "more the farther it is, as what is added to the scores has it. "
            "Look at its sign."
        )
        return says, UNUSUAL, found[0].weights
    return None


def scaled_late(found: list[Mixing]) -> str:
    """Say where what is added to the scores is scaled as well, or ""."""
    late = [x.path for x in found if not 0.8 < x.late < 1.25]
    if not late:
        return ""
    return (
        f"In {late[0]}, what is added to the scores is scaled with them, "
        "and so smaller than it is: add it after the scores are scaled."
    )


def in_some_layers(subject: Subject, found: list[Mixing]) -> str:
    """Say which attention has no positions where others have biases, or ""."""
    every = followed(same_word(subject, 0)) if subject.last == 0 else []
    bare = [x for x in every if not x.biases and is_placeless(x)]
    if not found or not bare:
        return ""
    return (
        f"In {bare[0].path}, an attention hears no position, though in "
        f"{found[0].path} positions are added to the scores. Are they handed "
        "to all layers?"
    )


def is_placeless(one: Mixing) -> bool:
    """Whether queries and keys of one word are alike at all positions."""
    t, s = one.weights.shape[-2:]
    pairs = ((x.matrix, x.matrix[..., :1, :]) for x in (one.q, one.k))
    return t == s and all(torch.allclose(x, y, 1e-3, 1e-5) for x, y in pairs)


def of_places(one: Mixing) -> bool:
    """Whether an attention is within one sequence, and something is added to
    its scores."""
    t, s = one.weights.shape[-2:]
    return bool(one.biases) and t == s >= LEAST


def is_viewed(x: Tensor) -> bool:
    """Whether a bias (..., H, T, T) depends on the distance alone, as soon as
    its numbers are read as (T, T, H)."""
    if x.ndim < 3 or x.shape[-1] != x.shape[-2] or x.shape[-3] < 2:
        return False
    heads, t, _ = x.shape[-3:]
    if x.shape[:-3].numel() != 1 or t < LEAST or by_distance(x):
        return False
    return by_distance(x.reshape(t, t, heads).permute(2, 0, 1))


def by_distance(x: Tensor) -> bool:
    """Whether numbers (..., T, T) depend on the distance alone."""
    return bool((x[..., 1:, 1:] == x[..., :-1, :-1]).all())


def rises(weights: Tensor) -> bool:
    """Whether in all heads weights (..., T, T) grow with the distance, to
    both sides, wherever they are not 0."""
    both = (weights[..., 1:] > 0) & (weights[..., :-1] > 0)
    steps, t = weights.diff(dim=-1), weights.shape[-1]
    before = both.tril(-1) & (both.sum(-1, keepdim=True) > 1)
    after = both.triu()
    heard = (before | after).flatten(-2).sum(-1)
    right = (~before | (steps < 0)) & (~after | (steps > 0))
    return bool(right.all() and (heard > t).all())
