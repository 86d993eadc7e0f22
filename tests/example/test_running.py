"""The running model is the same in every chapter, and wholly named."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from shapewatch.properties.subject import Subject
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    char_lm,
    running_example,
    running_model,
    running_trace,
    tiny_translator,
)
from tformer_lite.example.running import example_ids, in_vocabulary


def test_the_trace_is_of_the_running_example_and_nothing_is_drawn():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    seen, example, model = running_trace(), running_example(), running_model()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not model.training
    assert all(map(torch.equal, seen.inputs, example[:2]))
    with torch.no_grad():
        assert torch.equal(seen.result, model(*example[:2]))
    assert not seen.result.requires_grad
    assert seen.result.shape == (2, 8, 1024)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{}, {"d_model": 8, "n_heads": 2}, {"vocab_size": 700, "d_ff": 8}],
)
def test_every_axis_is_proved_and_every_value_kept(change):
    seen = running_trace(replace(tiny_translator, **change))
    names = [a for side in seen.axes for many in side for t in many for a in t]
    assert {axis.proof for axis in names} == {"proved"}
    assert seen.notes == []
    assert len(seen.attention()) == 3
    first = " ".join(map(str, seen.attention()[2].axes))
    assert first == "B H T S"


@pytest.mark.parametrize(
    ("size", "pad", "ids"),
    [
        (99, 1, [0, 1, 2, 3, 4, 5, 9, 30]),
        (99, 3, [0, 3, 2, 1, 4, 5, 9, 30]),  # two change places
        (10, 1, [0, 1, 2, 3, 4, 5, 9, 6]),
        (9, 1, [0, 1, 2, 3, 4, 5, 4, 5]),
        (5, 1, [0, 1, 2, 3, 4, 4, 4, 4]),
        (3, 1, [0, 1, 2, 2, 2, 2, 2, 2]),
    ],
)
def test_words_that_a_vocabulary_does_not_have_become_others(size, pad, ids):
    given = torch.tensor([[0, 1, 2, 3, 4, 5, 9, 30]])
    assert in_vocabulary(given, size, pad).tolist() == [ids]


def test_a_model_of_ours_is_given_the_running_example():
    given = example_ids(running_model())
    assert all(map(torch.equal, given, running_example()[:2]))
    (alone,) = example_ids(DecoderOnly(char_lm))
    assert alone.shape == running_example().tgt.shape


@pytest.mark.parametrize("pad", [0, 1, 3])
def test_the_example_speaks_the_models_language(pad):
    sizes = {"vocab_size": 9, "src_vocab_size": 7, "max_len": 7, "pad": pad}
    model = EncoderDecoder(replace(tiny_translator, **sizes))
    right, subject = running_example(), Subject(model, example_ids(model))
    masks = zip(subject.real, subject.unknown)
    for mine, theirs, (real, unknown) in zip(subject.inputs, right[:2], masks):
        theirs = theirs[:, :7]
        assert_close(mine == pad, theirs == 1)
        assert_close(real, theirs != 1)
        assert_close(unknown, theirs == 0)
        assert_close(mine >= 4, theirs >= 4)
    source, target = subject.inputs
    assert source.max() < 7
    assert 7 <= target.max() < 9
