"""What is printed of a run: what fits a screen, and how to see the rest."""

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.tree.tree import tree_lines
from tests.helpers.small import small, words
from tests.helpers.trees import Block, Other, Stack, X, names, tree
from tformer_lite import EncoderDecoder


def test_as_many_levels_are_shown_as_fit_a_screen_and_the_rest_is_told():
    torch.manual_seed(0)
    model = EncoderDecoder(small("paper_base", n_layers=6))
    shown = tree(model, words(10, 2, 7), words(11, 2, 5))
    deep = shown.root.depth
    sizes = [len(tree_lines(shown.root, d)) for d in range(deep + 1)]
    assert sizes == sorted(sizes)
    assert sizes[shown.depth] <= 36 < sizes[shown.depth + 1]
    last = str(shown).splitlines()[-1]
    more = f"tree(depth={deep}) shows all modules, calls() lists all"
    assert last.startswith(f"depth={shown.depth} of {deep}: {more}")
    assert len(str(shown).splitlines()) <= 44


def test_a_depth_can_be_chosen():
    model = Stack(Block(), Other())
    assert names(tree(model, X, depth=1)) == ["h.0", "h.1"]
    assert tree(model, X, depth=0).shown == []
    assert names(tree(model, X, depth=9)) == names(tree(model, X, depth=2))
    with pytest.raises(ValueError, match="depth=-1 is below 0"):
        tree(model, X, depth=-1)


def test_calls_are_printed_that_fit_in_40_lines_and_else_the_tree():
    many = trace(Stack(*(Block() for _ in range(7))), X)
    few = trace(Stack(*(Block() for _ in range(6))), X)
    assert len(str(many.calls()).splitlines()) == 42
    assert len(many) == 21
    assert str(many) == str(many.tree())
    assert many._repr_html_() == many.tree()._repr_html_()
    assert len(str(few.calls()).splitlines()) == 36
    assert str(few) == str(few.calls())
    assert few._repr_html_() == few.calls()._repr_html_()


@pytest.mark.parametrize(("adds", "first"), [(37, "(Adds)"), (38, "Adds  ")])
def test_a_heading_counts_as_a_line(adds, first):
    class Adds(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.ReLU()

        def forward(self, x):
            for _ in range(adds):
                x = x + 1
            return self.last(x)

    seen = trace(Adds(), X)
    assert len(str(seen.calls()).splitlines()) == adds + 3
    assert str(seen).startswith(first)


def test_a_function_that_does_more_than_a_module_is_the_whole():
    block = Block()

    def scaled(x):
        return block(x) * 2

    lines = str(tree(scaled, X)).splitlines()
    assert lines[0] == "scaled"
    assert lines[4].startswith("Block  ")
    lines = str(tree(lambda x: block(x), X)).splitlines()
    assert lines[0] == "Block  (2, 4) -> (2, 4)"


class VeryLongNameOfALayerThatNobodyWouldWrite(Block):
    pass


def test_lines_are_no_wider_than_100_letters():
    """Shapes that are left out are dots, and then a class is cut."""
    model = Stack(VeryLongNameOfALayerThatNobodyWouldWrite())
    model.forward = lambda *xs: model.h[0](*xs[:2]) + xs[2]
    for axes, kind in (3, "VeryLongNameOfALayerThatN…"), (5, "VeryLongNameO…"):
        wide = [torch.randn(1000, 10, *[1] * axes, 4) for _ in range(3)]
        lines = str(tree(model, *wide)).splitlines()
        assert max(map(len, lines)) <= 100
        one = str(tuple(wide[0].shape))
        assert f"  {one}, … -> {one}  " in lines[4]
        assert kind in lines[4]


def test_of_a_module_without_parts_there_is_the_whole():
    class Same(nn.Module):
        def forward(self, x):
            return x

    assert str(tree(Same(), X)).splitlines() == [
        "Same  (2, 4) -> (2, 4)",
        "float32 on cpu, unless marked",
        "",
        "calls() lists all 0 calls",
    ]


def test_data_types_are_marked_that_are_not_the_usual_one():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.fill = nn.Embedding(9, 4), Fill()

        def forward(self, ids):
            return self.fill(self.table(ids), ids[..., None] > 2)

    class Fill(nn.Module):
        def forward(self, x, mask):
            return x.masked_fill(mask, 0.0) * 2 + 1

    model = Masked()
    lines = str(tree(model, words(9, 2, 3))).splitlines()
    assert lines[:2] == [
        "Masked  (2, 3) int64 -> (2, 3, 4)",
        "float32 on cpu, unless marked",
    ]
    assert "(2, 3, 4), (2, 3, 1) bool -> (2, 3, 4)" in lines[5]
    lines = str(tree(model.bfloat16(), words(9, 2, 3))).splitlines()
    assert lines[1] == "bfloat16 on cpu, unless marked"
    assert "(2, 3) int64 -> (2, 3, 4)" in lines[4]
    assert "bfloat16" not in lines[4]


def test_of_a_run_that_failed_the_tree_ends_where_it_did():
    blocks = [Block() for _ in range(9)]
    blocks[6].back = nn.Linear(5, 4)
    with pytest.raises(RuntimeError) as caught:
        trace(Stack(*blocks), X)
    lines = str(caught.value.trace.tree()).splitlines()
    assert lines[0] == "Stack  (2, 4) -> failed"
    found = names(caught.value.trace.tree())
    assert found == ["h.0 … h.5 × 6", "layer", "back", "h.6", "layer", "back"]
    failed = ["failed" in line for line in lines[4:10]]
    assert failed == [False, False, False, True, False, True]
