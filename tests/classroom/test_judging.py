"""What is said of an answer, whatever it is and whatever it does."""

import contextlib
import sys
import time
import weakref

import pytest
import torch

from classroom.cases import Draw
from classroom.checking import check
from classroom.exercise import exercises
from classroom.judging import PART, tried
from classroom.playing import TookTooLong, time_limit
from classroom.shapes import named_shape, shape_difference
from tests.helpers.small_exercises import (
    MASK,
    SCORES,
    SPLIT,
    Odd,
    right_mask,
    right_scores,
    right_split,
)


def recurse(x, n):
    return recurse(x, n)


def endless(x, n):
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def leave(x, n):
    raise SystemExit


def stop(x, n):
    raise GeneratorExit


def fill_the_memory(x, n):
    return torch.zeros(10**13)


class Fleeting:
    """What nobody holds."""


class Liar(torch.Tensor):
    """A tensor that says it is equal to all others."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "not written yet"),
        (..., "not written yet"),
        ("text", "expected a tensor, got 'text'"),
        (3, "expected a tensor, got 3"),
        ([[1.0]], "expected a tensor, got [[1.0]]"),
        (Odd(), "an object of type Odd"),
        (object, "expected a tensor"),
        (torch.zeros(0), "axes"),
        (torch.zeros(2, 0, 3), "axes"),
        (torch.zeros(3).to_sparse(), "axes"),
        (torch.zeros(2, dtype=torch.complex64), "an object of type"),
        (torch.zeros(2, device="meta"), "an object of type"),
        ({"a": 1}, "expected a tensor"),
        (float("nan"), "expected a tensor"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_of_any_type_is_judged(value, says):
    verdict = tried(SPLIT, lambda x, n: value)
    assert verdict.share == 0
    assert says in verdict.says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (recurse, "RecursionError"),
        (leave, "SystemExit"),
        (fill_the_memory, "RuntimeError"),
        (lambda x, n: 1 / 0, "ZeroDivisionError"),
        (lambda: 1, "TypeError"),
        (lambda x, n: Liar(), "an object of type Liar"),
        ("dealt_out", "expected a tensor"),
    ],
)
def test_an_answer_that_stops_is_told_why(answer, says):
    verdict = tried(SPLIT, answer)
    assert verdict.share == 0
    assert says in verdict.says


@pytest.mark.full
def test_an_endless_loop_ends_and_is_waited_for_once():
    begun = time.perf_counter()
    verdict = tried(SPLIT, endless)
    assert "is there a loop that never ends" in verdict.says
    assert time.perf_counter() - begun < 30


@pytest.mark.slow
def test_what_takes_too_long_is_stopped_where_it_is_heard(monkeypatch):
    def for_ever():
        known = weakref.WeakKeyDictionary()
        while True:
            known[Fleeting()] = 1

    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lost.append)
    for _ in range(20):
        with pytest.raises(TookTooLong), time_limit(0.01):
            for_ever()
    assert lost == []


def test_settings_of_torch_and_random_numbers_are_left_alone():
    def meddle(x, n):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(5)
        return right_split(x, n)

    torch.manual_seed(1)
    before = torch.rand(1)
    torch.manual_seed(1)
    assert tried(SPLIT, meddle).right
    assert torch.rand(1) == before
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_what_an_answer_prints_is_not_shown(capsys):
    def talk(x, n):
        print("look")
        return right_split(x, n)

    assert check("dealt_out", talk) is None
    assert capsys.readouterr().out == "✓ dealt_out: right.\n"


def test_a_right_answer_that_changes_its_input_has_a_part_of_the_points():
    def change(x, n):
        return right_split(x.add_(1).clone(), n) - 1

    verdict = tried(SPLIT, change)
    assert verdict.share == PART
    assert "changes its input in place: x" in verdict.says


def test_an_answer_that_draws_is_asked_twice():
    calls = []

    def sometimes(x, n):
        calls.append(x)
        return right_split(x, n) + (len(calls) == 3)

    verdict = tried(SPLIT, sometimes)
    assert verdict.share == PART
    assert "a second call with the same input" in verdict.says


def test_axes_that_changed_places_are_named_with_what_to_do():
    verdict = tried(SPLIT, lambda x, n: x.unflatten(-1, (n, -1)))
    assert verdict.share == PART
    assert "axes 1 and 2 are swapped: transpose(1, 2)" in verdict.says
    assert "after the split" in verdict.says
    for letter in "BTHD":
        assert f"{letter}=" in verdict.says


def test_elements_in_wrong_places_are_named_by_where_they_were():
    def scrambled(x, n):
        b, t, c = x.shape
        return x.reshape(b, n, t, c // n).flip(3)

    says = tried(SPLIT, scrambled).says
    assert (
        "right shape, wrong elements: output[0, 0, 0, 0] holds x[0, " in says
    )
    assert "should hold x[0, 0, 0]" in says


def test_an_error_shows_the_line_and_the_shapes_on_it():
    def wrong(q, k):
        return q @ k

    says = tried(SCORES, wrong).says
    assert "in the line: return q @ k, with q (B=" in says
    assert "RuntimeError" in says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda q, k: q @ k.mT, "no 1/√D"),
        (lambda q, k: right_scores(q, k) * 3, "3.00 times too large"),
        (lambda q, k: -right_scores(q, k), "the wrong sign"),
        (lambda q, k: right_scores(q, k) + 0.5, "0.5 too large"),
        (lambda q, k: right_scores(q, k) / len(q), "B = "),
        (lambda q, k: right_scores(q, k).roll(1, -1), "one place later"),
        (lambda q, k: right_scores(q, k) * torch.nan, "is nan, should be"),
        (lambda q, k: right_scores(q.flip(1), k), "in wrong places"),
        (lambda q, k: right_scores(q, k).mT, "axes 1 and 2 are swapped"),
        (lambda q, k: right_scores(q, k) > 0, "expected numbers"),
    ],
)
def test_wrong_numbers_are_explained(answer, says):
    verdict = tried(SCORES, answer)
    assert not verdict.right
    assert says in verdict.says


def test_two_mistakes_at_once_are_both_named_and_give_nothing():
    verdict = tried(SCORES, lambda q, k: torch.einsum("btd,bsd->bst", q, k))
    assert verdict.share == 0
    assert len(verdict.mistakes) == 2
    assert "; and " in verdict.says


def test_what_only_an_edge_shows_is_said_as_that():
    def overflow(q, k):
        return torch.log(torch.exp(right_scores(q, k)))

    verdict = tried(SCORES, overflow)
    assert verdict.share == PART
    assert "right on ordinary inputs, but" in verdict.says


def test_who_hears_whom_is_shown_where_it_is_wrong(capsys):
    future = tried(MASK, lambda v: v.cumsum(1).flip(1))
    assert future.heard is not None
    assert "depends on position" in future.says
    assert tried(MASK, right_mask).heard is None


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_primes_and_all_different(seed):
    sizes = Draw(seed).sizes("B H D T S V C=H*D")
    alone = [n for letter, n in sizes.items() if letter != "C"]
    assert len(set(alone)) == len(alone)
    assert all(n > 1 and all(n % d for d in range(2, n)) for n in alone)
    assert sizes["C"] == sizes["H"] * sizes["D"]


def test_a_shape_that_differs_is_described():
    sizes = {"B": 2, "H": 3, "T": 5, "D": 7}
    right = (2, 3, 5, 7)
    for mine, says in {
        (2, 5, 3, 7): "axes 1 and 2 are swapped",
        (3, 5, 7, 2): "another order: permute(3, 0, 1, 2)",
        (2, 15, 7): "axes 1 and 2, H=3 and T=5, are merged",
        (2, 3, 5): "axis 3, D=7, is missing",
        (2, 3, 5, 7, 4): "axis 4, 4, is too many",
        (2, 3, 5, 1, 7): "of size 1 too many",
        (2, 3, 5, 5): "axis 3 is T=5 and should be D=7",
        (1, 1): "it should have 4 axes, and has 2",
    }.items():
        assert says in shape_difference(mine, right, sizes)
    assert named_shape((2, 15), sizes) == "(B=2, H*T=15)"


def test_a_name_that_is_no_exercise_is_answered_with_those_that_are():
    with pytest.raises(ValueError, match="dealt_out"):
        check("dealtout", None)
    assert "dealt_out" in exercises()
