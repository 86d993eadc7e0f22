"""Functions under other names: their shapes are known, or said not to be."""

import pytest
import torch
from torch import Tensor

from tests.helpers.listings import shown
from tests.helpers.named_calls import Named, shorter, total
from tformer_lite import trace


@pytest.fixture(scope="module")
def seen():
    return trace(Named(), torch.randn(4, 3))


KNOWN = "own alias third inline attribute named called silent weight x active"
KNOWN += " last more halved"
UNKNOWN = "given stepped transposed mapped several least listed boxed"


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN.split())
def test_a_function_is_known_by_any_name_that_is_its_alone(seen, name):
    """The witness: the variable itself, when all was done."""
    note = shown(seen.source(Named), f"{name} = ").split(" · ")[-1]
    assert note.removesuffix(" × 2").split(" … ")[-1] == written(
        seen.result[name]
    )


def written(x: Tensor) -> str:
    """Write a shape whose sizes have no name."""
    return f"({', '.join(f'{n}?' for n in x.shape)})"


@pytest.mark.parametrize("names", ["square, double", "wide, head"])
def test_a_function_may_give_several_variables(seen, names):
    note = shown(seen.source(Named), f"{names} = ").split(" · ")[-1]
    shapes = [written(seen.result[name]) for name in names.split(", ")]
    assert note == ", ".join(shapes)


@pytest.mark.parametrize("name", UNKNOWN.split())
def test_what_is_not_certain_is_marked_and_never_left_blank(seen, name):
    listing = seen.source(Named)
    assert shown(listing, f"{name} = ").split(" · ")[-1] == "?"
    page = listing._repr_html_()
    (row,) = (r for r in page.split("<tr ") if f" {name} = " in r)
    assert "?</span></td></tr>" in row


def test_what_gives_nothing_has_no_shape(seen):
    lines = str(seen.source(Named)).splitlines()
    assert "    checked(silent)" in lines


def test_what_a_generator_gives_is_not_what_it_returns(seen):
    assert shown(seen.source(Named), "for piece in ") == "pieces(double): ?"


def test_a_function_run_in_a_loop_says_how_many_runs_are_shown(seen):
    first, second, *_ = str(seen.source(shorter)).split("\n\n")
    assert first.endswith(", run 1 of 4 (nth=0), 2 runs shown as one")
    assert second.endswith("(3?, 3?) … (2?, 3?) × 2")
    assert "shown as one" not in str(seen.source(Named))
    assert "shown as one" not in str(seen.source(total))


def test_a_lambda_can_be_shown_and_what_is_defined_inside_a_function():
    def outer(x):
        def inner(y):
            half = y[:1]
            return half + 1

        return inner(x)

    listing = trace(outer, torch.ones(2, 3)).source(outer)
    assert shown(listing, "half = ") == "(1?, 3?)"
    assert shown(listing, "return inner") == "(1?, 3?)"
    last = [lambda x: x[:, -1]][0]
    listing = trace(last, torch.ones(2, 3)).source(last)
    assert shown(listing, "last = ") == "(2?)"


def test_the_rows_of_a_tensor_are_shown_where_a_loop_takes_them():
    def rows(x):
        for row in x:
            found = row * 2
        return found

    def note(n: int) -> str:
        listing = trace(rows, torch.ones(n, 3)).source(rows)
        return shown(listing, "for row in x")

    assert note(2) == "x: (3?), (3?)"
    assert note(9) == "x: (3?), …, (3?)"
