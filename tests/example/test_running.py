"""The running model is the same in every chapter, and wholly named."""

from dataclasses import replace

import pytest
import torch

from tformer_lite import (
    running_example,
    running_model,
    running_trace,
    tiny_translator,
)
from tformer_lite.example.running import in_vocabulary


def test_the_weights_are_the_same_each_time_and_nothing_is_drawn():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, other = running_model(), running_model()
    assert torch.equal(torch.random.get_rng_state(), before)
    for mine, theirs in zip(one.parameters(), other.parameters()):
        assert torch.equal(mine, theirs)
    assert not one.training


def test_the_trace_is_of_the_running_example():
    seen, example = running_trace(), running_example()
    assert torch.equal(seen.inputs[0], example.src)
    assert torch.equal(seen.inputs[1], example.tgt)
    with torch.no_grad():
        expected = running_model()(example.src, example.tgt)
    assert torch.equal(seen.result, expected)
    assert not seen.result.requires_grad
    assert seen.result.shape == (2, 8, 1024)


@pytest.mark.parametrize(
    "change",
    [{}, {"d_model": 8, "n_heads": 2}, {"vocab_size": 700, "d_ff": 8}],
    ids=str,
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
