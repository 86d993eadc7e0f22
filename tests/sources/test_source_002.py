"""The character model against source 002."""

import os
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers import source_002
from tests.helpers.weights import copied, count, in_doubles, outputs, shaken
from tformer_lite import DecoderOnly, char_lm

NAMES = {
    r"embedding\.": "",
    r"positions\.table": "positions.weight",
    r"decoder\.": "",
}
doubles = pytest.fixture(autouse=True)(in_doubles)


def both(vocab_size=65):
    """The preset, and the source's model as its train.py builds it."""
    mine = shaken(DecoderOnly(replace(char_lm, vocab_size=vocab_size)))
    theirs = source_002.CharacterModel(vocab_size, longest=64)
    return mine, copied(mine, theirs, NAMES)


@pytest.mark.parametrize(
    ("vocab_size", "parameters"), [(28, 280_576), (65, 290_048)]
)
def test_the_parameters_are_273_408_and_256_for_each_character(
    vocab_size, parameters
):
    mine, theirs = both(vocab_size)
    assert count(mine) == count(theirs) == parameters
    assert parameters == 273_408 + 256 * vocab_size


@pytest.mark.parametrize("length", [1, 32, 64])
def test_the_whole_model_is_the_sources(length):
    mine, theirs = both()
    ids = torch.randint(65, (3, length))
    logits = mine.eval()(ids)
    assert logits.shape == (3, length, 65)
    assert_close(logits, theirs.eval()(ids), atol=1e-10, rtol=0)


def test_a_text_beyond_64_characters_is_refused_by_both_with_both_numbers():
    mine, theirs = both()
    ids = torch.zeros(1, 65, dtype=torch.long)
    with pytest.raises(ValueError, match="65 positions .* max_len=64"):
        mine(ids)
    with pytest.raises(ValueError, match="65 > .*64"):
        theirs(ids)


def test_dropout_is_the_papers_here_and_twice_on_one_branch_there():
    """The source keeps 0.9 * 0.9 of that branch, and drops no weights."""
    mine, theirs = both()
    ids = torch.randint(65, (2, 9))
    sums, weights, hidden = (2, 9, 128), (2, 4, 9, 9), (2, 9, 256)
    here = [shape for _, shape in outputs(mine, ids, kind=nn.Dropout)]
    there = [shape for _, shape in outputs(theirs, ids, kind=nn.Dropout)]
    assert here == [sums] + 2 * [weights, sums, hidden, sums]
    assert there == [sums] + 2 * [sums, sums, sums]


def test_a_branch_that_is_dropped_twice_keeps_0_81_of_its_numbers():
    _, theirs = both()
    block, x = theirs.blocks[0].train(), torch.randn(8, 50, 128)
    bent = block.dropout(block.feed_forward(x))
    assert (bent != 0).double().mean() == pytest.approx(0.81, abs=0.01)


def test_the_sources_last_norm_does_nothing_at_the_start():
    model = source_002.CharacterModel(65, longest=64).eval()
    logits = model(ids := torch.randint(65, (2, 9)))
    model.norm = nn.Identity()
    assert_close(model(ids), logits, atol=1e-3, rtol=0)


def test_the_source_stops_at_a_bare_file_name_and_at_too_large_a_k():
    with pytest.raises(FileNotFoundError):
        os.makedirs(os.path.dirname("model.pt"), exist_ok=True)
    with pytest.raises(RuntimeError, match="out of range"):
        torch.topk(torch.zeros(65), k=66, dim=-1)
