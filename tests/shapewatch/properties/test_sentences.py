"""What each check says, word for word: of the right model, of bugs, and of
models that it cannot judge. `sentences.toml` has a table for each model."""

import re
import tomllib
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from gallery import bug
from shapewatch import properties
from tests.helpers import (
    biases,
    blocks,
    heads,
    places,
    rounding,
    slices,
    sublayers,
)
from tests.helpers.caching import Cached, FromZero, Keeps, OpenAfterwards
from tests.helpers.losses import IDS as LABELLED
from tests.helpers.losses import RIGHT
from tests.helpers.rotating import (
    OfValues,
    Turning,
    as_it_is,
    back,
    halves,
    neighbours,
)
from tests.helpers.strangers import (
    GPT,
    Kinds,
    MixedAfter,
    Talking,
)
from tests.helpers.tied import Tied
from tests.helpers.writers import StartsWithOne
from tests.helpers.wrong_losses import ODD, WRONG
from tformer_lite import (
    DecoderOnly,
    char_lm,
    running_example,
    running_model,
)

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
    "mixes heads": lambda ask: ask(GPT(attention=Talking), IDS),
    "mixes heads late": lambda ask: ask(GPT(attention=MixedAfter), IDS),
    "could be told more": lambda ask: ask(Kinds(), IDS),
    "lacks inputs": lambda ask: ask(linear()),
    "rotates": lambda ask: ask(Turning(), IDS),
    "rotates keys": lambda ask: ask(Turning(as_it_is, halves), IDS),
    "rotates back": lambda ask: ask(Turning(halves, back), IDS),
    "rotates others": lambda ask: ask(Turning(halves, neighbours), IDS),
    "rotates values": lambda ask: ask(Turning(kind=OfValues), IDS),
    "copies a head": lambda ask: ask(GPT(attention=heads.Copies), IDS),
    "sums heads": lambda ask: ask(GPT(attention=heads.Summed), IDS),
    "drowns scores": lambda ask: ask(GPT(attention=rounding.Drowned), IDS),
    "reads no double": lambda ask: ask(rounding.SingleOnly(), IDS),
    "learns in part": lambda ask: ask(part_frozen(), IDS),
    "is linear": lambda ask: ask(blocks.of_blocks(blocks.Plain)(), IDS),
    "shares places": lambda ask: ask(places.Halved(), IDS),
    "forgets places": lambda ask: ask(places.Forgotten(), IDS),
    "has no places": lambda ask: ask(places.Nameless(), IDS),
    "has a cache": lambda ask: ask(Cached(), IDS),
    "goes on from 0": lambda ask: ask(FromZero(), IDS),
    "reads on openly": lambda ask: ask(OpenAfterwards(), IDS),
    "keeps a cache": lambda ask: ask(Keeps(), IDS),
    "writes into ids": lambda ask: ask(StartsWithOne(), IDS),
    "writes into rows": lambda ask: ask(lambda x: x.relu_() + 1, ROWS),
    "has one key": lambda ask: ask(GPT(attention=slices.FirstForAll), IDS),
    "has one matrix": lambda ask: ask(GPT(attention=slices.OneMatrix), IDS),
    "looks far": lambda ask: ask(biases.made(biases.looking_far), IDS),
    "views a bias": lambda ask: ask(biases.made(biases.viewed), IDS),
    "has source places": lambda ask: ask(
        places.TwoSides(target=False), IDS[:, 1:5], IDS
    ),
    "starts from before": lambda ask: ask(
        blocks.of_blocks(sublayers.Stale)(), IDS
    ),
    "is too sure": lambda ask: ask(Tied(), IDS),
}
OWN |= {
    f"loss: {name}": partial(with_loss, *one[:2])
    for name, one in (RIGHT | WRONG | ODD).items()
}


def asked(model: str, check: str) -> str:
    """Ask a check about a model, by their names, and take its words."""
    torch.manual_seed(0)
    ask = getattr(properties, check)
    if model in OWN:
        finding = OWN[model](ask)
    else:
        finding = ask(bug(model).model(), *PAIR)
    return str(finding).removeprefix(f"{check}: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "check"),
    [(model, check) for model in SENTENCES for check in SENTENCES[model]],
)
def test_a_check_says_this(model, check):
    said = DECIMAL.split(asked(model, check))
    wanted = DECIMAL.split(SENTENCES[model][check])
    assert said[::2] == wanted[::2]
    for one, other in zip(said[1::2], wanted[1::2], strict=True):
        assert abs(float(one) - float(other)) < 0.02  # processors round apart
