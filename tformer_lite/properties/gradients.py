"""Gradients: which parameters one flows into, and how large it is."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.properties.results import output
from tformer_lite.properties.subject import FailedError, Subject
from tformer_lite.properties.variants import InTraining
from tformer_lite.tracing.record.tensors import tensors


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


def largest(x: Tensor) -> float:
    """Give the largest size of a tensor's numbers."""
    if x.is_complex() or x.is_sparse:
        return x.abs().max().item()
    least, most = x.aminmax()
    return max(-least.item(), most.item())


def learnt(
    model: Callable,
    *inputs: Tensor,
    change: Callable = list,
    size: Callable[[Tensor], Any] = largest,
) -> dict[Tensor, Any]:
    """Draw gradients of all that a model gives, and hand back their size;
    with a change first, to what leads to the outputs."""
    with torch.enable_grad():
        result = model(*inputs)
    every = tensors(result) or [output(result)]
    made = [x for x in every if x.grad_fn is not None]
    change(made)
    found, pulls = leaves(made), [torch.randn_like(x) for x in made]
    grad = partial(torch.autograd.grad, made, found, pulls, allow_unused=True)
    pairs = zip(found, grad() if found else ())
    return {x: size(g) for x, g in pairs if g is not None}


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
