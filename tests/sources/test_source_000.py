"""The tiny translator against source 000."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.helpers import source_000
from tests.helpers.as_source_000 import NAMES, transposed
from tests.helpers.weights import count, in_doubles, renamed, shaken
from tformer_lite import (
    EncoderDecoder,
    causal_mask,
    dot_product_attention,
    padding_mask,
    running_example,
    tiny_translator,
)

# In the source the table has variance 1, and is divided by sqrt(12).
CONFIG = replace(tiny_translator, embedding="shrunk")
SRC, TGT, *_ = running_example()
doubles = pytest.fixture(autouse=True)(in_doubles)


@pytest.fixture
def models() -> tuple:
    mine, theirs = shaken(EncoderDecoder(CONFIG)), source_000.Translator()
    weights = mine.state_dict().items()
    theirs.load_state_dict(
        {renamed(name, NAMES): transposed(name, w) for name, w in weights}
    )
    return mine, theirs


def equal(mine: Tensor, theirs: Tensor) -> None:
    assert_close(mine, theirs, atol=1e-12, rtol=0)


def masks(src: Tensor, tgt: Tensor) -> tuple[Tensor, Tensor]:
    """The masks that the source is given with its ids."""
    future = causal_mask(tgt.shape[1])
    return padding_mask(src, 1), future & padding_mask(tgt, 1)


def test_tiny_translator_has_41_256_parameters_in_35_tensors(models):
    for model in (*models, EncoderDecoder(tiny_translator)):
        assert count(model) == 41_256
        assert len(list(model.parameters())) == 35


@pytest.mark.parametrize(("s", "t"), [(8, 8), (6, 5), (1, 8)])
def test_the_whole_model_is_the_sources(s, t, models):
    mine, theirs = models
    src, tgt = SRC[:, :s], TGT[:, :t]
    logits = theirs(src, tgt, *masks(src, tgt))
    assert logits.shape == (2, t, 1024)
    equal(mine(src, tgt), logits)


def test_every_words_row_is_the_sources(models):
    ids = torch.arange(1024).view(128, 8)
    equal(models[0](ids, ids), models[1](ids, ids, *masks(ids, ids)))


def test_the_norm_is_the_sources_and_the_presets_own(models):
    assert tiny_translator.norm == "unbiased"
    mine, theirs = (model.encoder.norm for model in models)
    x = torch.randn(2, 8, 12) * 1e-6  # where eps = 1e-7 weighs
    equal(mine(x), theirs(x))


def test_a_source_of_padding_alone_is_nan_there_and_finite_here(models):
    mine, theirs = models
    src = torch.ones_like(SRC)
    assert theirs(src, TGT, *masks(src, TGT)).isnan().all()
    assert mine(src, TGT).isfinite().all()


def test_a_ninth_word_is_refused_by_the_source(models):
    ids = torch.ones(1, 9, dtype=torch.long)
    with pytest.raises(RuntimeError, match=r"\(9\) must match .* \(8\)"):
        models[1](ids, ids, None, None)


def test_a_mask_written_into_the_scores_leaves_the_gradients_alone():
    q, k, v = torch.randn(3, 1, 3, 8, 4)
    found = []
    for attend in source_000.attend, dot_product_attention:
        asked = q.clone().requires_grad_()
        with torch.enable_grad():
            result = attend(asked, k, v, causal_mask(8))
            mixed = result[0] if attend is source_000.attend else result
            total = mixed.square().sum()
        found.append(torch.autograd.grad(total, asked)[0])
    equal(*found)
