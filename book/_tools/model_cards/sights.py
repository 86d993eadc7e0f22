"""What each layer of a model lets a position see, measured on a small copy:
which rows of its input change which rows of its result."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from model_cards.layers import layer_steps
from shapewatch.tracing.axes.sizes import (
    Dims,
    Sizes,
    plain_sizes,
    run_sizes,
)
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.traced import Trace

WORDS = 8  # that a small copy reads
MOST = 10**9  # of the sizes of such a copy, multiplied
TRIES = 3
LEAST = 1e-5  # of a change, next to the largest number


@dataclass(frozen=True)
class Sight:
    """What a layer lets each row see: `sees` is true where row i of its
    result depends on row j of what it reads. `ordered` is one in which it
    matters in which order those before the last row stand."""

    attends: bool
    sees: Tensor
    ordered: bool

    @property
    def kind(self) -> str:
        """Name the kind of a layer by what it does."""
        count = int(self.sees[-1].sum())
        if count == 1:
            return "alone"
        near = count < WORDS
        if self.attends:
            return "near" if near else "attention"
        return "convolution" if near else "recurrent"

    @property
    def in_blocks(self) -> bool:
        """Whether a row sees its block, of which it may be the first."""
        return not bool(self.sees.diagonal(-1).all())


def is_attention(step: Step, sizes: Sizes) -> bool:
    """Whether a step makes the weights of an attention: a row a word."""
    shape = step.makes[0].shape
    words = shape[-2:-1] and shape[-2] in (sizes.get("T"), sizes.get("S"))
    softmax = "softmax" in step.name and len(shape) > 3 and words
    return softmax or step.name == "scaled_dot_product_attention"


def attends(steps: Iterable[Step], sizes: Sizes) -> bool:
    """Whether there is an attention among some steps."""
    return any(is_attention(step, sizes) for step in steps)


def sights(record: Trace, plan: Any) -> list[Sight]:
    """Measure what each layer sees in a copy of random weights, at the first
    sizes at which that can be built: small ones, or those of a probe."""
    runs = sorted((x.sizes for x in record._calls.runs), key=weight)
    given = record._calls.given
    small = [run_sizes(given | small_sizes(given, size)) for size in (4, 8)]
    for sizes in [*small, *(x for x in runs if weight(x) < MOST)]:
        words = dict.fromkeys({"T", "S"} & sizes.keys(), WORDS)
        with suppress(Exception):  # sizes may not fit each other
            model, inputs = plan.small(sizes | words | {"B": WORDS + 2})
            return layer_sights(record, model, inputs)
    return []


def small_sizes(dims: Dims, size: int) -> Sizes:
    """Let all be of one size, but channels, which heads may have to divide."""
    sizes = dict.fromkeys(plain_sizes(dims), size)
    return sizes | ({"C": size**3} if "C" in sizes else {})


def weight(sizes: Sizes) -> int:
    """How large a model of some sizes may be."""
    return prod(max(sizes.get(n, 1), 1) for n in ("C", "F", "H", "D"))


def layer_sights(
    record: Trace, model: nn.Module, inputs: tuple
) -> list[Sight]:
    """Run each layer by itself, with what it reads in a run; weights are
    such that no state decays too fast to be seen."""
    steps, own = layer_steps(record), record._calls.run.sizes
    layers = {x: model.get_submodule(x) for x in steps if x}
    torch.manual_seed(0)
    for learned in model.parameters():
        if learned.dim() > 1:
            learned.normal_(0, learned.shape[-1] ** -0.5)
        else:
            learned.fill_(-0.5)
    given = dict[str, tuple]()
    for path, layer in layers.items():
        layer.register_forward_pre_hook(
            lambda _, *read, path=path: given.update({path: read}),
            with_kwargs=True,
        )
    model(*inputs)
    return [
        Sight(attends(steps[path], own), *seen(layer, *given[path]))
        for path, layer in layers.items()
    ]


def seen(layer: nn.Module, inputs: tuple, options: dict) -> tuple:
    """Run a layer with equal sentences, but that in each another row is
    changed, and in the last the order of all but its last row: which rows
    of what it makes are others?"""
    x, *more = inputs or (options.pop("hidden_states"),)
    rows, several = torch.arange(WORDS), list[Tensor]()
    for _ in range(TRIES):  # a softmax may be too sure of one row to see more
        x = torch.randn_like(x[:1]).repeat(WORDS + 2, *[1] * (x.dim() - 1))
        x[rows, rows] = torch.randn_like(x[rows, rows])
        x[-1, :-1] = x[-2, :-1].flip(0)
        made = layer.forward(x, *more, **options)
        y = (made[0] if isinstance(made, tuple) else made).flatten(2)
        several.append((y - y[-2]).abs().amax(-1) > LEAST * y.abs().max())
    changed = torch.stack(several).any(0)
    return changed[:WORDS].mT, bool(changed[-1, -1])
