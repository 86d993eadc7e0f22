"""Nudges: push the vectors of some positions, and see what moves."""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

LOOKUPS = {"embedding", "__getitem__", "index_select"}
LOUDNESS = 2.0  # how large a push is, as a multiple of the vectors' size


class Nudge(TorchFunctionMode):
    """Add random vectors to some positions of an input (B, S), inside the
    model: where its ids become vectors.

    The ids stay, and with them every mask that is made of them. The vectors
    are random because a norm would take the same shift of all channels out
    again. `lookups` counts the embeddings that were seen.
    """

    def __init__(self, ids: Tensor, positions: list[int]):
        super().__init__()
        self.ids, self.positions, self.lookups = ids, positions, 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        lookup = getattr(function, "__name__", "") in LOOKUPS
        if lookup and result.is_floating_point() and self.looks(args):
            self.lookups += 1
            result = nudged(result, self.positions)
        return result

    def looks(self, args: tuple) -> bool:
        """Whether a lookup is one of the ids that are watched."""
        return any(
            isinstance(x, Tensor)
            and not x.is_floating_point()
            and x.shape == self.ids.shape
            and torch.equal(x, self.ids)
            for x in args
        )


def nudged(x: Tensor, positions: list[int]) -> Tensor:
    """Add random vectors to positions of x: (B, S, C) -> (B, S, C)."""
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(x.shape, generator=generator).to(x)
    moved = torch.zeros_like(x)
    moved[:, positions] = noise[:, positions] * x.detach().std() * LOUDNESS
    return x + moved
