"""Experts: how evenly a router shares the work out, and what makes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks.translators import FIVE, RECIPE, figures, new_model, part
from tformer_lite import (
    EncoderDecoder,
    MixtureOfExperts,
    Trainer,
    tiny_translator,
)
from tformer_lite.model.modes import evaluating
from tformer_lite.training.batches import batches, loss_of
from tformer_lite.training.trainer import set_rate

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


def balanced(model: EncoderDecoder, seed: int, cost: float) -> None:
    """Train a translator that pays for uneven routers as well."""
    recipe, data = replace(RECIPE, seed=seed), part("train")
    optimizer = Trainer(model, recipe).optimizer
    with overheard(model.train()) as said:
        for step, batch in zip(
            range(1, recipe.steps + 1), batches(data, recipe)
        ):
            said.clear()
            loss = loss_of(model, *batch, ignore_index=data.ignore)
            loss = loss + cost * sum(map(unevenness, said))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
            set_rate(optimizer, recipe.rate(step))
            optimizer.step()
    model.eval()


def work(model: EncoderDecoder) -> list[list[float]]:
    """Part the work on the test among the experts of each layer."""
    (src, tgt), _ = part("test")[:]
    with evaluating(model), overheard(model) as said:
        model(src, tgt)
    return [[round(x, 4) for x in shares(s).tolist()] for s in said]


def experts() -> dict:
    """Train translators with experts, with and without a price on uneven
    work, from five seeds."""
    config = replace(tiny_translator, feed_forward="mixture")
    found: dict[str, dict] = {}
    for cost in COSTS:
        found[f"{cost:g}"] = {}
        for seed in FIVE:
            model = new_model(config, seed)
            balanced(model, seed, cost)
            result = {"work": work(model)} | figures(model)
            print(f"  cost {cost}:", result, flush=True)
            found[f"{cost:g}"][str(seed)] = result
    return found
