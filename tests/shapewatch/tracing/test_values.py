"""Kept values stay what they were when they were made."""

import re
from importlib import import_module

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close

from tformer_lite import running_example, trace
from tformer_lite.example.running import running_model

CROSS = "decoder.blocks.0.cross_attention"
WRITERS = {
    "masked_fill_": lambda y: y.masked_fill_(y > 0, -1),
    "an item": lambda y: y.__setitem__(0, 7.0),
    "out": lambda y: torch.add(y, 1, out=y),
    "+=": lambda y: y.__iadd__(1),
    "a view": lambda y: y.view(-1).mul_(2),
}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_what_is_written_over_was_copied(write):
    x = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])

    def model(x):
        y = x * 2
        z = y + 1
        write(y)
        return y, z

    seen = trace(model, x, keep=True)
    y, z = seen.result
    assert not y.equal(x * 2)
    assert seen[":y"].equal(x * 2)
    assert seen[":z"].equal(z)


def test_a_tensor_keeps_its_number_whatever_is_written_into_it():
    def run(x):
        z = x + 1
        z.unsqueeze_(0)
        return z.relu_()

    add, unsqueeze, relu = trace(run, torch.ones(3)).steps
    assert unsqueeze.reads[0] == add.makes[0]
    assert unsqueeze.makes == [add.makes[0]._replace(shape=(1, 3))]
    assert relu.reads == relu.makes == unsqueeze.makes


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
    bare = trace(model, src, tgt)
    with pytest.raises(KeyError, match="weights' was not kept: trace with"):
        bare[f"{CROSS}:weights"]


THEIRS = """
from torch import nn

def folded(x):
    x = x.unflatten(-1, (2, -1))
    return x.mT.flatten(-2)

class Given(dict):
    __getattr__ = dict.__getitem__

class Theirs(nn.Module):
    def forward(self, x):
        inner = x * 2
        return Given(first=inner, last=(None, inner.relu()))
"""


class Step(nn.Module):
    """The reader's own module: it gives a variable, not a call."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        inner = self.linear(x)
        return inner if inner.ndim else x


class Lines(nn.Module):
    """One line of each kind on whose behalf somebody else makes calls."""

    def __init__(self, theirs):
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.attn = nn.MultiheadAttention(16, 2, batch_first=True)
        self.lstm, self.same = nn.LSTM(16, 16), nn.Identity()
        self.seq = nn.Sequential(nn.Linear(16, 16), nn.ReLU())
        self.steps = nn.Sequential(Step(), Step())
        self.theirs, self.folded = theirs.Theirs(), theirs.folded

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        y = self.enc(x, mask=mask)
        a, w = self.attn(y, y, y)
        bare, nothing = self.attn(y, y, y, need_weights=False)
        second = self.attn(y, y, y)[1]
        out, (h, c) = self.lstm(y)
        most, where = y.max(-1)
        first = self.theirs(y)["first"]
        nothing, last = self.theirs(y).last
        folded = self.folded(y)
        own = self.steps(y)
        same = self.same(own)
        both = own + functional.gelu(self.seq(y))
        both += self.attn(y, y, y)[0]
        for _ in range(2):
            turned = self.folded(self.seq(y))
        self.variables = {k: v for k, v in locals().items() if k != "self"}
        return self.seq(both)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    home = tmp_path_factory.mktemp("here") / "site-packages"
    home.mkdir()
    (home / "theirs_of_a_test.py").write_text(THEIRS)
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.syspath_prepend(home)
        model = Lines(import_module("theirs_of_a_test")).eval()
        return trace(model, torch.randn(2, 5, 16), keep=True)


BOUND = "mask y a w bare second out h c most where first last folded own same"
BOUND += " both turned"


@pytest.mark.parametrize("name", BOUND.split())
def test_a_variable_holds_what_its_line_gave_once(lines, name):
    """The witness: the variable itself. Two lines bind `both`, and a loop
    `turned` twice."""
    value, twice = lines.model.variables[name], name in ("both", "turned")
    assert lines[(name, 1) if twice else name].equal(value)
    with pytest.raises(ValueError, match=f"bound {1 + twice} times, not"):
        lines[name, 1 + twice]


def test_no_call_inside_a_library_has_the_reader_s_line(lines):
    called = {(row.path, row.call) for row in lines.calls().rows}
    assert ("enc.layers.0.norm1", "layer_norm") in called
    assert {("attn", "softmax"), ("lstm", "zeros"), ("seq.1", "relu")} < called
    assert {("(Lines)", x) for x in ("triu", "mT")} < called
    assert ("theirs", "inner = x * 2") in called, "it is their own line"
    assert ("steps.0.linear", "inner = self.linear(x)") in called
    lost = re.compile(r"(enc|attn|lstm|folded|mask)\(")
    assert not [call for _, call in called if lost.search(call)]


def test_a_module_may_be_left_out_of_a_name_where_one_alone_has_it(lines):
    assert lines["y"] is lines["(Lines):y"] is lines[":y"]
    with pytest.raises(ValueError, match=r"several .*'steps\.1:inner'"):
        lines["inner"]
    with pytest.raises(KeyError, match="no line binds 'q': there are .*:y"):
        lines["q"]
