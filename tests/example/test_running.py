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
    trace, example, model = running_trace(), running_example(), running_model()
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not model.training
    assert all(map(torch.equal, trace.inputs, example[:2]))
    with torch.no_grad():
        assert torch.equal(trace.result, model(*example[:2]))
    assert not trace.result.requires_grad
    assert trace.result.shape == (2, 8, 1024)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{}, {"d_model": 8, "n_heads": 2}, {"vocab_size": 700, "d_ff": 8}],
)
def test_every_axis_is_proved_and_every_value_kept(change):
    trace = running_trace(replace(tiny_translator, **change))
    tensors = [t for side in trace.axes for many in side for t in many]
    assert {axis.proof for t in tensors for axis in t} == {"proved"}
    assert trace.notes == []
    assert len(trace.attention()) == 3
    first = " ".join(map(str, trace.attention()[2].axes))
    assert first == "B H T S"
