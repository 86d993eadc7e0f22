"""The first NaN is found where it is made, and usual infinity is none."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from shapewatch.tracing import trace

torch.manual_seed(0)
X, NAN = torch.randn(3, 4), float("nan")
ROWS = torch.ones(3, 3).tril() > 0
NO_ROW = torch.tensor([[1, 0, 0], [0, 0, 0], [1, 1, 1]]) > 0


def attend(x, mask):
    scores = x @ x.mT
    scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ x


def written(x, mask):
    y = x * 2
    y[0] = NAN
    return y + 1


def log_in_place(x, mask):
    y = x.clone()
    y.log_()
    return y.exp()


def through_a_library(x, mask):
    return functional.normalize(x * 0, eps=0)


def raw_memory(x, mask):
    y = torch.empty(3, 4)
    y.fill_(NAN)  # as it may come
    return y + x


def overflow(x, mask):
    large = x.half() * 1000
    scores = large @ large.mT
    scores = scores - scores.amax(-1, keepdim=True)
    return scores.softmax(-1)


def vanishing(x, mask):
    """As a norm in half precision does: the square is too large."""
    large = x.half() * 10000
    square = large.pow(2).mean(-1, keepdim=True)
    return large * torch.rsqrt(square)


def entropy(x, mask):
    p = mask.float()
    logs = p.log()
    return (p * logs).sum()


# What is found of (x, mask): the variable, and what the text says.
FOUND = {
    attend: (NO_ROW, "weights", "3 NaN in 9 numbers", "every query attend"),
    log_in_place: (ROWS, "", "y: from -", "logarithm of 0"),
    through_a_library: (ROWS, "", "12 NaN in 12", "0 / 0 is NaN"),
    overflow: (ROWS, "scores", "It becomes NaN outside", "float16 holds no"),
    vanishing: (ROWS, "", "large: from -", "above 6.55e+04"),
    entropy: (ROWS, "logs", "It becomes NaN", "p: from 0 to 1"),
    written: (ROWS, "", "something has written into", "y: from"),
}


@pytest.mark.parametrize("model", FOUND, ids=lambda f: f.__name__)
def test_the_call_that_makes_it_is_named_with_what_it_reads(model):
    mask, variable, *said = FOUND[model]
    found = trace(model, X, mask).first_nan()
    assert found
    assert found.row.variable == variable
    assert "test_first_nan.py:" in found.line
    assert [text for text in said if text not in str(found)] == []


def test_the_text_is_one_to_act_on():
    sizes = {"T": 3, "D": 4}
    seen = trace(attend, X, NO_ROW, dims=sizes, axes=["T D", "T T"])
    found = seen.first_nan()
    line = attend.__code__.co_firstlineno + 3
    assert str(found).splitlines() == [
        f"The first NaN is made outside every module, "
        f"test_first_nan.py:{line}:",
        "  weights = scores.softmax(-1)        (T, T) -> (T, T)",
        "It makes 3 NaN in 9 numbers. It reads:",
        f"  scores: from -inf to {(X @ X.mT)[NO_ROW].max():.3g}",
        "The softmax of a row that is -inf everywhere is NaN: let every "
        "query attend to something.",
    ]


def added(x, mask):
    return x @ x.mT + torch.full((3, 3), -math.inf).triu(1)


def chosen(x, mask):
    logs = torch.arange(3.0).log()
    return torch.where(torch.arange(3) > 0, logs, 0.0)


def forbidden_words(x, mask):
    return x.masked_fill(x > 1, float("-inf"))


def of_numbers(x, mask):
    return torch.tensor([1.0, math.inf]) + 1


def log_of_a_mask(x, mask):
    return (x @ x.mT + mask.float().log()).softmax(-1)


MEANT = [attend, added, chosen, forbidden_words, of_numbers, log_of_a_mask]


@pytest.mark.parametrize("model", MEANT, ids=lambda f: f.__name__)
def test_infinity_that_masks_is_not_found(model):
    found = trace(model, X, ROWS).first_nan()
    assert not found
    assert str(found).startswith("None of ")


def test_infinity_that_reaches_the_result_is_found():
    found = trace(lambda p: p.log() * 2, torch.tensor([0.0, 1.0])).first_nan()
    assert found.row.expression == "p.log()"
    assert "numbers from -inf to 0" in str(found)


def test_memory_that_nobody_has_written_to_is_not_read_as_a_fault(
    monkeypatch,
):
    def raw(x):
        memory = torch.empty(2, 3)
        memory[0] = x
        return memory[0] + memory[1:].nan_to_num()

    fill = torch.utils.deterministic
    monkeypatch.setattr(fill, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(2).isnan().all()
        assert not trace(raw, torch.ones(3)).first_nan()
        found = trace(raw_memory, X, ROWS).first_nan()
        assert found.row.expression == "y.fill_(NAN)", "whatever lay there"
    finally:
        torch.use_deterministic_algorithms(False)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        self.register_buffer("shift", torch.zeros(4))

    def forward(self, x):
        return self.layers(x + self.shift)


@pytest.mark.parametrize("name", ["layers.1.weight", "shift", "x"])
def test_nan_that_comes_in_is_named(name):
    model, x = Net(), X.clone()
    with torch.no_grad():
        tensors = {**model.state_dict(keep_vars=True), "x": x}
        tensors[name][..., 0] = NAN
    found = trace(model, x).first_nan()
    assert str(found).startswith(
        f"NaN comes in with {name}, before any call. It is first read in"
    )
    assert found.row.path == ("layers.1" if "1" in name else "(Net)")
    assert ", and " in str(found)


def test_a_run_that_stops_is_searched_as_far_as_it_gets():
    def run(x, stop):
        y = (x * 0).sqrt().div(0) if stop else x + 1
        raise ArithmeticError(y.shape)

    for stop, said in (True, ".div(0)"), (False, "(then it stopped: Arith"):
        with pytest.raises(ArithmeticError) as error:
            trace(run, X, stop)
        assert said in str(error.value.trace.first_nan())
