"""Leave a part out, and see which task needs it.

Everything is trained from five seeds, with the part and without it. A share
is that of the answers that are right in every token, from 0 to 1.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from pictures.clinic import SILENT
from torch import Tensor, nn

from benchmarks.reasons import (
    READER,
    READING,
    Asked,
    Lookups,
    last_alone,
    share_answered,
)
from benchmarks.translators import (
    RECIPE,
    TESTED,
    Build,
    Results,
    by_seed,
    curves_of,
    learner,
    part,
    rows_by_kind,
    write,
)
from gallery import bug, planted
from tformer_lite import (
    Config,
    DecoderOnly,
    EncoderDecoder,
    Recipe,
    Trainer,
    tiny_translator,
)
from tformer_lite.model.models import Block, CrossBlock, Head
from tformer_lite.model.modes import evaluating
from tformer_lite.text.tokenizers import UNK


class Nothing(nn.Module):
    """In place of a sublayer, built and called as one: it adds nothing."""

    def __init__(self, *_: object, **__: object):
        super().__init__()

    def forward(self, x: Tensor, *_: object, **__: object) -> Tensor:
        """Give zeros: (B, T, C) -> (B, T, C)."""
        return torch.zeros_like(x)


class SumlessBlock(Block):
    """A block without residual sums: x is what the last sublayer made."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply both sublayers: (B, T, C) -> (B, T, C)."""
        first, second = self.norms
        x = self.self_attention(first(x), mask=mask)
        return self.feed_forward(second(x))


class SumlessCrossBlock(CrossBlock):
    """A decoder's block without residual sums."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Apply the three sublayers: (B, T, C), (B, S, C) -> (B, T, C)."""
        first, second, third = self.norms
        x = self.self_attention(first(x), mask=mask)
        x = self.cross_attention(second(x), memory, memory_mask)
        return self.feed_forward(third(x))


def inattentive(
    block: Callable[[Config], nn.Module], config: Config
) -> nn.Module:
    """Build a block that has no self-attention."""
    cross = config.cross_attention or config.attention
    return block(replace(config, attention=Nothing, cross_attention=cross))


def all_seen(t: int, device: torch.device | None = None) -> Tensor:
    """Hide nothing, not even the future: (1, 1, T, T)."""
    return torch.ones(1, 1, t, t, dtype=torch.bool, device=device)


ALONE = partial(inattentive, Block), partial(inattentive, CrossBlock)
# What a config says when a part is left out, in training and afterwards. A
# translation grows: while it is written there is no future to be seen. No
# sentence has an [UNK]: as padding it hides nothing.
LEFT_OUT: dict[str, dict[str, Any]] = {
    "nothing": {},
    "positions": {"positions": "none"},
    "encoder self-attention": {"residual": (ALONE[0], CrossBlock)},
    "decoder self-attention": {"residual": (Block, ALONE[1])},
    "cross-attention": {"cross_attention": Nothing},
    "feed-forward": {"feed_forward": Nothing},
    "feed-forward and encoder self-attention": {
        "feed_forward": Nothing,
        "residual": (ALONE[0], CrossBlock),
    },
    "all but one cross-attention head": {
        "feed_forward": Nothing,
        "residual": ALONE,
        "n_heads": 1,
    },
    "residual sums": {"residual": (SumlessBlock, SumlessCrossBlock)},
    "norms": {"norm": nn.Identity},
    "several heads": {"n_heads": 1},
    "causal mask": {"mask": all_seen},
    "padding mask": {"pad": UNK},
    "second block": {"n_layers": 1},
}
OF_TRANSLATOR = [name for name in LEFT_OUT if name != "second block"]
OF_BLOCK = (
    "nothing",
    "positions",
    "feed-forward",
    "several heads",
    "residual sums",
    "norms",
)
# How many mistakes of each kind of sentences are kept.
KINDS = {"roles": 10, "old": 5}


