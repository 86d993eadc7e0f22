"""Annotated source: the shapes beside a line are those that it made."""

import ast
import math

import pytest
import torch
from torch import nn

from shapewatch.tracing.listing.listing import annotate, signature
from shapewatch.tracing.markup import code_html
from tests.helpers.listings import shown
from tformer_lite import trace


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
    notes = shown(listing, line).split(" · ")
    assert [note.rpartition(": ")[2] for note in notes] == shapes


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


def lit(x, weight):
    scores = x @ weight  # "scores" is said twice
    return scores.where(scores > -math.inf, 0.5)


def test_the_line_that_matters_is_marked_in_every_face():
    seen = trace(lit, torch.randn(5, 3), torch.randn(3, 4))
    found = seen.source(lit, light="scores = ")
    marks = [line[:2] for line in str(found).splitlines()[2:]]
    assert marks == ["  ", "▸ ", "  "]
    assert max(map(len, str(found).splitlines())) <= 76
    rows = found._repr_html_().split("<tr")[1:]
    assert ["<mark>" in row for row in rows] == [False, True, False]
    assert len(seen.source(lit, light="scores").lit) == 2
    with pytest.raises(ValueError, match=r"light='score =' stands in none"):
        seen.source(lit, light="score =")


def test_code_has_pythons_colours_and_no_break_after_a_minus():
    code = ["def lit(x):", "    y = f'{x} is' + 'é'", "    return -math.inf"]
    first, text, last = code_html(code)
    keyword = '<span class="k">{}</span>'.format
    assert first == f'{keyword("def")} <span class="f">lit</span>(x):'
    strings = ["f'{x} is'", "'é'"]
    y, z = (f'<span class="s">{part}</span>' for part in strings)
    assert text == f"    y = {y} + {z}"
    inf = '<span class="u">-math.inf</span>'
    assert last == f"    {keyword('return')} {inf}"
    first, _ = code_html(["x = (1,", "    -y"])
    assert first == 'x = (<span class="n">1</span>,'


LONG = """
@decorated
async def long(
    query: dict[str, tuple[int, str]],
    *keys: int,
    width: float = 1e-5,
    names: tuple = (1,),
    **rest: "Tensor | None",
) -> Tensor:
    return query
"""


@pytest.mark.parametrize(
    ("source", "one"),
    [
        ("def f(\n    x: int = 2,\n):\n    pass", "def f(x: int = 2):"),
        (
            LONG,
            "async def long(query, *keys, width=1e-5, names=(1,), **rest) "
            "-> Tensor:",
        ),
        ("def f(\n    x,  # said\n):\n    pass", ""),
        ("def f(\n    x=(\n        1,\n    ),\n):\n    pass", ""),
        (f"def f(\n    {'x' * 40},\n    {'y' * 40},\n):\n    pass", ""),
        ("def f(x): return x", ""),
        ("def f(x):\n    return x", ""),
    ],
)
def test_a_signature_of_several_lines_stands_on_one_if_it_fits(source, one):
    node = ast.parse(source).body[0]
    rows, text = signature(node, ["", *source.splitlines()])
    assert text == one
    if one:
        assert [*rows] == [*range(node.lineno, node.body[0].lineno)]
