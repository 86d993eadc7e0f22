"""What each check says, word for word: of the right model, of bugs, and of
models that it cannot judge. `sentences.toml` has them."""

import re
import tomllib
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from gallery import bug
from shapewatch import properties
from tests.helpers import blocks, heads, places, rounding
from tests.helpers.caching import Cached, Keeps
from tests.helpers.losses import IDS as LABELLED
from tests.helpers.losses import ODD, RIGHT, WRONG
from tests.helpers.rotating import (
    OfValues,
    as_it_is,
    back,
    halves,
    neighbours,
    turning,
)
from tests.helpers.strangers import GPT, Kinds, MixedAfter, Talking
from tformer_lite import DecoderOnly, char_lm, running_example, running_model

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))
IDS = torch.tensor([[2, 0, 5, 6, 7, 1], [2, 8, 9, 5, 1, 1]])
PAIR = running_example()[:2]
SENTENCES = tomllib.loads(
    Path(__file__).with_name("sentences.toml").read_text("utf8")
)
DECIMAL = re.compile(r"(\d+\.\d+)")


class OneHot(nn.Linear):
    """A model whose ids become vectors where nobody can see it."""

    def forward(self, ids):
        return super().forward(nn.functional.one_hot(ids, 10).float())


class Tied(GPT):
    """The head has the words' table, which is far too large for it."""

    def __init__(self):
        super().__init__()
        self.head.weight = self.tokens.weight


def linear():
    return nn.Linear(12, 12)


def part_frozen():
    """A model of which a norm cannot learn."""
    model = GPT()
    model.blocks[0].norms[0].requires_grad_(False)
    return model


def writes_on(ask):
    """Ask about a model of the book that has no source, and 65 words."""
    ids = running_example().tgt
    return ask(DecoderOnly(char_lm), ids.where(ids < 4, 4 + (ids - 4) % 61))


def with_loss(kind, loss, ask):
    """Ask about a loss."""
    return ask(kind(), LABELLED, loss=loss, pad=1)


OWN = {
    "right": lambda ask: ask(running_model(), *PAIR),
    "writes on": writes_on,
    "mixes nothing": lambda ask: ask(linear(), ROWS),
    "may hear the future": lambda ask: ask(linear(), ROWS, causal=False),
    "one row": lambda ask: ask(linear(), ROWS[:1]),
    "one position": lambda ask: ask(linear(), ROWS[:, :1]),
    "has more positions": lambda ask: ask(GPT(), IDS, positions=2),
    "is shifted": lambda ask: ask(lambda x: x.roll(1, 1), ROWS),
    "hides its ids": lambda ask: ask(OneHot(10, 12), IDS, pad=1, unknown=0),
    "looks up": lambda ask: ask(nn.Embedding(10, 3), IDS, pad=1, unknown=0),
    "drops rows": lambda ask: ask(lambda x: x[:, :3], ROWS),
    "gives NaN": lambda ask: ask(lambda x: x * torch.nan, ROWS),
    "gives nothing": lambda ask: ask(lambda x: None, ROWS),
    "lacks inputs": lambda ask: ask(linear()),
    "writes into rows": lambda ask: ask(lambda x: x.relu_() + 1, ROWS),
}
OF_IDS = {
    "could be told more": Kinds,
    "rotates": turning(),
    "rotates keys": turning(as_it_is, halves),
    "rotates back": turning(halves, back),
    "rotates others": turning(halves, neighbours),
    "rotates values": turning(kind=OfValues),
    "reads no double": rounding.SingleOnly,
    "learns in part": part_frozen,
    "is linear": blocks.PLAIN,
    "starts from before": blocks.STALE,
    "shares places": places.Halved,
    "forgets places": places.Forgotten,
    "has no places": places.Nameless,
    "has a cache": Cached,
    "goes on from 0": partial(Cached, wrong="positions"),
    "reads on openly": partial(Cached, wrong="openness"),
    "keeps a cache": Keeps,
    "looks far": heads.biased(heads.looking_far),
    "views a bias": heads.biased(heads.viewed),
    "is too sure": Tied,
    "mixes heads": partial(GPT, attention=Talking),
    "mixes heads late": partial(GPT, attention=MixedAfter),
    "sums heads": partial(GPT, attention=heads.Summed),
    "drowns scores": partial(GPT, attention=rounding.Drowned),
    "has one matrix": partial(GPT, attention=heads.OneMatrix),
}
OWN |= {
    f"loss: {name}": partial(with_loss, *one[:2])
    for name, one in (RIGHT | WRONG | ODD).items()
}


def asked(model: str, check: str) -> str:
    """Ask a check about a model, by their names, and take its words."""
    ask = getattr(properties, check)
    if model in OF_IDS:
        finding = ask(OF_IDS[model](), IDS)
    elif model in OWN:
        finding = OWN[model](ask)
    else:
        finding = ask(bug(model).model(), *PAIR)
    return str(finding).removeprefix(f"{check}: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "check", "sentence"),
    [
        (model, check, sentence)
        for model, sentences in SENTENCES.items()
        for checks, sentence in sentences.items()
        for check in checks.split()
    ],
)
def test_a_check_says_this(model, check, sentence):
    said = DECIMAL.split(asked(model, check))
    wanted = DECIMAL.split(sentence)
    assert said[::2] == wanted[::2]
    for mine, right in zip(said[1::2], wanted[1::2], strict=True):
        assert abs(float(mine) - float(right)) < 0.02  # processors round apart
