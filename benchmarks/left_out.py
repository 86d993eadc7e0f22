"""Leave a part out, and see which sentences need it.

Everything is trained from five seeds, with the part and without it. A share
is that of the answers that are right in every token, from 0 to 1.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from pictures.clinic import SILENT
from torch import Tensor, nn

from benchmarks.larger import (
    LENGTH,
    LONGER,
    larger_corpus,
    larger_translator,
)
from benchmarks.translators import (
    RECIPE,
    TESTED,
    Build,
    Kinds,
    Results,
    by_seed,
    curves_of,
    learner,
    part,
    questions,
    questions_of_kinds,
    share_right,
    write,
)
from gallery import bug, planted
from tformer_lite import (
    Config,
    EncoderDecoder,
    Pairs,
    Recipe,
    Trainer,
    tiny_translator,
)
from tformer_lite.model.models import Block, CrossBlock
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
    "residual sums": {"residual": (SumlessBlock, SumlessCrossBlock)},
    "norms": {"norm": nn.Identity},
    "several heads": {"n_heads": 1},
    "causal mask": {"mask": all_seen},
    "padding mask": {"pad": UNK},
}
# Most of a block's weights are in its feed-forward layer. A model without it
# and three times as wide has as many, all of them in attention.
IN_ITS_PLACE = "feed-forward, 3 × wider"
WIDE = {"feed_forward": Nothing, "d_model": 48, "n_heads": 12}
OF_LARGER = LEFT_OUT | {IN_ITS_PLACE: WIDE}
OF_TRANSLATOR = "nothing", "decoder self-attention"
KEPT = 3  # mistakes of each kind


def judged(
    build: Build, recipe: Recipe, data: Pairs, kinds: Kinds, *reading: Any
) -> Results:
    """Train from five seeds, and ask all that is tested: the share of each
    kind that is right; the first mistakes of the first seed, English, the
    right Nepali and the written one; and the CPU seconds of a training."""
    seconds: list[float] = []

    def trained(seed: int) -> nn.Module:
        start = time.process_time()
        model = learner(build, replace(recipe, seed=seed), data).model
        seconds.append(time.process_time() - start)
        return model

    models, shares, mistakes = by_seed(trained), {}, {}
    for kind, asked in kinds.items():
        texts = {s: write(x, asked, *reading) for s, x in models.items()}
        shares[kind] = {
            seed: round(share_right(written, asked), 4)
            for seed, written in texts.items()
        }
        mistakes[kind] = [
            (question.english, question.right[0], text)
            for question, text in zip(asked, next(iter(texts.values())))
            if text not in question.right
        ][:KEPT]
    found = {"shares": shares, "mistakes": mistakes}
    return found | {"seconds": round(max(seconds))}


def translators(build: Build, recipe: Recipe) -> Results:
    """Train on the corpus, and ask for all of the test."""
    return judged(build, recipe, part("train"), questions_of_kinds())


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
    asked = questions(TESTED)
    share = share_right(write(trainer.model, asked), asked)
    return {
        "val_loss": round(trainer.val_losses[-1], 4),
        "right": round(share * len(asked)),
    }


def faulty() -> Results:
    """Train with each of chapter 18's silent faults, from three seeds."""
    return {
        name: by_seed(
            partial(score_of_faulty, with_line("attention", *lines)), 3
        )
        for name, lines in SILENT.items()
    }


def without_each(
    parts: Iterable[str], run: Callable[[str], Results]
) -> Results:
    """Do a run without each part: its shares by kind, then by part, its
    mistakes and its seconds by part."""
    tasks, others = dict[str, dict](), dict[str, dict]()
    for name in parts:
        print("  without", name, flush=True)
        found = run(name)
        for kind, shares in found.pop("shares").items():
            tasks.setdefault(kind, {})[name] = shares
        for figure, value in found.items():
            others.setdefault(figure, {})[name] = value
    return {"tasks": tasks, **others}


def left_out() -> Results:
    """Leave each part out of the larger translator, and one out of the
    running one."""
    data, kinds, *reading = larger_corpus()

    def larger(name: str) -> Results:
        config = larger_translator(**OF_LARGER[name])
        build = partial(EncoderDecoder, config)
        return judged(build, LONGER, data, kinds, *reading, LENGTH)

    def smaller(name: str) -> Results:
        config = replace(tiny_translator, **LEFT_OUT[name])
        return translators(partial(EncoderDecoder, config), RECIPE)

    found = without_each(OF_LARGER, larger)
    return found | {"translator": without_each(OF_TRANSLATOR, smaller)}
