"""The linear layer, and where it starts."""

from torch import nn


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
