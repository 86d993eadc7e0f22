"""A model is asked the same whether its inputs are given by place, by name,
or in a dictionary; and what is judged may be picked."""

from collections import UserDict
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from shapewatch.properties import causality, report
from tests.helpers.strangers import GPT, IDS, MASK, PADDED, PLACES, WithMasks

NAMED = {"ids": PADDED, "mask": MASK, "places": PLACES}
MIXED = {"places": PLACES, "mask": MASK, "ids": PADDED}


class AnyName(WithMasks):
    def forward(self, **named):
        return super().forward(**named)


class NamesOnly(WithMasks):
    def forward(self, *, ids, mask, places):
        return super().forward(ids, mask, places)


class OneBatch(WithMasks):
    def forward(self, batch):
        return super().forward(**batch)


def seeded(kind=WithMasks):
    torch.manual_seed(0)
    return kind()


def said(model, *inputs, **named):
    return str(report(model, *inputs, pad=1, **named))


PLAIN = said(seeded(), PADDED, MASK, PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [WithMasks, AnyName, NamesOnly])
def test_a_name_is_as_good_as_a_place(kind):
    assert said(seeded(kind), **NAMED) == PLAIN
    assert said(seeded(kind), **MIXED) == PLAIN
    assert said(seeded(kind), NAMED) == PLAIN
    assert said(seeded(kind), UserDict(NAMED)) == PLAIN
    if kind is WithMasks:
        assert said(seeded(), PADDED, mask=MASK, places=PLACES) == PLAIN
        assert said(seeded().forward, PADDED, mask=MASK, places=PLACES)


@pytest.mark.slow
def test_a_dictionary_may_be_an_input_itself():
    assert said(seeded(OneBatch), NAMED) == PLAIN


@pytest.mark.slow
def test_a_module_with_a_forward_of_its_own_is_asked():
    model = GPT()
    forward = model.forward
    model.forward = lambda *, ids: forward(ids)
    assert report(model, ids=IDS).ok
    assert report(nn.DataParallel(GPT()), {"ids": IDS}).ok


def test_a_name_that_is_nearly_an_options_is_refused():
    with pytest.raises(TypeError, match="'casual': is 'causal' meant"):
        report(seeded(AnyName), casual=False, **NAMED)
    says = report(seeded(AnyName), {"casual": False, **NAMED})["finite"].says
    assert "unexpected keyword argument 'casual'" in says


class Several(GPT):
    def forward(self, ids):
        last = super().forward(ids)
        return SimpleNamespace(other=torch.ones(2, 7, 3), last=last, size=3)


@pytest.mark.slow
def test_the_output_is_picked_by_name_or_by_a_function():
    model = Several()
    assert not report(model, IDS)["order_sensitivity"].holds
    assert report(model, IDS, output="last")["order_sensitivity"].holds
    assert causality(model, IDS, output=lambda y: y.last).holds
    found = report(lambda x: {"a": model(x).last, "b": x}, IDS, output="a")
    assert found.ok


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("lost", "There is no 'lost'. The model gave other, last, size."),
        ("size", "'size' is int, not a tensor. The model gave other, last"),
        (lambda y: y[0], "TypeError: 'types.SimpleNamespace' object is not"),
    ],
)
def test_what_cannot_be_picked_is_said(output, says):
    assert says in causality(Several(), IDS, output=output).says
    assert says in report(Several(), IDS, output=output)["past"].says
