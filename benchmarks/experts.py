"""Experts: how evenly a router shares the work out, and what makes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks.translators import (
    RECIPE,
    by_seed,
    figures,
    part,
    translator_of,
)
from tformer_lite import MixtureOfExperts, Trainer, tiny_translator
from tformer_lite.model.modes import evaluating
from tformer_lite.training.batches import loss_of

EXPERTS, ASKED = 4, 2  # in a layer, and by each position
# How much an uneven router costs: not at all, or as Fedus et al. (2022) say.
COSTS = 0.0, 0.01


@contextmanager
def overheard(model: nn.Module) -> Iterator[list[Tensor]]:
    """Collect what the routers of a model say: (B, T, expert) each."""
    said: list[Tensor] = []
    hooks = [
        layer.router.register_forward_hook(lambda *call: said.append(call[-1]))
        for layer in model.modules()
        if isinstance(layer, MixtureOfExperts)
    ]
    yield said
    for hook in hooks:
        hook.remove()


def shares(scores: Tensor) -> Tensor:
    """Part the work among experts as a router says: (B, T, E) -> (E)."""
    chosen = scores.topk(ASKED).indices.flatten()
    return torch.bincount(chosen, minlength=EXPERTS) / len(chosen)


def unevenness(scores: Tensor) -> Tensor:
    """1 where all experts have the same work, 2 where two have all of it.

    Fedus et al. (2022), equation 4, with two experts for each position.
    """
    wanted = scores.softmax(-1).flatten(0, -2).mean(0)
    return EXPERTS * (shares(scores) * wanted).sum()


class PricedTrainer(Trainer):
    """Trains a model that pays for uneven routers as well."""

    def __init__(self, model: nn.Module, recipe, cost: float):
        super().__init__(model, recipe)
        self.cost = cost

    def learn(self, batch: tuple, ignore: int) -> None:
        """Go one step downhill."""
        with overheard(self.model) as said:
            loss = loss_of(self.model, *batch, ignore_index=ignore)
        loss = loss + self.cost * sum(map(unevenness, said))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.recipe.rate(self.step)
        self.optimizer.step()
        self.loss = loss.item()
        self.recent.append(self.loss)


def work(model: nn.Module) -> list[list[float]]:
    """Part the work on the test among the experts of each layer."""
    (src, tgt), _ = part("test")[:]
    with evaluating(model), overheard(model) as said:
        model(src, tgt)
    return [[round(x, 4) for x in shares(s).tolist()] for s in said]


def priced(cost: float, seed: int) -> dict:
    """Train a translator with experts: its work, and how well it does."""
    config = replace(tiny_translator, feed_forward="mixture")
    kind = partial(PricedTrainer, cost=cost)
    recipe = replace(RECIPE, seed=seed)
    model = translator_of(config, recipe, kind=kind).model
    return {"work": work(model)} | figures(model)


def experts() -> dict:
    """Train with and without a price on uneven work."""
    return {f"{cost:g}": by_seed(partial(priced, cost)) for cost in COSTS}
