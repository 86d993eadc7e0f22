"""The paper's base model against source 003, block by block."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from tests.helpers import source_003
from tests.helpers.weights import copied, count, in_doubles, shaken
from tformer_lite import EncoderDecoder, causal_mask, paper_base

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


@pytest.fixture
def parts(models):
    return lambda *names: [m.get_submodule(n) for m, n in zip(models, names)]


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


@pytest.mark.parametrize(
    ("pattern", "parameters", "times"),
    [
        ("src_embedding", 51_200, 1),
        ("tgt_embedding", 61_440, 1),
        ("encoder.blocks.{}.self_attention", 1_050_624, 6),
        ("encoder.blocks.{}.feed_forward", 2_099_712, 6),
        ("encoder.blocks.{}.norms.0", 1_024, 6),
        ("encoder.blocks.{}.norms.1", 1_024, 6),
        ("decoder.blocks.{}.self_attention", 1_050_624, 6),
        ("decoder.blocks.{}.cross_attention", 1_050_624, 6),
        ("decoder.blocks.{}.feed_forward", 2_099_712, 6),
        ("decoder.blocks.{}.norms.0", 1_024, 6),
        ("decoder.blocks.{}.norms.1", 1_024, 6),
        ("decoder.blocks.{}.norms.2", 1_024, 6),
        ("head", 61_560, 1),
    ],
)
def test_each_layer_has_the_parameters_in_the_sources_summary(
    pattern, parameters, times, preset
):
    names = {pattern.format(i) for i in range(times)}
    assert [count(preset.get_submodule(n)) for n in names] == times * [
        parameters
    ]


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_embedding_and_positions_are_the_sources(side, parts):
    mine, words = parts(f"{side}_embedding", f"{side}_words")
    ids = some_ids(0, 100, 1, T)
    equal(mine.tokens(ids), words(ids))
    equal(mine(ids), words(ids) + source_003.Waves(SIZES)())


def test_self_attention_is_the_sources_free_and_looking_back(parts):
    x = torch.randn(1, T, C)
    names = "blocks.1.self_attention", "1.own.layer"
    mine, theirs = parts(f"encoder.{names[0]}", f"readers.{names[1]}")
    equal(mine(x), theirs(x))
    mine, theirs = parts(f"decoder.{names[0]}", f"writers.{names[1]}")
    equal(mine(x, mask=causal_mask(T)), theirs(x))


def test_cross_attention_is_the_sources(parts):
    names = "decoder.blocks.1.cross_attention", "writers.1.cross.layer"
    mine, theirs = parts(*names)
    x, memory = torch.randn(2, 1, T, C)
    equal(mine(x, memory), theirs(memory, x))


def test_the_feed_forward_layer_is_the_sources(parts):
    names = "encoder.blocks.1.feed_forward", "readers.1.bend.layer"
    mine, theirs = parts(*names)
    x = torch.randn(1, T, C)
    equal(mine(x), theirs(x))


def test_the_norm_is_the_sources(parts):
    names = "decoder.blocks.1.norms.1", "writers.1.cross.norm"
    mine, theirs = parts(*names)
    for scale in (1, 1e-2):  # where eps = 1e-5 weighs
        x = torch.randn(1, T, C) * scale
        equal(mine(x), theirs(x))


def test_the_blocks_are_the_sources(parts):
    x, memory = torch.randn(2, 1, T, C)
    for i in range(2):
        mine, theirs = parts(f"encoder.blocks.{i}", f"readers.{i}")
        equal(mine(x), theirs(x))
        mine, theirs = parts(f"decoder.blocks.{i}", f"writers.{i}")
        equal(mine(x, memory, causal_mask(T)), theirs(memory, x))


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


@pytest.mark.parametrize(("b", "s", "t"), [(1, 1, 39), (3, 30, 7)])
def test_padding_changes_nothing_in_any_batch_of_any_length(b, s, t, models):
    mine, _ = models
    src, tgt = some_ids(2, 100, b, s), some_ids(2, 120, b, t)
    logits = mine(src, tgt)
    assert logits.shape == (b, t, 120)
    equal(mine(padded(src), tgt), logits)
    equal(mine(src, padded(tgt))[:, :t], logits)


def padded(ids):
    """Rows filled up with the padding id, 1, to the greatest length."""
    return torch.nn.functional.pad(ids, (0, T - ids.shape[1]), value=1)


def test_padding_changes_the_sources_logits(models):
    """All ids are words to it: it sees which one fills a row up."""
    _, theirs = models
    src, tgt = some_ids(2, 100, 1, 30), some_ids(2, 120, 1, T)
    other = padded(src)
    other[:, 30:] = 5
    apart = theirs(padded(src), tgt) - theirs(other, tgt)
    assert apart.abs().max() > 1e-3
