"""Models that write into what they are given."""

from torch import nn


class StartsWithOne(nn.Module):
    """The first word of what the caller holds becomes another one."""

    def __init__(self, side=0):
        super().__init__()
        self.tokens, self.side = nn.Embedding(10, 4), side

    def forward(self, words, answer=None):
        (words, answer)[self.side][:, 0] = 1
        made = self.tokens(words)
        return made if answer is None else made + self.tokens(answer)
