"""Modules that share, freeze or forget; what is left behind; the sheet."""

from html.parser import HTMLParser

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from shapewatch.tracing.questions.costs import flops, gradients, parameters
from tests.helpers.listings import unstyled
from tests.helpers.small import words


class Tied(nn.Module):
    """A head that is the embedding, one layer used twice, one unused."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 4)
        self.layer = self.again = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 9)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Linear(4, 11, bias=False)
        self.head.weight = self.embedding.weight
        self.scale = nn.Parameter(torch.ones(()))
        self.norm.requires_grad_(False)

    def forward(self, ids):
        x = self.again(self.layer(self.embedding(ids)))
        x = dropout(self.norm(x.mT).mT, 0.5)
        return {"logits": self.scale * self.head(x), "ids": ids}


def test_shared_parameters_count_once_and_frozen_ones_are_told_apart():
    sheet = parameters(Tied())
    assert sheet[""][2:] == (44 + 20 + 45 + 8 + 1, 8)
    assert sheet["head"].parameters == sheet["embedding"].parameters == 44
    assert sheet["norm"][2:] == (8, 8)
    assert sheet.notes[0] == (
        "one parameter, counted once: embedding.weight, head.weight"
    )


def test_a_layer_used_twice_computes_twice():
    sheet = flops(Tied(), words(11, 2, 3))
    assert sheet["layer"].flops == 2 * (2 * 6 * 4 * 4)
    assert sheet["unused"].flops == 0
    assert sheet[""].flops == sheet["layer"].flops + sheet["head"].flops


def test_gradients_have_their_parameters_shape_unless_dead_or_frozen():
    sheet = gradients(Tied(), words(11, 2, 3))
    assert sheet["embedding.weight"].gradient == "(11, 4)"
    assert sheet["scale"].gradient == "()"
    assert sheet["unused.weight"].gradient == "none"
    assert sheet["norm.weight"].gradient == "frozen"
    assert "none" in sheet.notes[0]
    for name, p in Tied().named_parameters():
        assert sheet[name].shape == p.shape


class Broken(Tied):
    def forward(self, ids):
        super().forward(ids)
        raise LookupError("on purpose")


def state(model):
    """All that a count could leave behind."""
    parts = list(model.modules())
    return [
        *(value.tolist() for value in model.state_dict().values()),
        *(
            p.grad if p.grad is None else id(p.grad)
            for p in model.parameters()
        ),
        *(p.grad.tolist() for p in model.parameters() if p.grad is not None),
        *((m.training, len(m._forward_hooks)) for m in parts),
        *(len(m._forward_pre_hooks) for m in parts),
        len(torch.nn.modules.module._global_forward_hooks),
        len(torch.nn.modules.module._global_forward_pre_hooks),
        id(nn.Module._call_impl),
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        torch._C._len_torch_dispatch_stack(),
    ]


@pytest.mark.parametrize("count", [flops, gradients])
@pytest.mark.parametrize("kind", [Tied, Broken])
def test_counting_leaves_everything_as_it_was(kind, count):
    model = kind()
    model.layer.weight.grad = torch.full((4, 4), 3.0)
    model.head.eval()
    before = state(model)
    if kind is Broken:
        with pytest.raises(LookupError):
            count(model, words(11, 2, 3))
    else:
        count(model, words(11, 2, 3))
    assert state(model) == before


def test_a_sheet_prints_its_columns_and_its_total():
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU())
    assert str(flops(model, torch.randn(5, 40))).splitlines()[:4] == [
        "module  class       parameters   FLOPs  multiply-adds",
        "0       Linear           1,230  12,000          6,000",
        "1       ReLU                 0       0              0",
        "total   Sequential       1,230  12,000          6,000",
    ]
    assert str(gradients(model[0], torch.randn(40))).splitlines() == [
        "parameter  shape     gradient",
        "weight     (30, 40)  (30, 40)",
        "bias       (30,)     (30,)",
    ]
    assert str(gradients(nn.ReLU(), torch.randn(3))) == ""


class Cells(HTMLParser):
    """The cells of a table, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.headers = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag == "th":
            self.headers.append(dict(attrs)["scope"])

    def handle_data(self, data):
        self.rows[-1].append(data)


def test_the_html_is_a_table_with_the_same_cells_and_real_headers():
    class A(nn.Linear):
        """A class whose name needs care."""

    A.__name__ = "<A&B>"
    sheet = parameters(nn.Sequential(A(40, 30)))
    html = Cells(unstyled(sheet._repr_html_()))
    text = [line.split() for line in str(sheet).splitlines()]
    assert html.rows == text
    assert html.headers == ["col"] * 4 + ["row"] * 2


def test_a_path_that_is_not_there_is_refused():
    with pytest.raises(KeyError, match="no 'heads'"):
        parameters(nn.Linear(4, 5))["heads"]
