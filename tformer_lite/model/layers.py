"""The parts around attention."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.model.checks import check_ids, check_length


class Linear(nn.Linear):
    """Map the last axis, x Wᵀ + b: (..., C) -> (..., F), for any C and F.

    The weights start from Xavier's uniform draw (Glorot and Bengio, 2010,
    equation 16), which keeps the variance of a square layer's input; the
    biases start from 0.
    """

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class TokenEmbedding(nn.Embedding):
    """Give each of `vocab_size` ids a vector of `d_model` channels.

    The table starts with variance 1 / d_model and the output is scaled by
    the square root of d_model, so a token's channels start with variance 1.
    Vaswani et al. (2017), section 3.4.
    """

    power = 0.5

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__(vocab_size, d_model)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        nn.init.normal_(self.weight, std=self.embedding_dim**-self.power)

    def forward(self, ids: Tensor) -> Tensor:
        """Look each id's vector up and scale it: (B, T) -> (B, T, C).

        Raises ValueError for an id outside the vocabulary.
        """
        check_ids(ids, self.num_embeddings)
        return super().forward(ids) * self.embedding_dim**self.power


class Positions(nn.Module):
    """Add row t of a table to position t. What fills the table differs."""

    table: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Add position t's vector to row t: (B, T, C) -> (B, T, C).

        Raises ValueError for a sequence longer than the table.
        """
        check_length(x.shape[1], len(self.table))
        return x + self.table[: x.shape[1]]


class LearnedPositions(Positions):
    """Learn a vector for each of `max_len` positions.

    The table starts as loud as the sinusoidal one: variance 1/2.
    Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        table = torch.empty(max_len, d_model)
        self.table = nn.Parameter(nn.init.normal_(table, std=0.5**0.5))


class SinusoidalPositions(Positions):
    """Give each of `max_len` positions fixed waves, two channels a frequency.

    Vaswani et al. (2017), section 3.5. An odd `d_model` leaves the last
    cosine out. No state_dict has the table: loading one fills it anew.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        table = torch.empty(max_len, d_model)
        self.register_buffer("table", table, persistent=False)
        self.reset_parameters()
        self.register_load_state_dict_post_hook(type(self).reset_parameters)

    def reset_parameters(self, *_: object) -> None:
        """Fill the table, which leaves "meta" for the default device."""
        device = torch.get_default_device()
        if device.type == "meta":
            return  # nothing has numbers there
        if self.table.is_meta:
            self.to_empty(device=device)
        self.table.copy_(sinusoids(*self.table.shape))


def sinusoids(max_len: int, d_model: int) -> Tensor:
    """Tabulate sine (even channels) and cosine (odd channels): (T, C).

    `max_len` is T. Channels 2i and 2i + 1 turn through 10000^(-2i / d_model)
    radians a position. Vaswani et al. (2017), section 3.5.
    """
    positions = torch.arange(max_len, dtype=torch.float64)[:, None]
    channels = torch.arange(0, d_model, 2, dtype=torch.float64)
    angles = positions * 10000 ** (-channels / d_model)
    waves = torch.stack((angles.sin(), angles.cos()), dim=-1)
    return waves.flatten(-2)[:, :d_model].to(torch.get_default_dtype())


class FeedForward(nn.Module):
    """Widen each position to `d_ff` channels, activate, and narrow it.

    Vaswani et al. (2017), equation 2. `dropout` acts on hidden channels.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: Callable[[Tensor], Tensor] = torch.relu,
        bias: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.hidden = Linear(d_model, d_ff, bias)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)
        self.output = Linear(d_ff, d_model, bias)

    def forward(self, x: Tensor) -> Tensor:
        """Map each position on its own: (B, T, C) -> (B, T, C)."""
        hidden = self.activation(self.hidden(x))
        return self.output(self.dropout(hidden))
