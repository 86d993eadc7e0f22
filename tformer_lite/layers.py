"""The parts around attention: embeddings and positions."""

import math

import torch
from torch import Tensor, nn


class TokenEmbedding(nn.Embedding):
    """Give each of `vocab_size` ids a vector of `d_model` channels.

    The table starts with variance 1 / d_model and the output is scaled by
    the square root of d_model, so a token's channels start with variance 1.
    Vaswani et al. (2017), section 3.4.
    """

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__(vocab_size, d_model)
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Look each id's vector up and scale it: (B, T) -> (B, T, C).

        Raises ValueError for an id outside the vocabulary.
        """
        outside = (ids < 0) | (ids >= self.num_embeddings)
        if outside.any():
            raise ValueError(
                f"id {ids[outside][0].item()} is outside the vocabulary: "
                f"ids run from 0 to {self.num_embeddings - 1}."
            )
        return super().forward(ids) * math.sqrt(self.embedding_dim)


class LearnedPositions(nn.Module):
    """Add a learned vector to each position, up to `max_len` of them.

    The table starts as loud as the sinusoidal one: variance 1/2.
    Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        table = torch.empty(max_len, d_model)
        self.table = nn.Parameter(nn.init.normal_(table, std=0.5**0.5))

    def forward(self, x: Tensor) -> Tensor:
        """Add position t's vector to row t: (B, T, C) -> (B, T, C).

        Raises ValueError for a sequence longer than `max_len`.
        """
        return x + first_rows(self.table, x.shape[1])


class SinusoidalPositions(nn.Module):
    """Add fixed waves, one pair of channels a frequency, to each position.

    Vaswani et al. (2017), section 3.5. An odd `d_model` leaves the last
    cosine out.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        table = sinusoids(max_len, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add position t's waves to row t: (B, T, C) -> (B, T, C).

        Raises ValueError for a sequence longer than `max_len`.
        """
        return x + first_rows(self.table, x.shape[1])


def sinusoids(max_len: int, d_model: int) -> Tensor:
    """Tabulate sine (even channels) and cosine (odd channels): (T, C).

    `max_len` is T. Channels 2i and 2i + 1 turn through 10000^(-2i / d_model)
    radians a position. Vaswani et al. (2017), section 3.5.
    """
    positions = torch.arange(max_len)[:, None]
    channels = torch.arange(0, d_model, 2)
    angles = positions * 10000 ** (-channels / d_model)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return waves.flatten(-2)[:, :d_model]


def first_rows(table: Tensor, t: int) -> Tensor:
    """Take the rows of positions 0 to t - 1: (S, C) -> (T, C).

    Raises ValueError when the table is shorter than that.
    """
    if t > len(table):
        raise ValueError(
            f"a sequence of {t} positions is longer than max_len="
            f"{len(table)}: shorten it, or build with a larger max_len."
        )
    return table[:t]
