"""A trace says where an untraced run goes another way."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tformer_lite import trace

LAYER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
FUSIBLE = {
    "an attention layer": nn.MultiheadAttention(8, 2, batch_first=True),
    "a layer": LAYER,
    "a stack": nn.TransformerEncoder(LAYER, 2),
}
COMPILED = "compiled code ran as it is written, line by line"


def inputs_of(model):
    x = torch.randn(2, 5, 8)
    return (x, x, x) if isinstance(model, nn.MultiheadAttention) else (x,)


@pytest.mark.parametrize("name", FUSIBLE)
def test_layers_that_pytorch_fuses_are_named(name):
    model = FUSIBLE[name].eval()
    inputs = inputs_of(model)
    with torch.no_grad():
        plain, seen = model(*inputs), trace(model, *inputs)
    assert_close(seen.result, plain)
    (note,) = seen.notes
    assert "fused" in note
    assert len(seen) > 20
    named = {"a stack": "layers.0, layers.1 as", "a layer": "EncoderLayer as"}
    assert named.get(name, "MultiheadAttention as") in note
    assert note in str(seen)


def whole():
    return torch.compile(nn.Linear(3, 4), backend="eager")


def within():
    return nn.Sequential(nn.Linear(3, 3), whole())


def in_place():
    layer = nn.Linear(3, 4)
    layer.compile(backend="eager")
    return layer


def function():
    return torch.compile(lambda x: (x + 1) * 2, backend="eager")


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6"
)
@pytest.mark.parametrize("make", [whole, within, in_place, function])
def test_compiled_code_is_traced_line_by_line_and_stays_compiled(
    make, recwarn
):
    model, x = make(), torch.randn(2, 3)
    cold = trace(model, x, dims={"B": 2}, axes=["B _"])
    expected = model(x)
    warm = trace(model, x, dims={"B": 2}, axes=["B _"])
    assert_close(warm.result, expected)
    assert cold.notes == warm.notes == [COMPILED]
    assert str(cold) == str(warm)
    assert "(B, 3)" in str(warm)
    assert torch._dynamo.eval_frame._stance.stance == "default"
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_what_runs_out_of_sight_is_refused():
    layer, x = nn.Linear(3, 4), torch.randn(2, 3)
    with pytest.raises(TypeError, match=r"trace its \.module\(\)"):
        trace(torch.export.export(layer, (x,)), x)
    with pytest.raises(TypeError, match="TopLevelTracedModule runs out of"):
        trace(torch.jit.trace(layer, (x,)), x)
    with pytest.raises(TypeError, match="ScriptFunction runs out of"):
        trace(torch.jit.trace(lambda x: x + 1, (x,)), x)
    assert len(trace(torch.export.export(layer, (x,)).module(), x)) == 1
