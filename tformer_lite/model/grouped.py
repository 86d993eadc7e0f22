"""Heads of keys and values that serve several heads of queries each."""

import math

from torch import Tensor, nn

from tformer_lite.model.checks import check_groups, check_letters
from tformer_lite.model.layers import Linear


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """Give each query head its group's head: (B, G, S, D) -> (B, H, S, D).

    Head 0 goes to the first H / G query heads, head 1 to the next. With as
    many heads already, x itself comes back. Raises ValueError when they do
    not divide, and for other axes.
    """
    check_letters(x, "B G S D")
    check_groups(n_heads, x.shape[1])
    if x.shape[1] == n_heads:
        return x
    return x.repeat_interleave(n_heads // x.shape[1], dim=1)


class Narrow(Linear):
    """Some rows of a square linear layer, which start as those do."""

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        bound = math.sqrt(3 / self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