def translators(build: Build, recipe: Recipe) -> Results:
    """Train on the corpus from five seeds: the share of test sentences that
    is right, by kind and seed, and the first mistakes of the first: English,
    the right Nepali, the written one."""

    def texts(seed: int) -> list[str]:
        trainer = learner(build, replace(recipe, seed=seed), part("train"))
        return write(trainer.model, part("test").src)

    written, shares, mistakes = by_seed(texts), {}, {}
    for kind, rows in rows_by_kind().items():
        wrong = {
            seed: [(*TESTED[i], x[i]) for i in rows if x[i] != TESTED[i][1]]
            for seed, x in written.items()
        }
        shares[kind] = {
            seed: round(1 - len(x) / len(rows), 4) for seed, x in wrong.items()
        }
        mistakes[kind] = next(iter(wrong.values()))[: KINDS[kind]]
    return {"shares": shares, "mistakes": mistakes}


class Digits(Asked):
    """Six digits; asked of the last: the second less the fifth, modulo 10."""

    def __init__(self, count: int, seed: int):
        draw = torch.Generator().manual_seed(seed)
        x = torch.randint(10, (count, 6), generator=draw)
        super().__init__(x, last_alone(x, (x[:, 1:2] - x[:, 4:5]) % 10))


NUMBERS, NEAR, COUNTED = 64, 32, 12


class Extremes(Asked):
    """Twelve different numbers below 64, out of 32 neighbours, and an id that
    asks; y is the smallest of them and the largest, (N, 2)."""

    def __init__(self, count: int, seed: int):
        draw = torch.Generator().manual_seed(seed)
        least = torch.randint(NUMBERS - NEAR + 1, (count, 1), generator=draw)
        order = torch.rand(count, NEAR, generator=draw).argsort(1)
        numbers = least + order[:, :COUNTED]
        x = torch.cat((numbers, torch.full_like(least, NUMBERS)), 1)
        super().__init__(x, torch.stack((*numbers.aminmax(dim=1),), 1))


