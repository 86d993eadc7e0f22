"""Small trainings: a model, data with a short last batch, few steps."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

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


class Watched:
    """Data that says which rows are fetched, before they are."""

    def __init__(self, data: Windows, say: Callable[[list[int]], None]):
        self.data, self.say, self.ignore = data, say, data.ignore

    def __len__(self):
        return len(self.data)

    def __getitem__(self, rows):
        self.say(rows)
        return self.data[rows]


def cut(fetch: int, data: Windows | None = None) -> Watched:
    """The text with Ctrl-C, typed while a batch of it is fetched."""
    batches = count(1)

    def say(rows: list[int]) -> None:
        if next(batches) == fetch:
            raise KeyboardInterrupt

    return Watched(data or text(), say)


def trainer(seed: int = 0, **changes) -> Trainer:
    """A small training that has not begun."""
    return Trainer(writer(seed), replace(RECIPE, **changes))


def state(run: Trainer) -> list[Tensor]:
    """The state of a training: weights, optimizer, losses."""
    moments = run.optimizer.state_dict()["state"].values()
    return [
        *run.model.state_dict().values(),
        *run.best.state_dict().values(),
        *(x for weight in moments for x in weight.values()),
        torch.tensor([run.step, *run.train_losses, *run.val_losses]).double(),
    ]


def equal(run: Trainer, other: Trainer) -> bool:
    """Whether two trainings are the same to the last bit."""
    mine, theirs = state(run), state(other)
    return len(mine) == len(theirs) and all(map(torch.equal, mine, theirs))
