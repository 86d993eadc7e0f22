"""Any small config that has each choice in it, and ids for its model."""

from functools import partial

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch.testing import assert_close

from tests.helpers.small import words
from tformer_lite import Config, DecoderOnly, EncoderDecoder
from tformer_lite.model.choices import PARTS
from tformer_lite.model.models import BLOCKS

settings.register_profile(
    "fixed", deadline=None, derandomize=True, database=None, max_examples=30
)
fixed = settings.get_profile("fixed")
same = partial(assert_close, rtol=0, atol=1e-10)
few = st.integers(1, 5)
seeds = st.integers(0, 999)
kinds = st.sampled_from([EncoderDecoder, DecoderOnly])
CHOICES = {
    kind: st.sampled_from(sorted(known))
    for kind, known in (PARTS | {"residual": BLOCKS}).items()
    if not kind.startswith("src_")
}
FLAGS = dict.fromkeys(("bias", "head_bias", "final_norm"), st.booleans())


@st.composite
def configs(draw, least: int = 3, **chosen) -> Config:
    """Any small config. Two channels after a norm are 1 and -1, so what
    should be visible needs `least` three."""
    chosen = draw(st.fixed_dictionaries(CHOICES | FLAGS)) | chosen
    n_heads = draw(st.integers(1, 3))
    # Rotary positions turn the channels of a head two by two.
    widths = (2, 4) if chosen["positions"] == "rotary" else (1, 2, 3, 4)
    heads = st.sampled_from([d for d in widths if d * n_heads >= least])
    return Config(
        vocab_size=draw(st.integers(4, 9)),
        src_vocab_size=draw(st.sampled_from((None, 4, 7))),
        max_len=12,
        d_model=draw(heads) * n_heads,
        n_heads=n_heads,
        n_layers=chosen.pop("n_layers", None) or draw(st.integers(1, 3)),
        d_ff=draw(st.integers(1, 7)),
        **chosen,
    )


def pair(config: Config, b: int, s: int, t: int, seed: int) -> tuple:
    """A batch of sources and one of targets, without padding."""
    src_size = config.src_vocab_size or config.vocab_size
    src = words(src_size, b, s, seed)
    return src, words(config.vocab_size, b, t, seed + 1)


def padded(ids: torch.Tensor, lengths: torch.Tensor, pad: int):
    """The ids, with padding from each row's length on."""
    return ids.where(torch.arange(ids.shape[1]) < lengths[:, None], pad)


def differ(mine: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Which positions have other vectors."""
    return ((mine - theirs).abs() > 1e-9).any(-1)
