"""Shape-printing hooks, and the source of the call in progress."""

import linecache
import sys

import pytest
import torch

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite import MultiHeadAttention, print_shapes


def test_every_module_prints_its_measured_shapes(capsys):
    layer = MultiHeadAttention(12, 3)
    x, source = torch.randn(2, 5, 12), torch.randn(2, 6, 12)
    with print_shapes(layer):
        layer(x, source=source)
    assert capsys.readouterr().out.splitlines() == [
        "query Linear        (2, 5, 12) -> (2, 5, 12)",
        "key Linear          (2, 6, 12) -> (2, 6, 12)",
        "value Linear        (2, 6, 12) -> (2, 6, 12)",
        "dropout Dropout     (2, 3, 5, 6) -> (2, 3, 5, 6)",
        "output Linear       (2, 5, 12) -> (2, 5, 12)",
        "MultiHeadAttention  (2, 5, 12), (2, 6, 12) -> (2, 5, 12)",
    ]


def seen_from(*values, **options) -> list[str]:
    return argument_texts(sys._getframe(1))


def test_arguments_are_read_as_they_are_written():
    weights = torch.zeros(2, 3)
    texts = seen_from(weights[0, 1], -weights.mT, mask=None)
    assert texts == ["weights[0, 1]", "-weights.mT"]


def test_arguments_over_several_lines_and_in_other_scripts():
    थिएन = torch.zeros(2)
    texts = ["थिएन", seen_from(
        थिएन[0],
        थिएन + 1,
    )]  # fmt: skip
    assert texts[1] == ["थिएन[0]", "थिएन + 1"]


def test_what_cannot_be_read_is_left_out():
    assert seen_from(*[1, 2]) == []
    assert eval("seen_from(1)") == []


@pytest.mark.parametrize("now", ["first + second\n", "a b c d e f\n", ""])
def test_a_file_that_changed_since_it_was_read_does_no_harm(now):
    was = compile("seen_from(1)", "changed.py", "eval")
    linecache.cache["changed.py"] = len(now), None, [now], "changed.py"
    assert eval(was) == []
