"""Blocks whose sublayers stand inside residual connections of one's own."""

from collections.abc import Callable

from torch import Tensor, nn

from tformer_lite.model.choices import NORMS
from tformer_lite.model.config import Config
from tformer_lite.model.models import Block, CrossBlock


def blocks_around(residual: Callable) -> tuple[type, type]:
    """Give a config's two blocks, with `residual` around each sublayer.

    It is built with d_model, a norm and a dropout, and called with x and a
    sublayer: (B, T, C), a function -> (B, T, C).
    """

    def connections(config: Config, n: int) -> nn.ModuleList:
        numbers = config.d_model, NORMS[config.norm], config.dropout
        return nn.ModuleList(residual(*numbers) for _ in range(n))

    class Own(Block):
        def __init__(self, config: Config):
            super().__init__(config)
            del self.norms
            self.residuals = connections(config, 2)

        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            first, second = self.residuals
            x = first(x, lambda x: self.self_attention(x, mask=mask))
            return second(x, self.feed_forward)

    class OwnCross(CrossBlock):
        def __init__(self, config: Config):
            super().__init__(config)
            del self.norms
            self.residuals = connections(config, 3)

        def forward(
            self,
            x: Tensor,
            memory: Tensor,
            mask: Tensor | None = None,
            memory_mask: Tensor | None = None,
        ) -> Tensor:
            first, second, third = self.residuals
            x = first(x, lambda x: self.self_attention(x, mask=mask))
            read = self.cross_attention
            x = second(x, lambda x: read(x, memory, memory_mask))
            return third(x, self.feed_forward)

    return Own, OwnCross
