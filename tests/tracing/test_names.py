"""Formulas in the names of dimensions: found exactly, or not at all."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.helpers.zoo import value
from tformer_lite.tracing import shape_html, shape_text
from tformer_lite.tracing.axes.formulas import formula_text, line
from tformer_lite.tracing.axes.names import Axis, Dims
from tformer_lite.tracing.axes.sizes import run_sizes, small_sizes

LETTERS = ["B", "S", "T", "H", "D"]
FRESH = {"B": 19, "S": 46, "T": 23, "H": 31, "D": 58, "C": 31 * 58}
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
                (lambda d: (d["S"] + 2) // 2 * d["B"], False),
                (lambda d: d[x] * (d[y] + d[z]) + n, False),
                (lambda d: d[x] ** 3 + d[y], False),
                (lambda d: max(d[x], a), False),
                (lambda d: min(d[x], d[y]), False),
                (lambda d: d[x] // a + n, False),
                (lambda d: abs(d[x] - d[y]) + n, False),
                (lambda d: math.gcd(d[x], 4) * d[y], False),
            ]
        )
    )


def whole(sizes):
    return sizes | {"C": "H*D"}


def runs(sizes):
    given = whole(sizes)
    return [run_sizes(given), *small_sizes(given, LETTERS)]


@settings(deadline=None, max_examples=400)
@given(dims, functions())
def test_a_formula_is_found_exactly_or_the_axis_is_unknown(sizes, chosen):
    """The witness is the function itself, at sizes no run has."""
    function, ours = chosen
    made = runs(sizes)
    column = tuple(map(function, made))
    axis = Dims(made, whole(sizes)).axis(column)
    assert axis.size == function(made[0])
    assert axis.proof == "proved" or not ours
    if axis.proof == "proved" and ours:
        assert value(axis.name, FRESH) == function(FRESH)
    # What is proved holds in all runs, even where no formula is ours.
    if axis.proof == "proved":
        assert [value(axis.name, run) for run in made] == list(column)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda d: d["S"], "S"),
        (lambda d: d["H"] * d["D"], "C"),
        (lambda d: 4 * d["C"], "4C"),
        (lambda d: d["B"] * d["H"], "B*H"),
        (lambda d: d["S"] + d["T"], "S+T"),
        (lambda d: d["S"] + d["T"] + 1, "(S+T)+1"),
        (lambda d: 2 * d["T"] - 1, "2T-1"),
        (lambda d: d["D"] // 2, "D/2"),
        (lambda d: (d["H"] - 1) // 2, "(H-1)/2"),
        (lambda d: 40 - d["T"], "40-T"),
        (lambda d: d["B"] * (d["S"] - 1) * (d["T"] + 1), "B*(S-1)*(T+1)"),
        (lambda d: d["B"] * (d["S"] // 2 + 1), "B*(S+2)/2"),
        (lambda d: 7, "7"),
    ],
)
def test_names_are_written_as_by_hand(function, name):
    sizes = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4}
    made = runs(sizes)
    axis = Dims(made, whole(sizes)).axis(tuple(map(function, made)))
    assert str(axis) == name


def test_without_enough_runs_nothing_is_proved():
    """X and Y move together here: nobody can tell them apart."""
    two = [run_sizes({"X": 8, "Y": 8}), run_sizes({"X": 6, "Y": 6})]
    assert str(Dims(two, two[0]).axis((8, 6))) == "8?"
    assert str(Dims(two, two[0]).axis((4, 3))) == "4?"
    others = [{"X": 8, "Y": 12}, {"X": 6, "Y": 6}]
    assert str(Dims(others, others[0]).axis((8, 6))) == "8?"


def test_a_name_of_two_sizes_is_not_told_from_its_square():
    runs = [{"B": 2, "T": 2}, {"B": 4, "T": 2}, {"B": 2, "T": 4}]
    runs.append({"B": 8, "T": 4})
    assert str(Dims(runs, runs[0]).axis((2, 2, 4, 4))) == "2?"
    assert str(Dims(runs, runs[0]).axis((4, 4, 16, 16))) == "4?"


def test_a_product_that_no_run_is_left_to_check_is_not_proved():
    """X + Y² is (X+4)*(Y-1) in these three runs."""
    runs = [{"X": 2, "Y": 2}, {"X": 4, "Y": 2}, {"X": 2, "Y": 4}]
    assert str(Dims(runs, runs[0]).axis((6, 8, 18))) == "6?"


@settings(deadline=None, max_examples=200)
@given(
    dims,
    functions(),
    st.lists(st.booleans(), min_size=7, max_size=7),
)
@example(
    {"B": 1, "S": 2, "T": 1, "H": 2, "D": 1},
    (lambda d: (d["B"] + 2) * (d["S"] + 3), True),
    [True, True, True, True, False, True, False],
)
def test_refused_probes_make_no_name_wrong(sizes, chosen, went):
    function, ours = chosen
    first, *others = runs(sizes)
    made = [first, *(run for run, ok in zip(others, went) if ok)]
    column = tuple(map(function, made))
    axis = Dims(made, whole(sizes)).axis(column)
    stay = {n: first[n] for n in LETTERS if len({r[n] for r in made}) == 1}
    fresh = run_sizes(FRESH | stay | {"C": "H*D"})
    if len(set(column)) > 1 and axis.proof == "proved" and ours:
        assert value(axis.name, fresh) == function(fresh)


def test_a_name_of_a_name_is_not_a_doubt():
    """F is 4C in every run, and by its definition."""
    given = {"B": 2, "E": 3, "C": "E", "F": "4*C"}
    made = [run_sizes(given), *small_sizes(given, ["B", "E"])]
    column = tuple(run["F"] for run in made)
    assert str(Dims(made, given).axis(column)) == "F"
    assert str(Dims(made, given).axis(tuple(n + 1 for n in column))) == "4E+1"


def test_fixed_dimensions_are_named_by_value_alone():
    runs = [{"B": n, "D": 4, "E": 5, "F": 5} for n in (2, 4, 6, 8)]
    named = Dims(runs, runs[0])
    assert str(named.axis((4, 4, 4, 4))) == "D~"
    assert str(named.axis((5, 5, 5, 5))) == "5?"
    assert str(named.axis((7, 7, 7, 7))) == "7"
    assert str(named.axis((4,))) == "D~"
    assert str(named.axis((9,))) == "9?"


def test_a_line_goes_through_the_first_two_sizes_that_differ():
    assert line((2, 2, 4), (5, 5, 9)) == (2, 1)
    assert formula_text("X", *line((3, 5), (1, 2))) == "(X-1)/2"
    assert formula_text("X", *line((2, 4), (2, 3))) == "X/2+1"


def test_a_shape_is_marked_as_a_whole_whatever_its_names_are():
    axes = Axis(6, "B*(T-1)", "proved"), Axis(3, "H", "value")
    letter = '<b class="axis axis-{0}">{0}</b>'.format
    b, t, h = map(letter, "BTH")
    page = f'<span class="shape">({b}*({t}-1), {h}~)</span>'
    assert shape_html(axes) == page
    assert shape_text(axes) == "(B*(T-1), H~)"