class NamesTwo(DecoderOnly):
    """The last position names two numbers, by two output layers."""

    def __init__(self, config: Config):
        super().__init__(config)
        self.head = Head(config.d_model, 2 * NUMBERS, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Score each number as either of the two: (B, T) -> (B, 2, V)."""
        return super().forward(ids)[:, -1].unflatten(-1, (2, NUMBERS))


class Task(NamedTuple):
    """What one decoder learns: rows from a count and a seed, each of them
    seen once, and the parts that are left out of it."""

    config: Config
    recipe: Recipe
    rows: Callable[[int, int], Asked]
    parts: tuple[str, ...] = OF_BLOCK
    model: Callable[[Config], nn.Module] = DecoderOnly

    def models(self, name: str = "nothing") -> dict[str, nn.Module]:
        """Train from five seeds, without a part: models by their seeds."""
        build = partial(self.model, replace(self.config, **LEFT_OUT[name]))
        data = self.rows(self.recipe.steps * self.recipe.batch_size, 0)
        return by_seed(
            lambda seed: (
                learner(build, replace(self.recipe, seed=seed), data).model
            )
        )

    def others(self) -> Asked:
        """Make rows that were not learned from."""
        return self.rows(1_000, 1)

    def shares(self, models: dict[str, nn.Module]) -> dict[str, float]:
        """The share of others that each model has right."""
        others = self.others()
        return {
            s: share_answered(model, others) for s, model in models.items()
        }


TASKS = {
    "look-up": Task(
        replace(READER, n_layers=2, max_len=9),
        replace(READING, lr=5e-3),
        partial(Lookups, listed=8),
        (*OF_BLOCK, "causal mask", "second block"),
    ),
    "digits": Task(
        replace(READER, vocab_size=10, max_len=6, n_heads=2),
        replace(READING, steps=2000),
        Digits,
    ),
    "extremes": Task(
        replace(
            READER,
            vocab_size=NUMBERS + 1,
            max_len=COUNTED + 1,
            d_model=16,
            n_heads=2,
        ),
        replace(READING, lr=6e-3, steps=2500),
        Extremes,
        model=NamesTwo,
    ),
}


def scored(model: Any, ids: Tensor) -> Tensor:
    """How well each number answers each head of the last position:
    (B, T) -> (H, B, T - 1)."""
    block = model.decoder.blocks[0]
    with evaluating(model):
        x = block.norms[0](model.embedding(ids))
        q, k, _ = block.self_attention.project(x)
        scores = q[:, :, -1:] @ k[:, :, :-1].mT / math.sqrt(q.shape[-1])
    return scores[:, :, 0].transpose(0, 1)


def ranks(x: Tensor) -> Tensor:
    """Rank numbers, equal ones alike: (N) -> (N)."""
    _, place, counts = x.unique(return_inverse=True, return_counts=True)
    return (counts.cumsum(0) - counts / 2)[place]


def slopes(model: nn.Module, ids: Tensor) -> list[float]:
    """Correlate the ranks of each head's scores with those of the numbers."""
    numbers = ranks(ids[:, :-1].flatten())
    heads = (ranks(head.flatten()) for head in scored(model, ids))
    pairs = (torch.stack((head, numbers)) for head in heads)
    return [round(pair.corrcoef()[0, 1].item(), 2) for pair in pairs]


def mean_scores(model: nn.Module, ids: Tensor) -> list[list[float]]:
    """Average each head's scores of each number."""
    return [
        [
            round(head[ids[:, :-1] == n].mean().item(), 2)
            for n in range(NUMBERS)
        ]
        for head in scored(model, ids)
    ]


def heads_of(models: dict[str, nn.Module], ids: Tensor) -> dict:
    """What the heads of trained models score, and in whose favour."""
    return {
        "slopes": {seed: slopes(model, ids) for seed, model in models.items()},
        "mean scores": mean_scores(next(iter(models.values())), ids),
    }


def validated(build: Build, seed: int) -> Trainer:
    """Train on the corpus, and validate on the way."""
    recipe = replace(RECIPE, seed=seed, every=50)
    return learner(build, recipe, part("train"), part("valid"))


def with_line(file: str, right: str, wrong: str) -> Build:
    """Give what builds a new translator with one line of its code changed."""
    models = planted(file, right, wrong).models
    return partial(models.EncoderDecoder, tiny_translator)


def blind() -> Results:
    """Train decoders that see the source, that see nothing in its place, and
    that see their own words there: what do they pay?"""
    deaf = replace(tiny_translator, cross_attention=Nothing)
    own = bug("source_never_read")
    ways = {
        "right": partial(EncoderDecoder, tiny_translator),
        "no cross-attention": partial(EncoderDecoder, deaf),
        "own words": with_line(own.file, own.right, own.wrong),
    }
    return {
        name: by_seed(lambda seed, b=build: curves_of(validated(b, seed)))
        for name, build in ways.items()
    }


def score_of_faulty(build: Build, seed: int) -> Results:
    """Train, and say its loss and how many test sentences are right."""
    trainer = validated(build, seed)
    written = write(trainer.model, part("test").src)
    pairs = zip(written, TESTED)
    return {
        "val_loss": round(trainer.val_losses[-1], 4),
        "right": sum(text == nepali for text, (_, nepali) in pairs),
    }


def faulty() -> Results:
    """Train with each of chapter 18's silent faults, from three seeds."""
    return {
        name: by_seed(
            partial(score_of_faulty, with_line("attention", *lines)), 3
        )
        for name, lines in SILENT.items()
    }


def left_out() -> dict:
    """Leave each part out of the models of five tasks, from five seeds."""
    tasks: dict[str, dict] = {name: {} for name in (*KINDS, *TASKS)}
    mistakes, heads = {}, {}
    for name in OF_TRANSLATOR:
        print("  sentences without", name, flush=True)
        config = replace(tiny_translator, **LEFT_OUT[name])
        run = translators(partial(EncoderDecoder, config), RECIPE)
        mistakes[name] = run["mistakes"]
        for kind, shares in run["shares"].items():
            tasks[kind][name] = shares
    for label, task in TASKS.items():
        for name in task.parts:
            print(f"  {label} without", name, flush=True)
            models = task.models(name)
            tasks[label][name] = task.shares(models)
            if label == "extremes" and name in ("nothing", "several heads"):
                heads[name] = heads_of(models, task.others().x)
    return {"tasks": tasks, "mistakes": mistakes, "heads": heads}
