"""GPTs, and parts of them, that detach or bend gradients: right, and wrong."""

import torch
from torch import nn
from torch.nn.functional import relu

from tests.helpers.strangers import GPT, IDS, Attention, Block


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
