"""Experts: how evenly a router shares the work out, and what makes it."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from benchmarks import translators
from tformer_lite import MixtureOfExperts, Recipe, Trainer, tiny_translator
from tformer_lite.model.modes import evaluating

EXPERTS, ASKED = 4, 2  # in a layer, and by each position
OFTEN, MOST = 10, 5  # a word in the test; words of an expert
# How much an uneven router costs: not at all, or as Fedus et al. (2022) say.
COSTS = 0.0, 0.01


def routers(model: nn.Module) -> list[nn.Module]:
    """Find the router of each layer of experts."""
    layers = model.modules()
    return [x.router for x in layers if isinstance(x, MixtureOfExperts)]


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


def pay(cost: float, _router: nn.Module, _given: tuple, said: Tensor) -> None:
    """Add the price's gradient to that of what a router says."""
    if said.requires_grad:
        price = cost * unevenness(said)
        (slope,) = torch.autograd.grad(price, said, retain_graph=True)
        said.register_hook(lambda gradient: gradient + slope)


class PricedTrainer(Trainer):
    """Trains a model that pays for uneven routers as well."""

    def __init__(self, model: nn.Module, recipe: Recipe, cost: float):
        super().__init__(model, recipe)
        for router in routers(model):
            router.register_forward_hook(partial(pay, cost))


def heard(model: nn.Module) -> tuple[Tensor, list[Tensor]]:
    """Run the test: the Nepali ids, and what the router of each layer says."""
    (src, tgt), _ = translators.part("test")[:]
    said: list[Tensor] = []
    for router in routers(model):
        router.register_forward_hook(lambda *call: said.append(call[-1]))
    with evaluating(model):
        model(src, tgt)
    return tgt, said


def trained(cost: float, seed: int) -> nn.Module:
    """Train a translator with experts."""
    config = replace(tiny_translator, feed_forward="mixture")
    kind = partial(PricedTrainer, cost=cost)
    recipe = replace(translators.RECIPE, seed=seed)
    return translators.translator_of(config, recipe, kind=kind).model


def priced(cost: float, seed: int) -> dict:
    """Train one: its work in each layer, and how well it does."""
    model = trained(cost, seed)
    work = [[round(x, 4) for x in shares(s).tolist()] for s in heard(model)[1]]
    return {"work": work} | translators.figures(model)


def experts() -> dict:
    """Train with and without a price on uneven work."""
    kinds = {f"{cost:g}": partial(priced, cost) for cost in COSTS}
    return {name: translators.by_seed(kind) for name, kind in kinds.items()}


def experts_at_work() -> list[list]:
    """Train one with the price, and list the words that go most to each of
    the decoder's experts, of those that are frequent: what each has."""
    ids, (_, said) = heard(trained(COSTS[1], seed=1))
    best, chosen = said.topk(ASKED)
    parts = torch.zeros(said.shape).scatter(-1, chosen, best.softmax(-1))
    often = [i for i in ids.unique().tolist()[2:] if (ids == i).sum() >= OFTEN]
    means = torch.stack([parts[ids == i].mean(0) for i in often])
    most = means.mT.topk(MOST).indices.flatten().tolist()
    names = [translators.TOKENIZERS[1].words[often[i]] for i in most]
    rounded = [[round(x, 4) for x in means[i].tolist()] for i in most]
    return [*map(list, zip(names, rounded))]
