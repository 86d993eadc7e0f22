"""What is compiled or scripted runs traced as it runs untraced; and a trace
says what cannot be seen."""

import warnings

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.tracing import trace

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
NEEDS_2_6 = pytest.mark.skipif(
    not hasattr(torch.compiler, "set_stance"), reason="needs torch 2.6"
)


def eager(part):
    return torch.compile(part, backend="eager")


def compiled_in_place():
    layer = nn.Linear(3, 4)
    layer.compile(backend="eager")
    return layer


COMPILED = {
    "model": lambda: eager(nn.Linear(3, 4)),
    "part": lambda: nn.Sequential(nn.Linear(3, 3), eager(nn.Linear(3, 4))),
    "in place": compiled_in_place,
    "function": lambda: eager(lambda x: (x + 1) * 2),
}


@pytest.mark.slow
@NEEDS_2_6
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_is_traced_line_by_line_and_stays_compiled(
    name, recwarn
):
    model, x = COMPILED[name](), torch.randn(2, 3)
    cold = trace(model, x, dims={"B": 2}, axes=["B _"])
    expected = model(x)
    warm = trace(model, x, dims={"B": 2}, axes=["B _"])
    assert_close(warm.result, expected)
    assert cold.notes == warm.notes == []
    assert str(cold) == str(warm)
    assert "(B, 3)" in str(warm)
    outside = "outside every module" in str(warm)
    assert outside is (name == "function")
    assert torch._dynamo.eval_frame._stance.stance == "default"
    assert not recwarn.list


def test_what_cannot_be_seen_is_one_call_noted_once_and_runs_as_ever():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Sequential(nn.Linear(4, 4), torch.jit.script(nn.ReLU()))
    seen = trace(model, X, keep=True)
    (note,) = seen.notes
    assert "cannot see inside scripted code" in note
    assert f"note: {note}" in str(seen)
    assert [step.name for step in seen.steps] == ["linear", "script"]
    assert seen.result.equal(model(X))
    assert seen.flops().rows


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
def test_what_runs_out_of_sight_is_refused():
    layer, x = nn.Linear(3, 4), torch.randn(2, 3)
    with pytest.raises(TypeError, match="inside a TopLevelTracedModule"):
        trace(torch.jit.trace(layer, (x,)), x)
    with pytest.raises(TypeError, match="inside a ScriptFunction"):
        trace(torch.jit.trace(lambda x: x + 1, (x,)), x)
    assert len(trace(torch.export.export(layer, (x,)).module(), x)) == 1
