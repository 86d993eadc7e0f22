"""What is said of an answer, whatever it is and whatever it does."""

import json
import re
from dataclasses import replace
from itertools import count

import pytest
import torch
from torch import nn

from classroom import mistakes, outcomes
from classroom.cases import Draw, named_shape
from classroom.checking import check
from classroom.evidence import shape_difference, value_difference
from classroom.exercise import exercise, exercises
from classroom.judging import ENOUGH_WORDS, PART, try_answer
from classroom.mistakes import answer_in
from classroom.trials import draw_trial
from tests.helpers.answers import answers_to
from tests.helpers.small_exercises import (
    MASK,
    SCORES,
    SPLIT,
    Odd,
    right_mask,
    right_scores,
    right_split,
)

GATE = exercise("gated_residual")


def recurse(x, n):
    return recurse(x, n)


def leave(x, n):
    raise SystemExit


def go_on(x, n):
    while True:
        pass


class Liar(torch.Tensor):
    """A tensor that says it is equal to all others."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (None, "did you forget `return`?"),
        ("text", "expected a tensor, got 'text'"),
        (Odd(), "an object of type Odd"),
        (torch.zeros(2, 0, 3), "axes"),
        (torch.zeros(2, device="meta"), "an object of type"),
        (Liar(), "an object of type Liar"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_of_any_type_is_judged(value, says):
    verdict = try_answer(SPLIT, lambda x, n: value)
    assert verdict.share == 0
    assert says in str(verdict)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (recurse, "RecursionError"),
        (leave, "SystemExit"),
        (go_on, "no result after 0.5 s"),
        (lambda x, n: torch.zeros(10**13), "RuntimeError"),
        (lambda: 1, "TypeError"),
        ("dealt_out", "expected a tensor"),
        (torch.zeros(2, 3), "give the function itself"),
    ],
)
def test_an_answer_that_stops_or_never_does_is_told_why(
    answer, says, monkeypatch
):
    monkeypatch.setattr(outcomes, "SECONDS", 0.5)
    verdict = try_answer(SPLIT, answer)
    assert verdict.share == 0
    assert says in str(verdict)


def test_settings_of_torch_and_random_numbers_are_left_alone():
    def meddle(x, n):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(5)
        return right_split(x, n)

    torch.manual_seed(1)
    before = torch.rand(1)
    torch.manual_seed(1)
    assert try_answer(SPLIT, meddle).right
    assert torch.rand(1) == before
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() == torch.float32


def test_what_an_answer_prints_is_shown_once(capsys):
    def talk(x, n):
        print("look")
        return right_split(x, n)

    assert check("dealt_out", talk) is None
    assert capsys.readouterr().out == "look\n✓ dealt_out: right.\n"


def test_half_the_points_are_for_edges_and_for_inputs_that_change():
    def change(x, n):
        return right_split(x.add_(1).clone(), n) - 1

    def overflow(q, k):
        return torch.log(torch.exp(right_scores(q, k)))

    for each, answer, says in (
        (SPLIT, change, "changes its input in place: x"),
        (SCORES, overflow, "right on ordinary inputs, but not for scores"),
    ):
        verdict = try_answer(each, answer)
        assert verdict.share == PART
        assert says in verdict.says


def test_random_numbers_are_seen_in_a_second_call():
    calls = []

    def sometimes(x, n):
        calls.append(x)
        return right_split(x, n) + (len(calls) > last)

    last = len(draw_trial(SPLIT, 0).cases)
    verdict = try_answer(SPLIT, sometimes)
    assert verdict.share == 0
    assert "a second call with the same input" in verdict.says
    noise = try_answer(SCORES, lambda q, k: right_scores(q, k) * draws(q))
    assert not noise.right


def draws(x):
    return 1 + torch.rand(()) / 100


def test_a_sentence_is_said_only_if_its_edit_explains_the_answer():
    none = try_answer(SCORES, lambda q, k: q @ k.mT)
    calls = count()
    some = try_answer(SCORES, lambda q, k: q @ k.mT / (1 + next(calls)))
    late = try_answer(SCORES, lambda q, k: (q @ k.mT).clamp(max=20))
    assert none.mistakes == late.mistakes == ("no 1/√D",)
    assert some.mistakes == ("wrong values",)


def test_what_may_not_be_used_is_found_in_functions_beside_too():
    each = replace(SCORES, without=("einsum",))
    inner = right_scores

    def by_hand(q, k):
        return inner(q, k)

    def summed(q, k):
        return torch.einsum("btd,bsd->bts", q, k) / q.shape[-1] ** 0.5

    def around(q, k):
        return (lambda: summed(q, k))()

    assert try_answer(each, by_hand).right
    for answer in summed, around:
        says = "do it without einsum" if answer is summed else ""
        verdict = try_answer(each, answer)
        assert not verdict.right or not says
        assert says in verdict.says


def test_numbers_of_the_outputs_are_seen_and_not_said():
    verdict = try_answer(SCORES, lambda q, k: right_scores(q, k) + 0.5)
    assert "right - yours = -0.5 everywhere" in verdict.seen
    assert not any(c.isdigit() for c in verdict.says)


def test_one_wrong_truth_value_is_shown_and_no_exchange():
    row = torch.tensor([True, False])
    says = [value_difference(~x, x, {}, 1e-4) for x in (row[1], row)]
    assert says == [
        "it is True, should be False",
        "True and False are exchanged",
    ]


def test_axes_that_changed_places_are_named_with_what_to_do():
    says = "axes 1 and 2 are swapped: transpose(1, 2)"
    for each in SPLIT, replace(SPLIT, edits=()):
        verdict = try_answer(each, lambda x, n: x.unflatten(-1, (n, -1)))
        assert verdict.share == 0
        assert ("after the split" in verdict.says) == (each is SPLIT)
        # A mistake that is named needs no second explanation.
        assert (says in verdict.seen) == (each is not SPLIT)
        for letter in "BTHD":
            assert f"{letter}=" in verdict.seen


def test_an_error_shows_the_line_and_the_shapes_on_it():
    def wrong(q, k):
        return q @ k

    says = str(try_answer(SCORES, wrong))
    assert "in the line: return q @ k, with q (B=" in says
    assert "RuntimeError" in says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda q, k: q @ k.mT, "no 1/√D"),
        (lambda q, k: right_scores(q, k) * 3, "right = 0.3333 × yours"),
        (lambda q, k: -right_scores(q, k), "right = -1 × yours"),
        (lambda q, k: right_scores(q, k) + 0.5, "right - yours = -0.5"),
        (lambda q, k: right_scores(q, k) / len(q), "× yours everywhere"),
        (
            lambda q, k: right_scores(q, k).roll(1, -1),
            "right[i] is yours[i + 1]",
        ),
        (lambda q, k: right_scores(q, k) * torch.nan, "is nan, should be"),
        (lambda q, k: right_scores(q.flip(1), k), "values are wrong"),
        (lambda q, k: 2 * right_scores(q, k).mT, "axes 1 and 2 are swapped"),
        (lambda q, k: right_scores(q, k) > 0, "expected numbers"),
    ],
)
def test_wrong_numbers_are_explained(answer, says):
    verdict = try_answer(SCORES, answer)
    assert not verdict.right
    assert says in str(verdict)


def test_two_mistakes_at_once_are_both_named_and_give_nothing():
    verdict = try_answer(SCORES, lambda q, k: k @ q.mT)
    assert verdict.share == 0
    assert len(verdict.mistakes) == 2
    assert "; and " in verdict.says


def test_the_smallest_input_that_fails_is_shown():
    verdict = try_answer(MASK, lambda v: v.exp().cumsum(1))
    shown = re.findall(r"\[.*\]", verdict.example)
    v, mine, right = (torch.tensor(json.loads(text)) for text in shown)
    torch.testing.assert_close(right, v.cumsum(1), rtol=0.005, atol=1e-6)
    torch.testing.assert_close(mine, v.exp().cumsum(1), rtol=0.005, atol=1e-6)
    assert verdict.example in str(verdict)
    assert not any(c.isdigit() for c in verdict.says)
    assert not try_answer(MASK, right_mask).example


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_primes_and_all_different(seed):
    sizes = Draw(seed).sizes("BHDTSV").values()
    assert len({*sizes}) == len(sizes)
    assert all(n > 1 and all(n % d for d in range(2, n)) for n in sizes)


def test_a_shape_that_differs_is_described():
    sizes = {"B": 2, "H": 3, "T": 5, "D": 7}
    right = (2, 3, 5, 7)
    for mine, says in {
        (2, 5, 3, 7): "axes 1 and 2 are swapped",
        (3, 5, 7, 2): "wrong order: permute(3, 0, 1, 2)",
        (2, 15, 7): "axes 1 and 2, H=3 and T=5, are merged",
        (2, 3, 5): "axis 3, D=7, is missing",
        (2, 3, 5, 7, 4): "axis 4, 4, is too many",
        (2, 3, 5, 1, 7): "of size 1 too many",
        (2, 3, 5, 5): "axis 3 is T=5 and should be D=7",
        (1, 1): "it should have 4 axes, and has 2",
    }.items():
        assert says in shape_difference(mine, right, sizes)
    assert named_shape((2, 15), sizes) == "(B=2, H*T=15)"


# --- Layers, and explanations ---------------------------------------------


def right_answer(name):
    return answers_to(name)[0].value()


def test_an_object_in_the_place_of_a_class_is_told():
    layer = right_answer(GATE.name)(5, nn.LayerNorm)
    assert "give the class itself" in str(try_answer(GATE, layer))


def test_other_parameters_than_the_stub_s_are_named():
    class Narrow(right_answer(GATE.name)):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            self.gate = nn.Linear(self.gate.in_features, 1)

    says = str(try_answer(GATE, Narrow))
    assert "missing, or of the wrong shape: gate.weight (" in says


@pytest.mark.parametrize(
    "name", [n for n, each in exercises().items() if each.rubric]
)
def test_what_is_asked_of_an_explanation_is_shown_once_there_is_one(name):
    each = exercise(name)
    for empty in "\n...\n", 3:
        assert try_answer(each, empty).mistakes == ("not written",)
    short = try_answer(each, "word " * (ENOUGH_WORDS - 1))
    long = try_answer(each, "word " * ENOUGH_WORDS)
    assert short.share is long.share is None
    assert not any(part in short.says for part in each.rubric)
    assert all(part in long.says for part in each.rubric)


def test_floats_are_no_ids():
    each = exercise("reads_and_says")
    right = right_answer(each.name)
    wrong = try_answer(each, lambda *x: tuple(y.float() for y in right(*x)))
    assert try_answer(each, right).right
    assert "expected whole numbers, got torch.float32" in wrong.seen


@pytest.mark.parametrize(
    ("name", "before", "after", "says"),
    [
        ("decoder_mask", "!=", "==", "with `==` instead of `!=`"),
        (
            "sink_mask",
            "(i - j < 3) | (j < 2)",
            "i - j < 3 | j < 2",
            "brackets",
        ),
        ("sink_mask", "[None, None]", "", "a mask is (1, 1, T, T)"),
        ("front_mask", ".tolist()", "", "right"),
        ("looking_back", "shape[-1]", "shape[2]", "with the size of axis 2"),
    ],
)
def test_what_learners_write_is_explained(name, before, after, says):
    each = exercise(name)
    code = each.right.replace(before, after)
    assert says in str(try_answer(each, answer_in(each, code)))


def test_no_slip_is_in_a_loop_which_might_never_end(monkeypatch):
    codes = []
    monkeypatch.setattr(
        mistakes, "answer_in", lambda _, code: codes.append(code)
    )
    assert not [*mistakes.slips_of(exercise("greedy_rows"), [])]
    loops = {
        code[code.index("while") : code.index("return")] for code in codes
    }
    assert len(codes) > len(loops) == 1
