"""The data in batches, and the loss of a batch."""

from collections.abc import Iterator
from itertools import count
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import LabelledIds, Tensors
from tformer_lite.training.recipe import Recipe


class Data(Protocol):
    """What can be learned from: `Pairs`, `Windows`, and what is like them.

    data[rows] is a batch, and `ignore` the label that does not count.
    """

    ignore: int

    def __len__(self) -> int: ...

    def __getitem__(self, rows: list[int]) -> LabelledIds: ...


class Sample:
    """Rows of the data, evenly spread: `most` of them, or all if fewer."""

    def __init__(self, data: Data, most: int):
        self.data, self.ignore = data, data.ignore
        size = min(most, len(data))
        self.rows = (2 * torch.arange(size) + 1) * len(data) // (2 * size)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: list[int]) -> LabelledIds:
        return self.data[self.rows[rows].tolist()]


def batches(data: Data, recipe: Recipe) -> Iterator[LabelledIds]:
    """Yield batches without end, shuffled anew each time the data is through;
    the recipe's seed alone decides the order."""
    for epoch in count():
        numbers = torch.Generator().manual_seed(recipe.seed + epoch)
        order = torch.randperm(len(data), generator=numbers)
        for rows in order.split(recipe.batch_size):
            yield data[rows.tolist()]


def loss_of(
    model: nn.Module, inputs: Tensors, labels: Tensor, /, **options: Any
) -> Tensor:
    """Compare guesses from inputs with labels: (B, T), (B, T) -> ().

    Cross-entropy in nats; `options` are those of cross_entropy, such as
    `ignore_index`, the label that does not count.
    """
    device = next(model.parameters()).device
    logits = model(*(ids.to(device) for ids in inputs)).flatten(0, 1)
    wanted = labels.to(device, torch.long).flatten()
    return cross_entropy(logits, wanted, **options)


def mean_loss(model: nn.Module, data: Data, batch_size: int = 64) -> float:
    """Average the loss over all labels of the data, in nats."""
    options = {"ignore_index": data.ignore, "reduction": "sum"}
    total, labels_seen = 0.0, 0
    with evaluating(model):
        for rows in torch.arange(len(data)).split(batch_size):
            inputs, labels = data[rows.tolist()]
            total += loss_of(model, inputs, labels, **options).item()
            labels_seen += int((labels != data.ignore).sum())
    return total / labels_seen
