"""Gradients: which parameters one flows into, and how large it is."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.results import output
from shapewatch.properties.subject import FailedError, Subject
from shapewatch.properties.variants import InTraining
from shapewatch.tracing.record.tensors import tensors


def gradients(subject: Subject) -> dict[Tensor, float]:
    """Find what the outputs depend on and could learn, with the largest size
    of its gradient. What writes in place may have one in training only."""
    try:
        return subject.call(partial(learnt, subject.model), subject.given)
    except FailedError:
        if not isinstance(subject.model, nn.Module):
            raise
        training = InTraining(subject.model)
        return subject.call(partial(learnt, training), subject.given)


def largest(_: Tensor, g: Tensor) -> float:
    """Give the largest size of the numbers of a tensor's gradient."""
    if g.is_complex() or g.is_sparse:
        return g.abs().max().item()
    least, most = g.aminmax()
    return max(-least.item(), most.item())


def learnt(
    model: Callable,
    *inputs: Tensor,
    change: Callable = list,
    take: Callable[[Tensor, Tensor], Any] = largest,
) -> dict[Tensor, Any]:
    """Draw gradients of all that a model gives, and hand back their size, or
    what else is to be taken of a tensor and its gradient; with a change
    first, to what leads to the outputs."""
    with torch.enable_grad():
        result = model(*inputs)
    every = tensors(result) or [output(result)]
    made = [x for x in every if x.grad_fn is not None]
    change(made)
    found, pulls = leaves(made), [torch.randn_like(x) for x in made]
    return pulled(made, pulls, found, take)


def pulled(
    outputs: list[Tensor],
    pulls: list[Any],
    found: list[Tensor],
    take: Callable[[Tensor, Tensor], Any],
) -> dict[Tensor, Any]:
    """Draw gradients of some outputs, and take of each that is found what
    matters, as soon as it is there: all of them at once are as large as the
    model, and to have so much memory made takes longer than the sums."""
    known: dict[Tensor, Any] = {}
    if not found or not any(x.requires_grad for x in outputs):
        return known

    def hear(x: Tensor, g: Tensor) -> Tensor | None:
        known[x] = take(x, g)
        plain = g.layout is torch.strided and not g.is_nested
        return g.new_zeros(()).expand_as(g) if plain else None  # it may go

    with ExitStack() as hooks:
        for x in found:
            if x.requires_grad:
                hooks.enter_context(x.register_hook(partial(hear, x)))
        grads = torch.autograd.grad(outputs, found, pulls, allow_unused=True)
    for x, g in zip(found, grads):
        if g is not None and x not in known:
            known[x] = take(x, g)
    return {x: known[x] for x in found if x in known}


def leaves(outputs: list[Tensor]) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    found = nodes(outputs)
    return [node.variable for node in found if hasattr(node, "variable")]


def nodes(outputs: list[Tensor]) -> list[Any]:
    """List the steps back from the outputs, each once."""
    seen: dict[Any, None] = {}
    ahead: list[Any] = [x.grad_fn for x in outputs]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in seen:
            seen[node] = None
            ahead += [earlier for earlier, _ in node.next_functions]
    return [*seen]
