"""Small trainings: a model, data with a short last batch, few steps."""

import os
from dataclasses import replace
from signal import SIGINT

import torch
from torch import Tensor

from tests.helpers.small import small
from tformer_lite import DecoderOnly, Recipe, Trainer, Windows

ROWS, BATCH = 22, 8  # an epoch has batches of 8, 8 and 6
RECIPE = Recipe(steps=8, batch_size=BATCH, lr=0.01, warmup=2, every=3, seed=5)


def writer(seed: int = 0, **changes) -> DecoderOnly:
    """A small model with dropout."""
    torch.manual_seed(seed)
    return DecoderOnly(small("char_lm", **({"dropout": 0.2} | changes)))


def text(rows: int = ROWS, seed: int = 1, size: int = 8) -> Windows:
    """Windows of random ids."""
    generator = torch.Generator().manual_seed(seed)
    return Windows(torch.randint(11, (rows + size,), generator=generator), 8)


class Cut:
    """The text, or other data, with a signal, which is that of Ctrl-C, sent
    while a batch of it is fetched."""

    def __init__(self, fetch: int, times: int = 1, data=None, by=SIGINT):
        self.data = text() if data is None else data
        self.left, self.times, self.by = fetch, times, by
        self.ignore = self.data.ignore

    def __len__(self):
        return len(self.data)

    def __getitem__(self, rows):
        self.left -= 1
        if self.left == 0:
            for _ in range(self.times):
                os.kill(os.getpid(), self.by)
        return self.data[rows]


def trainer(seed: int = 0, **changes) -> Trainer:
    """A small training that has not begun."""
    return Trainer(writer(seed), replace(RECIPE, **changes))


def flat(value) -> list[Tensor]:
    """The tensors and numbers in nested dictionaries and lists, in order."""
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, Tensor | float | int):
        return [torch.as_tensor(value)]
    if value is None or isinstance(value, str):
        return []
    return [tensor for part in value for tensor in flat(part)]


def everything(one: Trainer) -> list[Tensor]:
    """The state of a training: weights, optimizer, losses, dropout."""
    return flat(
        [
            one.model.state_dict(),
            one.best.state_dict(),
            one.optimizer.state_dict()["state"],
            one.train_losses,
            one.val_losses,
            one.recent,
            one.step,
            one.random,
        ]
    )


def equal(one: Trainer, other: Trainer) -> bool:
    """Whether two trainings are the same to the last bit."""
    mine, theirs = everything(one), everything(other)
    return len(mine) == len(theirs) and all(map(torch.equal, mine, theirs))
