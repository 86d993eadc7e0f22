"""An activation stands between two matrices that widen and narrow."""

import pytest
import torch
from torch import nn
from torch.nn.functional import gelu

from tests.helpers.rotating import Turning
from tests.helpers.strangers import GPT, IDS, Block
from tformer_lite import DecoderOnly, char_lm, running_model
from tformer_lite.properties import activations


class Plain(Block):
    def feed(self, x):
        return self.down(self.up(x))


class Early(Block):
    def feed(self, x):
        return self.down(self.up(gelu(x)))


class Late(Block):
    def feed(self, x):
        return gelu(self.down(self.up(x)))


class Nothing(Block):
    """An Identity and a dropout are no activations."""

    def __init__(self):
        super().__init__()
        wide, narrow = nn.Linear(16, 64), nn.Linear(64, 16)
        between = nn.Identity(), nn.Dropout(0.1)
        self.whole = nn.Sequential(wide, *between, narrow)

    def feed(self, x):
        return self.whole(x)


class ByHand(Block):
    """Matrices that are parameters, an offset, and a scale."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Parameter(torch.randn(16, 64) / 4)
        self.narrow = nn.Parameter(torch.randn(64, 16) / 8)
        self.offset = nn.Parameter(torch.zeros(64))

    def feed(self, x):
        return (x @ self.wide + self.offset) / 2 @ self.narrow


class ByEinsum(Block):
    def feed(self, x):
        wide = torch.einsum("btc,fc->btf", x, self.up.weight)
        return torch.einsum("btf,cf->btc", wide, self.down.weight)


class Transposed(Block):
    """Between the two, the positions stand first."""

    def feed(self, x):
        return self.down(self.up(x).transpose(0, 1)).transpose(0, 1)


class Branches(Block):
    """A gate that is added, and not multiplied."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 32)

    def feed(self, x):
        return self.down(self.up(x) + self.gate(x))


class HalfActive(Branches):
    """One of two branches has an activation."""

    def feed(self, x):
        return self.down(self.up(x) + gelu(self.gate(x)))


class Gated(Block):
    """A product of two is not linear: Shazeer (2020), Bilinear."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(16, 32)

    def feed(self, x):
        return self.down(self.up(x) * self.gate(x))


class LowRank(Block):
    """What LoRA adds, with a matrix of 2 channels between."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 2), nn.Linear(2, 32)

    def feed(self, x):
        return self.down(gelu(self.up(x) + self.b(self.a(x))))


class Square(Block):
    """Two of one size may be meant."""

    def __init__(self):
        super().__init__()
        self.more = nn.Linear(16, 16)

    def feed(self, x):
        return super().feed(self.more(x))


def asked(kind):
    """Ask about a model of such blocks."""
    torch.manual_seed(0)
    model = GPT()
    model.blocks = nn.ModuleList(kind() for _ in range(2))
    return activations(model, IDS)


@pytest.mark.parametrize("kind", [Block, Gated, LowRank, Square, HalfActive])
def test_right_blocks_are_right(kind):
    assert asked(kind).holds


@pytest.mark.parametrize(
    "kind",
    [Plain, Early, Late, Nothing, ByHand, ByEinsum, Transposed, Branches],
)
def test_two_matrices_in_a_row_are_found(kind):
    finding = asked(kind)
    assert finding.level == "broken"
    assert finding.says.startswith("In blocks.0")
    wide = 64 if kind in (Nothing, ByHand) else 32
    assert f"16 channels become {wide}, and then 16" in finding.says


def test_the_modules_are_named():
    assert asked(Plain).says.startswith("In blocks.0.up and blocks.0.down,")
    assert asked(ByHand).says.startswith("In blocks.0, two matrices")
    torch.manual_seed(0)
    model = GPT()
    model.blocks[1] = Plain()
    says = activations(model, IDS).says
    assert says.startswith("In blocks.1.up and blocks.1.down, ")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: activations(running_model()),
        lambda: activations(DecoderOnly(char_lm)),
        lambda: activations(Turning(), IDS),
        lambda: activations(nn.Linear(4, 9), torch.ones(1, 2, 4)),
    ],
)
def test_other_right_models_are_right(ask):
    assert ask().holds


def test_what_has_no_matrix_is_not_judged():
    finding = activations(nn.ReLU(), torch.ones(1, 2, 4))
    assert finding.says == "Nothing is multiplied by a matrix."
