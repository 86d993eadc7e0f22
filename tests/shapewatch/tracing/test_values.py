"""Kept values stay what they were when they were made."""

import pytest
import torch
from torch.nn import functional
from torch.testing import assert_close

from tformer_lite import running_example, trace
from tformer_lite.example.running import running_model

CROSS = "decoder.blocks.0.cross_attention"


def kept(seen) -> list[torch.Tensor]:
    """The first tensor that each step made."""
    values = seen._calls.run.values.kept
    return [values[i][0] for i in range(len(seen))]


WRITERS = {
    "masked_fill_": lambda y: y.masked_fill_(y > 0, -1),
    "an item": lambda y: y.__setitem__(0, 7.0),
    "out": lambda y: torch.add(y, 1, out=y),
    "two outs": lambda y: torch.max(
        torch.ones(3, 3), 0, out=(y[0], torch.zeros(3, dtype=torch.int64))
    ),
    "inplace": lambda y: functional.relu(y, inplace=True),
    "+=": lambda y: y.__iadd__(1),
    "a view": lambda y: y.view(-1).mul_(2),
    "an initialiser": lambda y: torch.nn.init.ones_(y),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_is_written_over_was_copied(write):
    x = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])

    def model(x):
        y = x * 2
        z = y + 1
        write(y)
        return y, z

    y, z = trace(model, x, keep=True).result
    first, second, *_ = kept(trace(model, x, keep=True))
    assert not y.equal(x * 2)
    assert_close(first, x * 2)
    assert_close(second, z)


def test_a_tensor_keeps_its_number_until_its_data_is_another():
    def run(x, y):
        z = x + 1
        z.unsqueeze_(0)
        z = z.relu_()
        z.data = y
        return z + 1

    add, unsqueeze, relu, again = [
        step
        for step in trace(run, torch.ones(3), torch.ones(2)).steps
        if step.name != "data"
    ]
    assert unsqueeze.reads[0] == add.makes[0]
    assert unsqueeze.makes == [add.makes[0]._replace(shape=(1, 3))]
    assert relu.reads == relu.makes == unsqueeze.makes
    assert again.reads[0].number != add.makes[0].number
    assert again.reads[0].shape == again.makes[0].shape == (2,)


def test_a_value_is_found_by_its_path_its_variable_and_its_number():
    src, tgt, *_ = running_example()
    model = running_model()
    seen = trace(model, src, tgt, keep=True)
    with pytest.raises(ValueError, match="scores' was bound 2 times"):
        seen[f"{CROSS}:scores"]
    raw, masked = seen[f"{CROSS}:scores", 0], seen[f"{CROSS}:scores", 1]
    assert_close(raw, seen.attention()[2].scores)
    assert_close(masked, seen.attention()[2].masked)
    assert seen[f"{CROSS}:q"].shape == (2, 3, 8, 4), "which a function gave"
    with pytest.raises(ValueError, match="bound 2 times, not 3"):
        seen[f"{CROSS}:scores", 2]
    with pytest.raises(KeyError, match="no line binds .*there are .*weights"):
        seen[f"{CROSS}:wieghts"]
    bare = trace(model, src, tgt, keep=f"{CROSS}:top")
    with pytest.raises(KeyError, match="weights' was not kept: trace with"):
        bare[f"{CROSS}:weights"]
