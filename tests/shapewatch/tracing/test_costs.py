"""Parameters and FLOPs, against figures that are not ours; modules that
share; and the sheet."""

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout, scaled_dot_product_attention

from shapewatch.tracing import flops
from tests.helpers import source_003
from tests.helpers.listings import elements, text_of
from tests.helpers.small import words


@pytest.mark.slow
def test_source_003_takes_9_557_606_400_multiply_adds_and_twice_the_flops():
    ids = words(100, 1, 200), words(120, 1, 200, seed=1)
    whole = flops(source_003.Translator().eval(), *ids)[""]
    assert whole.multiply_adds == 9_557_606_400
    assert whole.flops == 19_115_212_800
    assert whole.parameters == 44_312_696


Q, K = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 7, 4)
MATRIX, VECTOR, X = torch.randn(3, 4), torch.randn(4), torch.randn(6, 2, 4)
GATE = 2 * 6 * 2 * 2 * 5 * ((4 + 5) + (2 * 5 + 5))
BY_HAND = {
    "attention": (
        scaled_dot_product_attention,
        [Q, K, K],
        2 * (2 * 2 * 3 * 5 * 7 * 4),
    ),
    "matrix and vector": (torch.matmul, [MATRIX, VECTOR], 2 * 3 * 4),
    "vectors": (torch.matmul, [VECTOR, VECTOR], 2 * 4),
    "LSTM": (nn.LSTM(4, 5, 2, bidirectional=True), [X], 4 * GATE),
    "GRU": (nn.GRU(4, 5, 2, bidirectional=True), [X], 3 * GATE),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_products_are_counted_as_by_hand(name):
    model, inputs, by_hand = BY_HAND[name]
    whole = flops(model, *inputs)[""]
    assert whole.flops == by_hand
    assert whole.kind == getattr(model, "__name__", name)


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

    def forward(self, ids):
        x = self.again(self.layer(self.embedding(ids)))
        x = dropout(self.norm(x.mT).mT, 0.5)
        return {"logits": self.scale * self.head(x), "ids": ids}


def test_shared_parameters_count_once_and_layers_compute_each_time():
    sheet = flops(Tied(), words(11, 2, 3))
    assert sheet[""].parameters == 44 + 20 + 45 + 8 + 1
    assert sheet["head"].parameters == sheet["embedding"].parameters == 44
    assert sheet["layer"].flops == 2 * (2 * 6 * 4 * 4)
    assert sheet["unused"].flops == 0
    assert sheet[""].flops == sheet["layer"].flops + sheet["head"].flops
    with pytest.raises(KeyError, match="no 'heads'"):
        sheet["heads"]


def test_a_sheet_prints_its_columns_and_its_total_and_shows_the_same():
    kind = type("<A&B>", (nn.Linear,), {})
    sheet = flops(nn.Sequential(kind(40, 30), nn.ReLU()), torch.randn(5, 40))
    *lines, _ = str(sheet).splitlines()
    assert lines == [
        "module  class       parameters   FLOPs  multiply-adds",
        "0       <A&B>            1,230  12,000          6,000",
        "1       ReLU                 0       0              0",
        "total   Sequential       1,230  12,000          6,000",
    ]
    page = elements(f"<div>{sheet._repr_html_()}</div>")
    rows = [[*map(text_of, row)] for row in page.iter("tr")]
    assert rows == [line.split() for line in lines]
    scopes = [header.get("scope") for header in page.iter("th")]
    assert scopes == ["col"] * 5 + ["row"] * 3
