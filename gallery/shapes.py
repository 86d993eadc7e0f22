"""The shapes on the way through a model, to lay two models side by side."""

from collections import Counter

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from shapewatch.tracing import trace
from shapewatch.tracing.lines import names_of
from tformer_lite.example.running import running_example
from tformer_lite.model.modes import evaluating

Shapes = dict[str, tuple[int, ...]]
ATTENTION_NAMES = "q", "k", "v", "scores", "weights", "heads"


def example_shapes(model: nn.Module) -> Shapes:
    """Measure the shapes of what a model makes of the running example.

    They are what each module gives, by its path, and each attention's q, k,
    v, scores, weights and heads, by "path:variable". The second of a name
    ends in #2.
    """
    found: Shapes = {}
    times: Counter[str] = Counter()
    paths = {module: path for path, module in model.named_modules()}

    def keep_shape(name: str, shape: torch.Size) -> None:
        times[name] += 1
        found[f"{name}#{times[name]}".removesuffix("#1")] = tuple(shape)

    def keep_given(module: nn.Module, given: object, x: Tensor) -> None:
        if module in paths:  # not one that the bug makes on the way
            keep_shape(paths[module], x.shape)

    with evaluating(model), register_module_forward_hook(keep_given):
        seen = trace(model, *running_example()[:2])
    for step in seen.steps:
        _, name = names_of(step)
        if name.rpartition(":")[2] in ATTENTION_NAMES:
            for mark in step.makes:
                keep_shape(name, mark.shape)
    return found


def changed_shapes(mine: Shapes, right: Shapes) -> list[str]:
    """Name what has another shape than in the right model, where both have
    it."""
    return [x for x in right if mine.get(x, right[x]) != right[x]]
