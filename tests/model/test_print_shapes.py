"""The plain hooks of `print_shapes`: they say what the tracer's say."""

import pytest
import torch
from torch import nn

import shapewatch
from tformer_lite import print_shapes, running_example, running_model


class Nested(nn.Module):
    """Reads a dictionary and a keyword; gives lists in a dictionary."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 5), nn.LSTM(4, 3)

    def forward(self, batch, *, scale=None, label="none"):
        x, others = batch["x"], batch["others"]
        rows = [self.first(row) * scale for row in (x, *others)]
        return {"made": rows, "state": self.second(input=x), "label": label}


def nested():
    batch = {"x": torch.randn(6, 4), "others": (torch.randn(3, 4),)}
    return Nested(), (batch,), {"scale": torch.tensor(2.0), "label": "odd"}


MODELS = {
    "translator": lambda: (running_model(), running_example()[:2], {}),
    "nested": nested,
}


def said(capsys, printer, model, inputs, named) -> str:
    """What is printed while a model runs; nothing is afterwards."""
    capsys.readouterr()
    with torch.no_grad():
        with printer(model) as entered:
            assert entered is model
            model(*inputs, **named)
        text = capsys.readouterr().out
        model(*inputs, **named)
    assert capsys.readouterr().out == ""
    return text


def hooks_of(model) -> list[tuple[list, list]]:
    """The hooks of every module, before and after it runs."""
    return [
        ([*part._forward_pre_hooks.items()], [*part._forward_hooks.items()])
        for part in model.modules()
    ]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_text_is_the_tracer_s(name, training, capsys):
    model, inputs, named = MODELS[name]()
    model.train(training)
    mine = said(capsys, print_shapes, model, inputs, named)
    theirs = said(capsys, shapewatch.print_shapes, model, inputs, named)
    assert mine == theirs
    last = mine.splitlines()[-1]
    assert last.split()[0] == type(model).__name__


def test_without_with_it_goes_on_printing(capsys):
    """As chapter 0's own does; the witness: what `with` prints."""
    layer, x = nn.Linear(4, 5), torch.randn(3, 4)
    with print_shapes(layer):
        layer(x)
    said = capsys.readouterr().out
    print_shapes(layer)
    layer(x)
    layer(x)
    assert capsys.readouterr().out == said * 2 != ""


def test_no_hook_is_left_where_the_model_raises(capsys):
    """Nor is one lost that was there before."""
    model = nn.Module()
    model.parts = nn.Sequential(nn.Linear(4, 5), nn.Linear(6, 7))
    model.register_forward_hook(lambda *of: None)
    before = hooks_of(model)
    with pytest.raises(RuntimeError), print_shapes(model):
        model.parts(torch.randn(3, 4))
    assert hooks_of(model) == before
    said = capsys.readouterr().out
    assert said == "parts.0 Linear    (3, 4) -> (3, 5)\n"


DIMS = {"B": 2, "T": 5}
NAMES = {"dims": DIMS}, {"dims": DIMS, "axes": ["B T C"]}


@pytest.mark.parametrize("names", NAMES, ids=lambda names: "-".join(names))
def test_names_are_the_tracer_s_work(names, capsys):
    layer, x = nn.Linear(6, 7), torch.randn(2, 5, 6)
    texts = []
    for printer in (print_shapes, shapewatch.print_shapes):
        with printer(layer, **names) as entered:
            assert entered is layer
            layer(x)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert "B" in texts[0]
    assert hooks_of(layer) == [([], [])]


@pytest.mark.parametrize("names", [{}, {"dims": DIMS}], ids=["", "dims"])
@pytest.mark.parametrize("thing", [3, torch.matmul, nn.Linear])
def test_what_is_no_module_is_refused(thing, names):
    kind = type(thing).__name__
    with (
        pytest.raises(TypeError, match=f"needs a module, not a {kind}"),
        print_shapes(thing, **names),
    ):
        pass
