"""GPTs that lose digits in their own number format, others that only seem to
where they are cast to another one."""

import torch
from torch import nn

from tests.helpers.strangers import GPT, Attention


class Drowned(Attention):
    """A number is added to all scores, those that are not hidden as well."""

    def cap(self, scores):
        return scores - 1e9


class HalfWeights(Attention):
    """Weights in half precision, of scores that may be far from 0."""

    def __init__(self, far=3e3):
        super().__init__()
        self.far = far

    def weigh(self, scores):
        return (scores + self.far).half().softmax(-1).to(scores)


class HalfScores(Attention):
    """Queries and keys are multiplied in half precision, as on purpose."""

    def shape(self, q, k):
        q, k = super().shape(q, k)
        return q.half(), k.half()

    def weigh(self, scores):
        return scores.float().softmax(-1)


class Squares(nn.LayerNorm):
    """The variance is E[x²] − E[x]²."""

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        size = x.square().mean(-1, keepdim=True) - mean.square()
        return (x - mean) / (size.clamp(min=0) + self.eps).sqrt()


class Offset(GPT):
    """A stream of numbers near 1,000."""

    def __init__(self, **options):
        super().__init__(**options)
        self.places.weight.data += 1e3


class LatePlaces(GPT):
    """Positions are counted from 500 on, in a format of its own or not."""

    def __init__(self, dtype=None):
        super().__init__()
        self.dtype = dtype

    def forward(self, ids):
        places = torch.arange(500, 500 + ids.shape[1], dtype=self.dtype)
        waves = (places[:, None] * torch.linspace(0.1, 1, 16)).sin()
        return self.read(self.tokens(ids) + waves.to(self.tokens.weight))


class FilledLarge(Attention):
    """What hides scores is that of their own format, in single precision."""

    def cap(self, scores):
        hides = torch.zeros(scores.shape[-2:], dtype=torch.float32)
        hides.fill_(torch.finfo(scores.dtype).min)
        return scores + hides.triu(1).type_as(scores)


class SingleOnly(GPT):
    """It asks for single precision."""

    def forward(self, ids):
        if self.head.weight.dtype != torch.float32:
            raise TypeError("float32 is wanted")
        return super().forward(ids)


class Bridge(GPT):
    """Few channels become many, which blocks add to, and then few."""

    def __init__(self):
        super().__init__()
        self.few, self.head = nn.Linear(6, 16), nn.Linear(16, 6)
        self.norm = nn.Identity()

    def forward(self, ids):
        return self.read(self.few(self.tokens(ids)[..., :6]))
