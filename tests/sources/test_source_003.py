"""The paper's base model against source 003."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.helpers import source_003
from tests.helpers.weights import copied, count, in_doubles, shaken
from tformer_lite import EncoderDecoder, paper_base

# The source does not scale its embeddings.
FULL = replace(paper_base, embedding="plain")
T, C = 40, 64
CONFIG = replace(FULL, max_len=T, d_model=C, n_layers=2, d_ff=96)
SIZES = source_003.Sizes(length=T, channels=C, layers=2, hidden=96)
NAMES = {
    r"(src|tgt)_embedding\.tokens": r"\1_words",
    r"encoder\.blocks": "readers",
    r"decoder\.blocks": "writers",
    r"self_attention": "own.layer",
    r"cross_attention": "cross.layer",
    r"feed_forward": "bend.layer",
    r"norms\.0": "own.norm",
    r"(readers.*)norms\.1": r"\1bend.norm",
    r"(writers.*)norms\.1": r"\1cross.norm",
    r"norms\.2": "bend.norm",
}

doubles = pytest.fixture(autouse=True, scope="module")(in_doubles)


@pytest.fixture(scope="module")
def models():
    mine = shaken(EncoderDecoder(CONFIG))
    theirs = copied(mine, source_003.Translator(SIZES), NAMES)
    return mine.eval(), theirs.eval()


@pytest.fixture(scope="module")
def preset():
    """The preset itself, without memory: to be counted, not to be run."""
    with torch.device("meta"):
        return EncoderDecoder(paper_base)


def equal(mine, theirs):
    assert_close(mine, theirs, atol=1e-10, rtol=0)


def some_ids(low, high, *shape):
    return torch.randint(low, high, shape)


def test_paper_base_has_44_312_696_parameters(preset):
    with torch.device("meta"):
        theirs = source_003.Translator()
    assert count(preset) == count(theirs) == 44_312_696


LAYERS = {
    "self_attention": 1_050_624,
    "cross_attention": 1_050_624,
    "feed_forward": 2_099_712,
    "norms.0": 1_024,
    "norms.1": 1_024,
    "norms.2": 1_024,
}


def test_each_layer_has_the_parameters_in_the_sources_summary(preset):
    assert count(preset.src_embedding) == 51_200
    assert count(preset.tgt_embedding) == 61_440
    assert count(preset.head) == 61_560
    for block in preset.decoder.blocks:
        assert {n: count(block.get_submodule(n)) for n in LAYERS} == LAYERS
    shared = [n for n in LAYERS if n not in ("cross_attention", "norms.2")]
    for block in preset.encoder.blocks:
        for name in shared:
            assert count(block.get_submodule(name)) == LAYERS[name]
    assert len(preset.encoder.blocks) == len(preset.decoder.blocks) == 6


def test_the_norm_is_the_sources(models):
    mine, theirs = models
    x = torch.randn(1, T, C) * 1e-2  # where eps = 1e-5 weighs
    here, there = mine.decoder.blocks[1], theirs.writers[1]
    equal(here.norms[1](x), there.cross.norm(x))


def test_the_whole_model_is_the_sources(models):
    """Without the id 1, which the source does not take for padding."""
    mine, theirs = models
    src, tgt = some_ids(2, 100, 1, T), some_ids(2, 120, 1, T)
    equal(mine(src, tgt), theirs(src, tgt))


@pytest.mark.slow
def test_the_preset_at_full_size_is_the_sources():
    """Six layers of 512 channels, on the first 24 of the 200 positions."""
    mine = EncoderDecoder(FULL).eval()
    with torch.device("meta"):
        theirs = source_003.Translator(source_003.Sizes(length=24)).eval()
    src, tgt = some_ids(2, 100, 1, 24), some_ids(2, 120, 1, 24)
    logits = mine(src, tgt)
    assert logits.shape == (1, 24, 120)
    equal(logits, copied(mine, theirs, NAMES)(src, tgt))


@pytest.mark.parametrize("shape", [(2, T), (1, T // 2)])
def test_the_source_takes_no_other_batch_or_length_and_ours_does(
    shape, models
):
    mine, theirs = models
    src, tgt = some_ids(2, 100, *shape), some_ids(2, 120, *shape)
    with pytest.raises(RuntimeError):
        theirs(src, tgt)
    assert mine(src, tgt).shape == (*shape, 120)


def test_padding_changes_the_sources_logits_and_not_ours(models):
    """All ids are words to it: it sees which one fills a row up."""
    mine, theirs = models
    src, tgt = some_ids(2, 100, 1, T), some_ids(2, 120, 1, T)
    cut, other = src[:, :30], src.clone()
    src[:, 30:] = 1
    equal(mine(src, tgt), mine(cut, tgt))
    assert (theirs(src, tgt) - theirs(other, tgt)).abs().max() > 1e-3


def test_a_model_elsewhere_is_given_tables_on_the_processor():
    """As on a GPU; "meta" is a device that every machine has."""
    theirs = source_003.Translator(SIZES).to("meta")
    ids = torch.ones(1, T, dtype=torch.long, device="meta")
    with pytest.raises(RuntimeError, match="device"):
        theirs(ids, ids)
