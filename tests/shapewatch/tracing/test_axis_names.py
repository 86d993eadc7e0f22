"""Formulas in the names of dimensions: found exactly, or not at all; a reshape
that keeps every size and scrambles the elements is flagged."""

import itertools
import random
import re

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shapewatch.tracing import shape_html, shape_text
from shapewatch.tracing.axes.names import Axis, ShapeNamer
from shapewatch.tracing.axes.sizes import joint_sizes, run_sizes, sizes_of_one
from tests.helpers.sums import named_size
from tformer_lite import trace

LETTERS = ["B", "S", "T", "H", "D"]
FRESH = [
    {"B": 19, "S": 46, "T": 23, "H": 31, "D": 58, "C": 31 * 58},
    {"B": 98, "S": 25, "T": 90, "H": 54, "D": 33, "C": 54 * 33},
]
numbers = st.integers(1, 9)
dims = st.fixed_dictionaries(dict.fromkeys(LETTERS, numbers))
letters = st.sampled_from(LETTERS)


@st.composite
def functions(draw):
    """A size as a function of dimensions, and whether we write it."""
    a, b, n = draw(numbers), draw(st.integers(-3, 9)), draw(numbers)
    x, y, z = draw(letters), draw(letters), draw(letters)
    return draw(
        st.sampled_from(
            [
                (lambda d: a * d[x] + b, True),
                (lambda d: a * d[x] * d[y] + b, True),
                (lambda d: a * d[x] * d[y] * d[z] + b, True),
                (lambda d: a * (d[x] + d[y]) + b, True),
                (lambda d: a * d["C"] * d[y] + b, True),
                (lambda d: (d[x] + 2) * (d[y] + n), x != y),
                (lambda d: (d["S"] + 2) // 2 * d["B"], True),
                (lambda d: d[x] * (d[y] + d[z]) + n, False),
                (lambda d: d[x] ** 3 + d[y], False),
                (lambda d: max(d[x], a + 5), False),
                (lambda d: max(d[x], d[y]), False),
                (lambda d: d[x] // a + n, False),
                (lambda d: 1 << (d[x] - 1).bit_length(), False),
                (lambda d: d[x] * d[y] // 2, False),
                (lambda d: abs(d[x] - d[y]) + n, False),
            ]
        )
    )


def named(runs, given, column):
    """The axis that has these sizes, one a run."""
    (axis,) = ShapeNamer(runs, given).shape(*((size,) for size in column))
    return axis


def whole(sizes):
    return sizes | {"C": "H*D"}


def joint(sizes):
    given = whole(sizes)
    return [run_sizes(given), *joint_sizes(given, LETTERS)]


def runs(sizes):
    """Those of probes together, and of each name alone."""
    near = {
        name: [n - 1, n + 1, n + 6, 2 * n + 5, 4 * n, 75]
        for name, n in sizes.items()
    }
    lone = (sizes_of_one(whole(sizes), name, near[name]) for name in LETTERS)
    return [*joint(sizes), *itertools.chain(*lone)]


@pytest.mark.full
@pytest.mark.parametrize("made", [joint, runs])
@settings(deadline=None, max_examples=600)
@given(dims, functions())
def test_what_is_proved_is_so_at_sizes_that_no_run_has(made, sizes, chosen):
    """The witness is the function itself."""
    function, ours = chosen
    made = made(sizes)
    column = tuple(map(function, made))
    axis = named(made, whole(sizes), column)
    assert axis.size == function(made[0])
    assert axis.proof == "proved" or not ours or len(made) < 5
    if axis.proof == "proved":
        assert [named_size(axis.name, run) for run in made] == list(column)
        for fresh in FRESH:
            assert named_size(axis.name, fresh) == function(fresh)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda d: d["S"], "S"),
        (lambda d: d["H"] * d["D"], "C"),
        (lambda d: d["B"] * d["H"], "B*H"),
        (lambda d: d["S"] + d["T"] + 1, "(S+T)+1"),
        (lambda d: 2 * d["T"] - 1, "2T-1"),
        (lambda d: (d["H"] - 1) // 2, "⌈H/2⌉-1"),
        (lambda d: (d["T"] + 2) // 4 * 5, "5⌊(T+2)/4⌋"),
        (lambda d: -(-d["T"] // 8) * 8, "8⌈T/8⌉"),
        (lambda d: 40 - d["T"], "40-T"),
        (lambda d: d["B"] * (d["S"] - 1) * (d["T"] + 1), "B*(S-1)*(T+1)"),
        (lambda d: d["B"] * (d["S"] // 2 + 1), "B*(⌊S/2⌋+1)"),
        (lambda d: 7, "7"),
    ],
)
def test_names_are_written_as_by_hand(function, name):
    sizes = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4}
    made = runs(sizes)
    axis = named(made, whole(sizes), tuple(map(function, made)))
    assert str(axis) == name


@pytest.mark.parametrize(
    ("sizes", "columns"),
    [
        ([(8, 8), (6, 6)], {(8, 6): "8?", (4, 3): "4?"}),
        ([(8, 12), (6, 6)], {(8, 6): "8?"}),
        (
            [(2, 2), (4, 2), (2, 4), (8, 4)],
            {(2, 2, 4, 4): "2?", (4, 4, 16, 16): "4?"},
        ),
    ],
    ids=["together", "two runs", "a name of two sizes"],
)
def test_without_enough_runs_nothing_is_proved(sizes, columns):
    """X and Y move together, or have so few sizes that nobody can tell one
    from the other, or from its square."""
    runs = [{"X": x, "Y": y} for x, y in sizes]
    for column, name in columns.items():
        assert str(named(runs, runs[0], column)) == name


@pytest.mark.full
@settings(deadline=None, max_examples=300)
@given(dims, functions(), st.sets(st.integers(0, 33), min_size=1))
@example(
    {"B": 1, "S": 2, "T": 1, "H": 2, "D": 1},
    (lambda d: (d["B"] + 2) * (d["S"] + 3), True),
    {4, 6},
)
def test_refused_probes_make_no_name_wrong(sizes, chosen, refused):
    function, ours = chosen
    every = enumerate(runs(sizes))
    made = [run for i, run in every if i not in refused - {0}]
    column = tuple(map(function, made))
    axis = named(made, whole(sizes), column)
    stay = {n: made[0][n] for n in LETTERS if len({r[n] for r in made}) == 1}
    fresh = run_sizes(FRESH[0] | stay | {"C": "H*D"})
    if len(set(column)) > 1 and axis.proof == "proved" and ours:
        assert named_size(axis.name, fresh) == function(fresh)


def test_a_name_of_a_name_is_not_a_doubt():
    """F is 4C in every run, and by its definition."""
    given = {"B": 2, "E": 3, "C": "E", "F": "4*C"}
    made = [run_sizes(given), *joint_sizes(given, ["B", "E"])]
    column = tuple(run["F"] for run in made)
    assert str(named(made, given, column)) == "F"
    assert str(named(made, given, tuple(n + 1 for n in column))) == "4E+1"


def test_a_shape_is_marked_as_a_whole_whatever_its_names_are():
    axes = Axis(6, "B*(T-1)", "proved"), Axis(3, "H", "value")
    letter = '<b class="axis axis-{0}">{0}</b>'.format
    b, t, h = map(letter, "BTH")
    product, heads = f"{b}*({t}-1)<sub>6</sub>", f"{h}~<sub>3</sub>"
    page = f"(<var>{product}</var>, <var>{heads}</var>, <var>1</var>)"
    one = Axis(1, "1", "proved")
    assert shape_html((*axes, one)) == f'<span class="shape">{page}</span>'
    assert shape_text(axes) == "(B*(T-1), H~)"


@pytest.mark.parametrize(
    ("rows", "mark"),
    [
        (lambda: torch.randint(1, 99, ()).item(), "[?]"),
        (lambda: random.randrange(1, 99), "[?]"),
        (lambda: int((torch.rand(99) > 0.5).sum()), "[?]"),
        (lambda: len(torch.rand(5)), ""),
    ],
)
def test_a_size_that_is_drawn_is_not_proved(rows, mark):
    seen = trace(lambda x: x.new_ones(rows(), 3), torch.ones(2, 8), axes="B T")
    assert re.search(rf"\(B, T\) -> \(\d+{mark}, 3\)", str(seen))
