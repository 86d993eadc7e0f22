"""Parameters of right models that get no gradient: which are excused, by
what, and which are not."""

import pytest
import torch
from torch import nn

from shapewatch.properties import live_parameters
from tests.helpers.strangers import GPT, IDS, Block, Kinds

PICTURE = torch.randn(2, 7, 16, generator=torch.Generator().manual_seed(0))


class Asks(GPT):
    """Adds what a memory (B, S, C) says, where it is given one."""

    def __init__(self):
        super().__init__()
        self.blocks[0].told = nn.Linear(16, 50)

    def forward(self, ids, memory=None):
        x = super().forward(ids)
        if memory is None:
            return x
        return x + self.blocks[0].told(memory).mean(1, True)


class Forgets(Kinds):
    """Has the layer, and never asks it."""

    def forward(self, ids, kinds=None):
        return super().forward(ids)


class Wrapped(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids)


@pytest.mark.slow
@pytest.mark.parametrize("build", [Kinds, Asks])
@pytest.mark.parametrize("wrap", [nn.Identity, Wrapped])
def test_what_an_optional_input_would_ask_is_excused(build, wrap):
    torch.manual_seed(0)
    model = build() if wrap is nn.Identity else wrap(build())
    finding = live_parameters(model, IDS)
    assert finding.level == "unusual", finding
    assert "where another input is given" in finding.says


def test_what_no_optional_input_asks_is_not():
    torch.manual_seed(0)
    finding = live_parameters(Forgets(), IDS)
    assert finding.level == "broken"
    assert "such as blocks.0.told.weight" in finding.says


class Pooled(nn.Module):
    """Reads the first position after some blocks, which go backwards."""

    def __init__(self, pick, *blocks):
        super().__init__()
        self.pick, self.blocks = pick, nn.ModuleList(blocks)
        for block in blocks:
            block.last = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        for block in self.blocks:
            x = block(x.flip(1)).flip(1)
            x = torch.cat([x[:, :1], x[:, 1:] + block.last(x[:, 1:])], 1)
        return self.head(self.pick(x))


PICKS = {
    "one": lambda x: x[:, 0],
    "a slice": lambda x: x[:, :1].mean(1),
    "a list": lambda x: x[:, [0]].mean(1),
    "one of each row": lambda x: x[
        torch.arange(len(x)), 0 * x[:, 0, 0].long()
    ],
    "split": lambda x: x.split([1, 6], 1)[0].mean(1),
}


@pytest.mark.slow
@pytest.mark.parametrize("pick", PICKS)
def test_what_the_last_block_does_for_others_is_excused(pick):
    torch.manual_seed(0)
    finding = live_parameters(Pooled(PICKS[pick], Block(), Block()), PICTURE)
    assert finding.level == "unusual", finding
    assert "2 of" in finding.says
    assert "Only some positions are read" in finding.says
