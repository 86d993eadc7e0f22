"""Annotated source: the shapes beside a line are those that it made."""

import math

import pytest
import torch
from torch import nn

from tests.helpers.listings import shown
from tformer_lite import MultiHeadAttention, trace
from tformer_lite.tracing.listing.listing import annotate


def halves(x):
    return x.chunk(2, -1)


def helper(x):
    self_made = x * 2
    return self_made.mT


def hidden(x, keep):
    keep.append(x + 1)
    return x


def example(x, weight):
    """Not shown."""
    थिएन = x @ weight.mT / math.sqrt(2)
    थिएन += 1
    a, b = (थिएन * 2).chunk(2, -1)
    rows = [y * 2 for y in (a, b)]
    for _ in range(3):
        a = torch.relu(a)
    turn = helper(a)
    same = hidden(turn, rows)
    turns = list(map(helper, rows))
    same = same + turns[0].sum()
    return (
        same
        .mT
        .flatten()
    )  # fmt: skip


@pytest.fixture
def listing():
    seen = trace(example, torch.randn(5, 3), torch.randn(4, 3))
    return annotate(seen, example)


@pytest.mark.parametrize(
    ("line", "shapes"),
    [
        ("थिएन = ", ["(3?, 4?)", "(5?, 4?)"]),
        ("थिएन += ", ["(5?, 4?)"]),
        ("a, b = ", ["(5?, 4?)", "(5?, 2?), (5?, 2?)"]),
        ("rows = ", ["(5?, 2?) × 2"]),
        ("a = torch", ["(5?, 2?) × 3"]),
        ("turn = ", ["(2?, 5?)"]),
        ("same = hidden", ["?"]),
        ("turns = ", ["?"]),
        (".mT", ["(5?, 2?)"]),
        (".flatten()", ["(10?)"]),
    ],
)
def test_each_line_has_the_shapes_that_it_makes(listing, line, shapes):
    """The witness is the arithmetic: (5, 3) @ (3, 4), then halves."""
    if not shapes:
        code = next(c for c in str(listing).splitlines() if line in c)
        assert "#" not in code
        return
    notes = shown(listing, line).split(" · ")
    assert [note.rpartition(": ")[2] for note in notes] == shapes


def test_a_docstring_is_left_out_and_lines_fit(listing):
    assert "Not shown" not in str(listing)
    assert all(len(line) <= 76 for line in str(listing).splitlines())


def test_the_html_escapes_and_names_axes(listing):
    seen = trace(lambda x: x[x < 0], torch.ones(3), dims={"B": 3})
    page = listing._repr_html_()
    assert page.count("<th scope") == 3 + len(listing.lines)
    assert __file__ not in page
    code = seen.steps[0].code
    page = annotate(seen, Holder(code))._repr_html_()
    assert "x[x &lt; 0]" in page
    assert "x <" not in page


class Holder:
    """Code that has lost its function."""

    def __init__(self, code):
        self.__code__ = code


def test_what_cannot_be_shown_says_why():
    seen = trace(example, torch.randn(5, 3), torch.randn(4, 3))
    with pytest.raises(TypeError, match="int has no source"):
        annotate(seen, 3)
    with pytest.raises(ValueError, match="PyTorch's own code"):
        annotate(seen, nn.Linear)
    with pytest.raises(ValueError, match="made no tensor"):
        annotate(seen, halves)
    with pytest.raises(ValueError, match="cannot be found"):
        annotate(seen, eval("lambda x: x"))
    with pytest.raises(ValueError, match="there is nth=0"):
        annotate(seen, example, nth=1)


def test_cross_attention_shows_what_its_functions_and_modules_gave():
    dims = {"B": 2, "S": 6, "T": 5, "H": 3, "D": 4, "C": 12}
    x, source = torch.randn(2, 5, 12), torch.randn(2, 6, 12)
    seen = trace(MultiHeadAttention(12, 3), x, source, dims=dims)
    found = annotate(seen, MultiHeadAttention)
    assert shown(found, "x: Tensor") == "x: (B~, T~, C~)"
    assert shown(found, "source: Tensor") == "source: (B~, S~, C~)"
    three = "(B~, H~, T~, D~), (B~, H~, S~, D~), (B~, H~, S~, D~)"
    assert shown(found, "q, k, v = ") == three
    assert shown(found, "heads = ") == "(B~, H~, T~, D~)"
    assert shown(found, "return") == "(B~, T~, C~)"
    found = annotate(seen, MultiHeadAttention.project)
    assert shown(found, "k = ").endswith("C~) · (B~, H~, S~, D~)")


class Narrow(nn.Module):
    """Layers that change the width, and one that is run twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 7), nn.Linear(7, 7)

    def forward(self, x):
        wide = self.first(x)
        for _ in range(2):
            wide = self.second(wide)
        return wide.sum(-1)


def test_a_modules_value_is_what_it_gave_and_not_what_it_got():
    dims = {"B": 2, "C": 12, "W": 7}
    seen = trace(Narrow(), torch.randn(2, 12), dims=dims)
    found = seen.source(Narrow)
    assert shown(found, "wide = self.first(x)") == "(B~, W~)"
    assert shown(found, "wide = self.second") == "(B~, W~) × 2"
    assert shown(found, "return") == "(B~)"
