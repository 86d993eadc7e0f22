"""Models, and texts that grow in front of them."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.helpers.small import NAMES, build, small, words
from tformer_lite import DecoderOnly, EncoderDecoder

T = 8
# Each preset for both models: a translator, and one that only writes.
every_model = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in NAMES for kind in (DecoderOnly, EncoderDecoder)],
    ids=lambda x: getattr(x, "__name__", x),
)
STEPS = [(1,) * T, (3, 1, 1, 1, 2), (T,), (T - 1, 1)]
steps = pytest.mark.parametrize("steps", STEPS, ids=str)


def prepared(name: str, kind: type, **changes) -> tuple:
    """A model, sources of different lengths (none for one that has none),
    and targets, one of them with padding in it."""
    model = build(kind, small(name, **changes))
    src = words(10, 3, 6)
    src[1, 3:] = src[2, 5:] = small(name).pad
    tgt = words(11, 3, T, seed=1)
    tgt[2, 5:] = small(name).pad
    return model, () if kind is DecoderOnly else (src,), tgt


def grown(model: nn.Module, src: tuple, tgt: Tensor, steps) -> Tensor:
    """The logits of a text that grows by so many tokens a step."""
    ends = torch.tensor(steps).cumsum(0).tolist()
    return torch.cat([model(*src, tgt[:, :end]) for end in ends], dim=1)


def close(mine: Tensor, theirs: Tensor) -> None:
    assert_close(mine, theirs.detach(), atol=1e-10, rtol=0)
