"""The data in batches, and the loss of a batch."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol, cast

import torch
from torch import Tensor, distributed, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import BatchSampler, Dataset, DistributedSampler

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
        count = min(most, len(data))
        self.rows = (2 * torch.arange(count) + 1) * len(data) // (2 * count)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, rows: list[int]) -> LabelledIds:
        return self.data[self.rows[rows].tolist()]


def rows_to_validate(recipe: Recipe) -> int:
    """Say how many rows a note's validation may look at: an eighth of those
    learned from since the last note, or 256, which are soon done."""
    return max(recipe.every * recipe.batch_size // 8, 256)


def batches(data: Data, recipe: Recipe, done: int = 0) -> Iterator[tuple]:
    """Yield batches without end, shuffled anew each time the data is through.

    The first `done` are left out: they were learned from before. Each of
    several processes gets rows of its own.
    """
    rows_of = cast(Dataset, data)  # it is asked for its length alone
    sampler: DistributedSampler[int] = DistributedSampler(
        rows_of, *processes(), seed=recipe.seed
    )
    rows = BatchSampler(sampler, recipe.batch_size, drop_last=False)
    epoch, skip = divmod(done, len(rows))
    while True:
        sampler.set_epoch(epoch)
        yield from map(data.__getitem__, islice(rows, skip, None))
        epoch, skip = epoch + 1, 0


def processes() -> tuple[int, int]:
    """Say how many processes train together, and which of them this is."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size(), distributed.get_rank()
    return 1, 0


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
    total, count = 0.0, 0
    with evaluating(model):
        for rows in torch.arange(len(data)).split(batch_size):
            inputs, labels = data[rows.tolist()]
            total += loss_of(model, inputs, labels, **options).item()
            count += int((labels != data.ignore).sum())
    return total / count


def labels_in(data: Data) -> int:
    """Count the labels of the data that a loss averages over."""
    rows = torch.arange(len(data)).split(4096)
    labels = (data[some.tolist()][1] for some in rows)
    return sum(int((some != data.ignore).sum()) for some in labels)
