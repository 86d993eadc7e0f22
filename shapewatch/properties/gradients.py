"""Gradients: which tensors the outputs depend on, and how much of each."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.outputs import FailedError, find_output
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    once,
    with_model,
)
from shapewatch.properties.versions import TrainingModel
from shapewatch.tracing.record.tensors import tensors


def largest_number(gradient: Tensor) -> float:
    """Measure a gradient by its largest number; 0 where it has none."""
    if not gradient.numel():
        return 0.0
    if gradient.is_complex() or gradient.layout is not torch.strided:
        return gradient.abs().max().item()
    return max(abs(x.item()) for x in gradient.aminmax())  # without a copy


@once
def parameter_gradients(subject: Subject) -> dict[Tensor, float]:
    """Find what the outputs depend on and could learn. What writes in place
    may have a gradient in training only."""
    try:
        ask = partial(output_gradients, subject.answer)
        return subject.call(ask, subject.given)
    except FailedError as error:
        if "use_reentrant" in str(error):  # of torch.utils.checkpoint
            raise NotJudgedError(str(error)) from error
        if not isinstance(subject.model, nn.Module):
            raise
        trained = with_model(subject, TrainingModel(subject.model))
        ask = partial(output_gradients, trained.answer)
        return subject.call(ask, subject.given)


def output_gradients(model: Callable, *inputs: Tensor) -> dict[Tensor, float]:
    """Draw gradients of random sums of all that a model gives. Each is
    measured as soon as it is there, and let go: all at once they are as large
    as the model."""
    with torch.enable_grad():
        result = model(*inputs)
    outputs = [x for x in outer_tensors(result) if x.grad_fn is not None]
    learning, sizes = leaves(outputs), dict[Tensor, float]()
    if not learning:
        return {}

    def measure(x: Tensor, gradient: Tensor) -> Tensor | None:
        sizes[x] = largest_number(gradient)
        plain = gradient.layout is torch.strided and not gradient.is_nested
        nothing = gradient.new_zeros(())
        return nothing.expand_as(gradient) if plain else None

    pulls = [torch.randn_like(x) for x in outputs]
    with ExitStack() as hooks:
        for x in learning:
            hooks.enter_context(x.register_hook(partial(measure, x)))
        torch.autograd.grad(outputs, learning, pulls, allow_unused=True)
    return {x: sizes[x] for x in learning if x in sizes and x.numel()}


def outer_tensors(result: Any) -> list[Tensor]:
    """List the tensors that a model gives, without what lies deeper beside
    others: a cache's keys and values are no outputs."""
    parts = result.values() if isinstance(result, Mapping) else result
    some = isinstance(result, Mapping | tuple | list)
    outer = [x for x in parts if isinstance(x, Tensor)] if some else []
    return outer or tensors(result) or [find_output(result)]


def leaves(outputs: list[Tensor]) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    nodes: dict[Any, None] = {}
    ahead: list[Any] = [x.grad_fn for x in outputs]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in nodes:
            nodes[node] = None
            ahead += [earlier for earlier, _ in node.next_functions]
    return [node.variable for node in nodes if hasattr(node, "variable")]
