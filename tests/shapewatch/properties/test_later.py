"""Bugs that came after the checks, in code that is not ours: all found, and
by the check that they offend."""

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from tests.helpers.strangers import (
    GPT,
    IDS,
    PADDED,
    Attention,
    Block,
    Encoder,
    MemoryFirst,
    OnePlus,
)
from tformer_lite import report


class Unscaled(Attention):
    def shape(self, q, k):
        return q, k


class Halved(Attention):
    """Divides by D, and not by its root."""

    def shape(self, q, k):
        return q / q.shape[-1], k


class OverQueries(Attention):
    def weigh(self, scores):
        return scores.softmax(-2).nan_to_num()


class Always(Attention):
    def weigh(self, scores):
        return dropout(scores.softmax(-1), 0.1)


class Viewed(Attention):
    """Heads are cut out of the rows without a transpose."""

    def shape(self, q, k):
        b, t, h, d = q.shape
        q, k = (x.reshape(b, h, t, d).transpose(1, 2) for x in (q, k))
        return q / d**0.5, k


class Replaces(Block):
    def forward(self, x, hidden=None):
        x = x + self.attention(self.norms[0](x), hidden)
        return self.feed(self.norms[1](x))


class SquaredNorm(OnePlus):
    """Divides by the mean square."""

    def forward(self, x):
        return x / x.square().mean(-1, keepdim=True) * (1 + self.weight)


class Norm(nn.LayerNorm):
    """Over the sentence as well."""

    def __init__(self, c):
        super().__init__((7, c), elementwise_affine=False)


class Changed(GPT):
    def __init__(self, change):
        super().__init__()
        change(self)


def replaced(model):
    model.blocks = nn.ModuleList([Replaces(), Replaces()])


def listed(model):
    blocks = [*model.blocks]
    del model.blocks
    model.blocks = blocks


def without_norm(model):
    model.add_module("final", nn.LayerNorm(16))
    model.norm.forward = lambda x: x


class Detached(GPT):
    def forward(self, ids):
        self.tokens.weight.data, kept = self.tokens.weight.data, self.tokens
        x = kept(ids).detach() + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Unplaced(GPT):
    def forward(self, ids):
        return self.head(self.tokens(ids).cumsum(1))


class Unmasked(Encoder):
    def forward(self, ids):
        return self.encoder(self.tokens(ids) + self.places.weight[:7])


class Softmaxed(GPT):
    def forward(self, ids):
        return super().forward(ids).softmax(-1)


class OtherMemory(MemoryFirst):
    """The target reads itself for the source."""

    def forward(self, src, tgt):
        return super().forward(tgt, tgt)


LATER = {
    "no scale": (lambda: GPT(attention=Unscaled), "score_scale"),
    "divided by D": (lambda: GPT(attention=Halved), "score_scale"),
    "over queries": (lambda: GPT(attention=OverQueries), "weight_rows"),
    "dropout for ever": (lambda: GPT(attention=Always), "repeatable"),
    "heads by view": (lambda: GPT(attention=Viewed), "provenance"),
    "no residual": (lambda: Changed(replaced), "identity"),
    "in a list": (lambda: Changed(listed), "live_parameters"),
    "norm forgotten": (lambda: Changed(without_norm), "live_parameters"),
    "detached": (Detached, "live_parameters"),
    "squared": (lambda: GPT(norm=SquaredNorm), "norm_statistics"),
    "over the sentence": (lambda: GPT(norm=Norm), "norm_statistics"),
    "no positions": (Unplaced, "order_sensitivity"),
    "softmax at the end": (Softmaxed, "logits"),
}


NESTED = "ignore:The PyTorch API of nested tensors"


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_a_bug_that_came_later_is_found(name):
    build, check = LATER[name]
    torch.manual_seed(0)
    assert check in report(build(), IDS).broken


@pytest.mark.filterwarnings(NESTED)
def test_padding_that_an_encoder_hears_is_found():
    torch.manual_seed(0)
    found = report(Unmasked(), PADDED, pad=1, causal=False)
    assert "padding_invariance" in found.broken


@pytest.mark.slow
@pytest.mark.filterwarnings(NESTED)
def test_a_source_that_nobody_reads_is_found():
    torch.manual_seed(0)
    found = report(OtherMemory(), PADDED, IDS, pad=1)
    assert "source_dependence" in found.broken
