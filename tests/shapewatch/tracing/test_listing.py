"""Annotated source: the shapes beside a line are those that it made; and what
changed from one text to the next."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from shapewatch.tracing import Diff
from shapewatch.tracing.markup import code_html
from tests.helpers.listings import LEFT, shown, unstyled
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
    return seen.source(example)


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


@pytest.mark.parametrize(
    ("thing", "options", "said"),
    [
        (3, {}, "int has no source"),
        (nn.Linear, {}, "PyTorch's own code"),
        (halves, {}, "made no tensor"),
        (eval("lambda x: x"), {}, "cannot be found"),
        (example, {"nth": 1}, "there is nth=0"),
    ],
)
def test_what_cannot_be_shown_says_why(thing, options, said):
    seen = trace(example, torch.randn(5, 3), torch.randn(4, 3))
    with pytest.raises((TypeError, ValueError), match=said):
        seen.source(thing, **options)


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


def total(x, times=2):
    x = x * times
    x = x.sum(0, keepdim=True)
    assert x.ndim == 2
    return x


def both(x):
    square = x @ x.mT
    return square, x * 2


def early(x, stop=True):
    doubled = torch.cat([x, x])
    if stop:
        return x
    return doubled


def late(x, stop=False):
    if stop:
        return x * 2
    return x.sum()


def pieces(x):
    yield x * 2
    return x[0]


class Half:
    def step(self, x):
        return x[: len(x) // 2]


class Whole(Half):
    def step(self, x):
        return x * 2


def shorter(x):
    return x[1:]


@torch.no_grad()
def quiet(x):
    return x.mean(-1)


class Named(nn.Module):
    """Call functions in every way; give all variables."""

    def __init__(self):
        super().__init__()
        self.total, self.act = total, gelu
        self.twice = lambda x: x * 2
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    @property
    def first(self):
        return self.layers[0].weight * 2

    def forward(self, x):
        summed = self.total(x)
        renamed = total
        alias = renamed(x)
        twice = self.twice(x)
        square, double = both(x)
        silent = quiet(x)
        weight = self.first
        for layer in self.layers:
            active = self.act(layer(x))
        for _ in range(2):
            x = shorter(x)
        last = late(x)
        for piece in pieces(double):
            given = early(piece)
        for part in (Half(), Whole()):
            stepped = part.step(double)
        fewer = shorter(double)
        return locals()


@pytest.fixture(scope="module")
def named():
    return trace(Named(), torch.randn(4, 3))


def written(x: Tensor) -> str:
    """Write a shape whose sizes have no name."""
    return f"({', '.join(f'{n}?' for n in x.shape)})"


KNOWN = ["summed", "square, double", "silent", "weight", "active", "x"]
KNOWN += ["last", "fewer"]


@pytest.mark.parametrize("names", KNOWN)
def test_a_function_is_known_by_its_own_name(named, names):
    """The witness: the variables themselves, when all was done."""
    note = shown(named.source(Named), f"{names} = ").split(" · ")[-1]
    shapes = [written(named.result[name]) for name in names.split(", ")]
    last_run = note.removesuffix(" × 2").split(" … ")[-1]
    assert last_run == ", ".join(shapes)


@pytest.mark.parametrize("name", ["alias", "twice", "given", "stepped"])
def test_what_is_not_certain_is_marked_and_never_left_blank(named, name):
    listing = named.source(Named)
    assert shown(listing, f"{name} = ").split(" · ")[-1] == "?"
    page = listing._repr_html_()
    (row,) = (r for r in page.split("<tr ") if f" {name} = " in r)
    assert "?</span></td></tr>" in row


def test_what_a_generator_gives_is_not_what_it_returns(named):
    assert shown(named.source(Named), "for piece in ") == "pieces(double): ?"


def test_a_function_that_runs_several_times_is_shown_by_its_runs(named):
    first, second, *_ = str(named.source(shorter)).split("\n\n")
    assert first.endswith(", run 1 of 2 (nth=0)")
    assert second.endswith("(3?, 3?) … (2?, 3?) × 2")


def test_what_is_defined_inside_a_function_is_known():
    def outer(x):
        def inner(y):
            half = y[:1]
            return half + 1

        return inner(x)

    listing = trace(outer, torch.ones(2, 3)).source(outer)
    assert shown(listing, "half = ") == "(1?, 3?)"
    assert shown(listing, "return inner") == "(1?, 3?)"


# --- what changed from one text to the next ------------------------------


FIRST = "class A:\n    def f(x):\n        return x @ y\n"
SECOND = FIRST.replace("A:", "A(B):")
THIRD = SECOND.replace("y", "y.mT") + "        # <end>\n"


def test_each_step_has_its_title_and_the_lines_that_differ():
    diff = Diff(FIRST, SECOND, THIRD, titles=["one", "two\nlines"])
    assert str(diff).splitlines() == [
        *("one", "- class A:", "+ class A(B):"),
        *("two", "lines", "- return x @ y", "+ return x @ y.mT", "+ # <end>"),
    ]


def test_the_whole_has_what_stays_as_well():
    diff = Diff(FIRST, SECOND, whole=True)
    same = [f"  {line}" for line in FIRST.splitlines()[1:]]
    assert str(diff).splitlines()[2:] == same
    assert diff._repr_html_().count('class="same"') == 2


def test_in_html_signs_and_elements_mark_what_differs():
    """Not a colour alone: they are there where all style is taken away."""
    page = unstyled(Diff(FIRST, THIRD, titles=["a\n<b>"])._repr_html_())
    assert ">a<br>&lt;b&gt;</th>" in page
    assert f"{LEFT}− class A:</pre>" in page
    assert f"{LEFT}+ class A<ins>(B)</ins>:</pre>" in page
    inner = " " * 8
    assert f"{LEFT}+ {inner}return x @ y<ins>.mT</ins></pre>" in page
    assert f"{LEFT}+ {inner}<ins># &lt;end&gt;</ins></pre>" in page
    assert "<td></td>" in page  # nothing stood there before
    page = unstyled(Diff("    x = 1\n", "")._repr_html_())
    assert f"{LEFT}− <del>x = 1</del></pre></td><td></td>" in page


def test_code_keeps_its_indents_where_style_sheets_are_taken_away(listing):
    """JupyterLab does so with what it does not trust, and sets the cells of a
    table to the right; of a style in an element it leaves `text-align`."""
    for shown_code in listing, Diff(FIRST, SECOND, whole=True):
        page = unstyled(shown_code._repr_html_())
        assert page.count("<pre") == page.count(LEFT) > 0
