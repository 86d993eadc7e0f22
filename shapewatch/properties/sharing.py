"""Sharing: parameters that learn as one where two are meant, and parts of a
matrix that learn nothing."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from shapewatch.properties.finding import UNUSUAL
from shapewatch.properties.heads import drawn
from shapewatch.properties.subject import FailedError, Subject
from shapewatch.properties.variants import reweighted

PARTS = 2, 3, 4  # of a matrix that makes several things at once


def learnt_as_one(subject: Subject) -> tuple[str, str] | None:
    """Say what learns as one, or which part of a matrix learns nothing, and
    of which level that is."""
    model = subject.model
    if not isinstance(model, nn.Module):
        return None
    for path, one, other in named_twice(model):
        says = (
            f"In {path or 'the model'}, {one} and {other} are one module: "
            "they learn as one. Is that meant?"
        )
        return says, UNUSUAL
    for name in constant(model):
        says = f"All numbers of {name} are the same: what it makes learns "
        return f"{says}as one. Draw them at random.", UNUSUAL
    dead = unread(subject)
    for seed in range(2 if dead else 0):
        dead = {*dead} & {*unread(reweighted(subject, seed))}
    for name, part, count in sorted(dead):
        says = f"Part {part} of {count} of what {name} makes gets no gradient"
        return f"{says}, and the others do. Is it read anywhere?", UNUSUAL
    return None


def named_twice(model: nn.Module) -> Iterator[tuple[str, str, str]]:
    """Find modules that a module has under two names."""
    for path, part in model.named_modules():
        seen: dict[int, str] = {}
        for name, child in part._modules.items():
            if child is None or not any(True for _ in child.parameters()):
                continue
            if id(child) in seen:
                yield path, seen[id(child)], name
            seen[id(child)] = name


def constant(model: nn.Module) -> Iterator[str]:
    """Name matrices of layers of which all numbers are one, but 0."""
    for path, part in model.named_modules():
        weight = getattr(part, "weight", None)
        layer = isinstance(part, (nn.Linear, nn.Embedding))
        if layer and isinstance(weight, Tensor) and min(weight.shape) > 1:
            first = weight.detach().flatten()[0]
            if first != 0 and (weight == first).all():
                yield f"{path}.weight"


def unread(subject: Subject) -> set[tuple[str, int, int]]:
    """Name the matrices (N D, C) of which one of a few equal parts has no
    gradient, and each row of the others has one."""
    model: Any = subject.model
    try:
        rows = drawn(subject).rows
    except FailedError:
        return set()
    return {
        (f"{path}.weight", part, count)
        for path, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and layer.weight in rows
        for count in PARTS
        for part in silent(rows[layer.weight], count)
    }


def silent(rows: Tensor, count: int) -> list[int]:
    """List the parts of which no row is alive, if all others are."""
    if len(rows) % count or len(rows) < 4 * count:
        return []
    parts = rows.view(count, -1)
    dead = (~parts.any(1)).nonzero()[:, 0].tolist()
    return dead if dead and parts.all(1).sum() + len(dead) == count else []
