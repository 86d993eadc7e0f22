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
