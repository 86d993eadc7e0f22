"""Our presets and their sources, with the same weights."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.helpers import source_000, source_003
from tests.helpers import sources_001_002 as others
from tests.helpers.weights import copied, shaken
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    causal_mask,
    char_lm,
    padding_mask,
    paper_base,
    running_example,
    tiny_translator,
)

SRC, TGT, *_ = running_example()
# In source 000 the table has variance 1, and is divided by sqrt(12).
CONFIG_000 = replace(tiny_translator, embedding="shrunk", norm="unbiased")
# Source 003 does not scale its embeddings.
CONFIG_003 = replace(paper_base, embedding="plain")
SIZES_003 = {"max_len": 40, "d_model": 64, "n_layers": 2, "d_ff": 96}
LESS_003 = source_003.Sizes(length=40, channels=64, layers=2, hidden=96)
NAMES_000 = {
    r"_embedding\.tokens\.weight": "_words.table",
    r"_embedding\.positions": "_places",
    r"(query|key|value|output|hidden|head)\.weight": r"\1",
}
NAMES_002 = {
    r"embedding\.": "",
    r"positions\.table": "positions.weight",
    r"decoder\.": "",
}
NAMES_003 = {
    r"(src|tgt)_embedding\.tokens": r"\1_words",
    r"encoder\.blocks": "readers",
    r"decoder\.blocks": "writers",
}


def transposed(name: str, weight: Tensor) -> Tensor:
    """Our x Wᵀ is source 000's x W; its gains and offsets are rows."""
    if weight.ndim == 1:
        return weight[None]
    tables = "tokens.weight", "positions.table"
    return weight if name.endswith(tables) else weight.T


class Whole(NamedTuple):
    """A model of ours, the source's, its names, and from where to where the
    ids of its sides run."""

    mine: Callable
    theirs: Callable
    names: dict[str, str]
    ids: tuple[tuple[int, int], ...]


# Without the id 1, which source 003 does not take for padding.
WORDS_003 = (2, 100), (2, 120)
MODELS = {
    "000": Whole(
        partial(EncoderDecoder, CONFIG_000),
        source_000.Translator,
        NAMES_000,
        ((0, 1024), (0, 1024)),
    ),
    "002": Whole(
        partial(DecoderOnly, replace(char_lm, vocab_size=65)),
        others.CharacterModel,
        NAMES_002,
        ((0, 65),),
    ),
    "003": Whole(
        partial(EncoderDecoder, replace(CONFIG_003, **SIZES_003)),
        partial(source_003.Translator, LESS_003),
        NAMES_003,
        WORDS_003,
    ),
    # Six layers of 512 channels, on the first 24 of the 200 positions.
    "003, full size": Whole(
        partial(EncoderDecoder, CONFIG_003),
        partial(source_003.Translator, source_003.Sizes(length=24)),
        NAMES_003,
        WORDS_003,
    ),
}


def both(name: str) -> tuple[nn.Module, nn.Module]:
    """Our model, its numbers drawn anew, and the source's."""
    model = MODELS[name]
    mine = shaken(model.mine()).eval()
    form = {"form": transposed} if name == "000" else {}
    return mine, copied(mine, model.theirs(), model.names, **form).eval()


def drawn(name: str, *shape: int) -> list[Tensor]:
    """Random ids for each side of a model."""
    return [torch.randint(*ends, shape) for ends in MODELS[name].ids]


def masked(src: Tensor, tgt: Tensor) -> tuple[Tensor, ...]:
    """Ids with the masks that source 000 is given for them."""
    future = causal_mask(tgt.shape[1])
    return src, tgt, padding_mask(src, 1), future & padding_mask(tgt, 1)


def same_numbers(mine: Tensor, theirs: Tensor, atol: float = 1e-12) -> None:
    assert_close(mine, theirs, atol=atol, rtol=0)
