"""The tree in a notebook: lists in lists, without style and script."""

from html.parser import HTMLParser

from torch import nn

from shapewatch.tracing import trace
from tests.helpers.listings import unstyled
from tests.helpers.trees import Block, Other, Stack, X, tree


class Page(HTMLParser):
    """The elements of a page, each with its depth, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, self.open.count("details"), dict(attributes)))
        self.open += [] if tag == "br" else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_html_is_lists_in_lists_that_open_down_to_the_depth():
    model = Stack(Stack(Block(), Block()), Stack(Other()))
    shown = tree(model, X, depth=2)
    page = Page(unstyled(shown._repr_html_()))
    states = [(d, "open" in a) for tag, d, a in page.found if tag == "details"]
    # h.0, its blocks, and of a block: its own call, layer, back
    one = [(0, True), (1, False), *[(2, False)] * 3]
    assert states == one * 2
    assert not {"style", "script", "svg"} & {tag for tag, *_ in page.found}
    for name in "h.0", "h.1", "h.0 … h.1 × 2", "layer", "Block":
        assert any(name in text for text in page.texts), name


def test_the_calls_of_a_layer_are_closed_at_any_depth():
    page = tree(Stack(Block()), X, depth=9)._repr_html_()
    assert page.count("<details open>") == 1
    assert page.count("<details>") == 3


def test_the_html_holds_the_calls_of_each_module_once():
    model = Stack(*(Block() for _ in range(14)))
    seen = trace(model, X)
    page = Page(seen.tree()._repr_html_())
    calls = [row.call for row in seen.calls().rows[:3]]
    assert [text for text in page.texts if text in calls] == [
        "inner(x).relu()",
        "inner(x)",
        "y = self.back(inner(x).relu())",
    ]
    assert "own calls of h.0: 1" in page.texts


def test_the_html_of_a_page_that_would_be_huge_has_no_calls():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(301):
                x = x + 1
            return x

    assert "<table" not in tree(Stack(Long()), X)._repr_html_()
