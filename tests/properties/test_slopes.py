"""Gradients are the slopes that small steps of the weights measure."""

import pytest
import torch
from torch import nn
from torch.nn.functional import gelu, linear, relu

from tests.helpers.rotating import Turning
from tests.helpers.strangers import GPT, IDS, Attention, Block, Cosine
from tformer_lite import bug, running_model
from tformer_lite.properties import exact_gradients


class FedDetached(Block):
    """What is fed reads a copy without a past."""

    def forward(self, x, hidden=None):
        one, other = self.norms
        x = x + self.attention(one(x), hidden)
        return x + self.feed(other(x.detach()))


class ResidualDetached(Block):
    def forward(self, x, hidden=None):
        one, other = self.norms
        x = x.detach() + self.attention(one(x), hidden)
        return x + self.feed(other(x))


class DataRead(Block):
    """Post-norm, of an attention that reads the numbers alone."""

    def forward(self, x, hidden=None):
        one, other = self.norms
        x = one(x + self.attention(x.data, hidden))
        return other(x + self.feed(x))


class MadeAnew(Block):
    """What was attended to becomes a tensor that knows of no weights."""

    def forward(self, x, hidden=None):
        one, other = self.norms
        x = x + torch.tensor(self.attention(one(x), hidden).tolist()).to(x)
        return x + self.feed(other(x))


class FedWithoutGradient(Block):
    def feed(self, x):
        with torch.no_grad():
            wide = gelu(self.up(x))
        return self.down(wide)


class NormOfNumbers(nn.LayerNorm):
    """Its mean and deviation are taken for constants."""

    def forward(self, x):
        x, now = x - x.mean(-1, keepdim=True).detach(), x.detach()
        size = now.var(-1, keepdim=True, unbiased=False) + self.eps
        return x / size.sqrt() * self.weight + self.bias


class KeysDetached(Attention):
    """All keys but the last."""

    def shape(self, q, k):
        k = torch.cat((k[:, :-1].detach(), k[:, -1:]), 1)
        return super().shape(q, k)


class Rounded(Attention):
    """Weights in steps, with a gradient that goes straight through."""

    def weigh(self, scores):
        weights = scores.softmax(-1)
        return weights + ((weights * 8).round() / 8 - weights).detach()


class RoundedRows(nn.Module):
    """Rows in steps: a module that does nothing else."""

    def __init__(self, c):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(c))

    def forward(self, x):
        return x + ((x * 8).round() / 8 - x).detach() * self.scale.detach()


class Shifted(Attention):
    """The largest score is subtracted, detached: that is no loss."""

    def weigh(self, scores):
        powers = (scores - scores.amax(-1, keepdim=True).detach()).exp()
        return powers / powers.sum(-1, keepdim=True)


class ReLU(Block):
    def feed(self, x):
        return self.down(relu(self.up(x)))


class Padded(GPT):
    """A row of both tables gets no gradient as an embedding."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(50, 16, padding_idx=int(IDS[0, 0]))
        self.head.weight = self.tokens.weight


class Zero(GPT):
    """Norms read rows of 0: there is much to bend."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.tokens.weight)
        nn.init.zeros_(self.places.weight)


class Shrinks(GPT):
    """The words learn slowly, as in GLM-130B."""

    def forward(self, ids):
        words = self.tokens(ids)
        words = 0.1 * words + 0.9 * words.detach()
        x = words + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class BetweenBlocks(GPT):
    """The second block adds to a sum that it does not learn through."""

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        x = self.blocks[0](x)
        return self.head(self.norm(x + self.blocks[1](x.detach())))


def asked(build):
    """Ask about a model, its weights drawn anew."""
    torch.manual_seed(0)
    return exact_gradients(build(), IDS)


def of_blocks(kind):
    """A model of such blocks."""

    def build():
        model = GPT()
        model.blocks = nn.ModuleList(kind() for _ in range(2))
        return model

    return build


RIGHT = {
    "GPT": GPT,
    "rotations": Turning,
    "bfloat16": lambda: GPT().bfloat16(),
    "cosine": lambda: GPT(attention=Cosine),
    "the largest subtracted": lambda: GPT(attention=Shifted),
    "ReLU": of_blocks(ReLU),
    "a row of padding": Padded,
    "rows of 0": Zero,
}


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_of_right_models_are_slopes(name):
    finding = asked(RIGHT[name])
    assert finding.holds
    assert torch.allclose(*finding.seen[0], rtol=0.01)


WRONG = {
    "fed": (of_blocks(FedDetached), "blocks.0"),
    "residual": (of_blocks(ResidualDetached), "blocks.0"),
    "data": (of_blocks(DataRead), "blocks.0"),
    "made anew": (of_blocks(MadeAnew), "blocks.0"),
    "no_grad": (of_blocks(FedWithoutGradient), "blocks.0"),
    "norms": (lambda: GPT(norm=NormOfNumbers), "blocks.0.norms.0"),
    "keys": (lambda: GPT(attention=KeysDetached), "blocks.0.attention"),
    "between blocks": (BetweenBlocks, ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_branch_that_is_cut_off_is_found(name):
    build, place = WRONG[name]
    finding = asked(build)
    assert finding.level == "broken"
    first = f", first in {place}. Look" if place else " apart). Look"
    assert first in finding.says


def test_the_block_that_is_wrong_is_named():
    model = GPT()
    model.blocks[1] = FedDetached()
    assert "first in blocks.1." in exact_gradients(model, IDS).says


@pytest.mark.parametrize(
    "build",
    [
        Shrinks,
        lambda: GPT(attention=Rounded),
        lambda: GPT(norm=RoundedRows),
    ],
)
def test_what_may_be_meant_is_unusual(build):
    finding = asked(build)
    assert finding.level == "unusual"
    assert "may be meant" in finding.says


def test_what_gets_no_gradient_at_all_is_left_to_another_check():
    assert exact_gradients(bug("key_not_projected").model()).holds


def test_what_cannot_be_measured_is_not_judged():
    assert exact_gradients(lambda x: x, torch.ones(1, 2, 3)).holds is None
    frozen = GPT().requires_grad_(False)
    assert exact_gradients(frozen, IDS).holds is None


class OneSize(nn.Linear):
    """A layer that knows single precision only."""

    def forward(self, x):
        return linear(x, torch.ones(12, 12)) + self.bias


def test_what_knows_one_precision_is_not_judged():
    finding = exact_gradients(OneSize(12, 12), torch.ones(1, 2, 12))
    assert finding.holds is None
    assert finding.says.startswith("No gradient can be drawn in double")


def test_nothing_of_the_model_moves():
    model = running_model()
    before = {n: x.clone() for n, x in model.state_dict().items()}
    assert exact_gradients(model).holds
    assert all(x.equal(before[n]) for n, x in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
