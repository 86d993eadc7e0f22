"""Parameters of right models that get no gradient: which are excused, by
what, and which are not."""

import re

import pytest
import torch
from torch import nn

from shapewatch.properties import live_parameters
from tests.helpers.blocks import LowRank, of_blocks
from tests.helpers.strangers import GPT, IDS, Block, Encoder, Kinds

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


class Pooled(nn.Module):
    """Reads the first position after two blocks, which go backwards."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        for block in self.blocks:
            block.last = nn.Linear(16, 16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        for block in self.blocks:
            x = block(x.flip(1)).flip(1)
            x = torch.cat([x[:, :1], x[:, 1:] + block.last(x[:, 1:])], 1)
        return self.head(x[:, 0])


def low_rank(*zeros):
    """A model with a pair of small matrices, of which some are 0."""
    model = of_blocks(LowRank)()
    for name in zeros:
        nn.init.zeros_(model.blocks[0].get_parameter(name))
    return model


PAIR, STUCK = (
    ("a.weight", "a.bias", "b.weight"),
    ".*blocks.0.a.weight. They never will",
)
OPTIONAL = "unusual", ".*where another input is given", IDS
CASES = {
    "kinds": (Kinds, *OPTIONAL),
    "a memory": (Asks, *OPTIONAL),
    "a wrapped memory": (lambda: Wrapped(Asks()), *OPTIONAL),
    "forgets": (Forgets, "broken", ".*such as blocks.0.told.weight", IDS),
    "LoRA": (lambda: low_rank("b.weight"), "holds", ".*, 2 of", IDS),
    "LoRA at 0": (lambda: low_rank(*PAIR), "broken", STUCK, IDS),
    "copies": (Encoder, "holds", ".*All layers of encoder.layers", IDS),
    "pooled": (Pooled, "unusual", "2 of .*Only some positions", PICTURE),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_gets_no_gradient_is_excused_by_who_would_ask_for_it(name):
    build, level, says, given = CASES[name]
    torch.manual_seed(0)
    finding = live_parameters(build(), given)
    assert finding.level == level, finding
    assert re.match(says, finding.says)
