"""The graph of a run: what is written in its boxes."""

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from tests.helpers.graphs import Residual, graph, ways

X = torch.randn(2, 4)


def test_inputs_by_keyword_have_their_names():
    seen = trace(Residual(), x=X)
    assert 'in0(["x"])' in seen.to_mermaid()


def test_a_label_that_needs_care_is_written_with_it():
    kind = type('A"<#&>"', (Residual,), {})
    text = trace(nn.Sequential(kind()), X).to_mermaid(1)
    assert '["0<br>A#quot;#lt;#35;#amp;#gt;#quot;"]' in text


def test_of_a_run_that_failed_the_box_says_so():
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(6, 7))
    with pytest.raises(RuntimeError) as caught:
        trace(model, X)
    text = caught.value.trace.to_mermaid()
    assert '["1<br>Linear<br>failed"]' in text
    assert '["0<br>Linear"]' in text


def test_of_a_function_there_are_the_modules_that_it_calls():
    first, last = nn.Linear(4, 4), nn.ReLU()
    _, arrows = graph(lambda x: last(first(x) * 2), X)
    assert ways(arrows) == {
        ("input", "first Linear"),
        ("first Linear", "last ReLU"),
    }
    assert graph(lambda x: x + 1, X) == ({"n0": "function"}, set())
