"""Blocks whose sublayers stand inside residual connections of one's own."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from tformer_lite.model.choices import NORMS
from tformer_lite.model.config import Config
from tformer_lite.model.models import Block, CrossBlock


def blocks_around(residual: Callable) -> tuple[Callable, Callable]:
    """Give what builds a config's two blocks, with `residual` around each
    sublayer: built with d_model, a norm and a dropout, and called with x and
    a sublayer: (B, T, C), a function -> (B, T, C)."""
    return partial(OwnBlock, residual), partial(OwnCrossBlock, residual)


def connections(residual: Callable, config: Config, n: int) -> nn.ModuleList:
    """Build the residual connections of n sublayers."""
    numbers = config.d_model, NORMS[config.norm], config.dropout
    return nn.ModuleList(residual(*numbers) for _ in range(n))


class OwnBlock(Block):
    """An encoder's block around connections of one's own."""

    def __init__(self, residual: Callable, config: Config):
        super().__init__(config)
        del self.norms
        self.residuals = connections(residual, config, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply both sublayers: (B, T, C) -> (B, T, C)."""
        first, second = self.residuals
        x = first(x, lambda x: self.self_attention(x, mask=mask))
        return second(x, self.feed_forward)


class OwnCrossBlock(CrossBlock):
    """A decoder's block around connections of one's own."""

    def __init__(self, residual: Callable, config: Config):
        super().__init__(config)
        del self.norms
        self.residuals = connections(residual, config, 3)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Apply the three sublayers: (B, T, C), (B, S, C) -> (B, T, C)."""
        first, second, third = self.residuals
        x = first(x, lambda x: self.self_attention(x, mask=mask))
        read = self.cross_attention
        x = second(x, lambda x: read(x, memory, memory_mask))
        return third(x, self.feed_forward)
