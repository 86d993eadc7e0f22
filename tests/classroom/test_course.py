"""The assignments: reference runs have all points, and hunts and results are
judged as their statements say."""

import contextlib
import io
import json
import random
import re
from itertools import combinations, product

import my_transformer
import pytest
import torch

from classroom.assignment import planted, stranger, student_notebook
from classroom.exercise import CODE_CELL, exercise, statement_files
from classroom.grading import grade
from classroom.judging import try_answer
from classroom.mistakes import answer_of
from classroom.sandbox import Sandbox
from classroom.submissions import Submission
from shapewatch import report
from tests.helpers.answers import assigned, reference

NAMES = "build", "bug_hunt", "own_language", "one_change"
HUNT = exercise("hunt_mended")
CHANGE = "change_keys", "change_runs", "change_report"


def statement(name):
    """The code cells of a statement, but the set-up."""
    file = next(x for x in statement_files() if x.stem.endswith(f"_{name}"))
    return CODE_CELL.findall(file.read_text("utf8"))[1:]


def marks(code, *names):
    """The points of each part, in the way that a submission is graded."""
    sent, sandbox = Submission("student", [code]), Sandbox(True, seconds=120)
    graded = grade(sent, assigned(*names), sandbox)
    return {mark.exercise: (mark.points, mark.most) for mark in graded.marks}


def bugs_by_shelf():
    shelves = {}
    for edit in HUNT.edits:
        shelves.setdefault(edit[-1].partition(":")[0], []).append(edit)
    return [*shelves.values()]


@pytest.mark.parametrize("name", NAMES)
def test_the_parts_of_an_assignment_are_worth_a_hundred_points(name):
    only = CHANGE if name == "one_change" else [name]
    assert assigned(*only).most == 100


# --- Build ----------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("name", ["build", "bug_hunt"])
def test_a_reference_run_has_all_points_that_a_program_gives(name):
    for part, (points, most) in marks(reference(name), name).items():
        assert points == (None if exercise(part).rubric else most), part


@pytest.mark.full
def test_the_file_that_the_chapters_build_passes_no_part():
    same = {
        "build_padding": my_transformer.padding_mask,
        "build_window": my_transformer.causal_mask,
        "build_embedding": my_transformer.InputEmbedding,
        "build_attention": my_transformer.MultiHeadAttention,
        "build_norm": my_transformer.nn.LayerNorm,
        "build_feed": my_transformer.FeedForward,
        "build_block": my_transformer.Block,
        "build_cross_block": my_transformer.CrossBlock,
        "build_encoder": my_transformer.Stack,
        "build_decoder": my_transformer.Stack,
        "build_translator": my_transformer.EncoderDecoder,
        "build_greedy": my_transformer.greedy,
        "build_trained": my_transformer.main,
    }
    assert {*same} == {*assigned("build").points} - {"build_report"}
    for name, answer in same.items():
        assert try_answer(exercise(name), answer).share == 0, name


# --- Bug hunt -------------------------------------------------------------


@pytest.mark.slow
def test_a_hunt_gives_a_third_for_each_mended_bug_and_names_none():
    trios = [*product(*bugs_by_shelf())]
    for bugs in random.Random(0).sample(trios, 4):
        for left in (c for n in range(4) for c in combinations(bugs, n)):
            verdict = try_answer(HUNT, answer_of(HUNT, left))
            assert verdict.share == pytest.approx(1 - len(left) / 3)
            assert not any(edit[-1] in str(verdict) for edit in bugs)


def test_a_hunt_gives_nothing_where_something_else_was_changed():
    other = ("F.gelu(", "F.relu(", "")
    for edits in ((other,), (other, HUNT.edits[0])):
        assert try_answer(HUNT, answer_of(HUNT, edits)).share == 0


@pytest.mark.slow
def test_in_a_class_the_bugs_that_are_left_are_those_of_its_file():
    hunt = assigned("hunt_mended").exercises[0]
    assert hunt == planted(HUNT, "autumn")
    for edit in HUNT.edits:
        verdict = try_answer(hunt, answer_of(HUNT, (edit,)))
        assert verdict.share == (2 / 3 if edit in hunt.edits else 0), edit
        assert ("with one bug" in verdict.says) == (edit in hunt.edits)
    text = json.dumps(student_notebook(assigned("bug_hunt")))
    assert json.dumps(stranger(hunt))[1:-1] in text


@pytest.mark.full
def test_no_bug_changes_a_shape_and_the_checks_name_fourteen_of_sixteen():
    ids = torch.randint(2, 23, (3, 11), generator=torch.manual_seed(0))
    ids[0, :4], ids[1, :3], ids[2, 0] = torch.tensor([0, 0, 0, 1]), 0, 1
    ids[1, 2] = 1
    sizes = {"n_letters": 23, "width": 24, "n_eyes": 3, "n_floors": 2}
    unnamed = []
    for edits in ((), *((edit,) for edit in HUNT.edits)):
        torch.manual_seed(0)
        model = answer_of(HUNT, edits)(**sizes, longest=40).eval()
        assert model(ids).shape == (3, 11, 23)
        said = report(model, ids, pad=0, loss=lambda m, x: m(x, learn=True))
        if not said.broken:
            unnamed.append("".join(edit[-1] for edit in edits))
    assert unnamed == [
        "",
        "the way: the norm divides by the mean square, and not by its root",
        "the loss: the softmax is taken twice",
    ]


def test_the_file_in_the_statement_has_three_bugs_and_a_word_draws_others():
    shown = stranger(planted(HUNT))
    assert any(shown in cell for cell in statement("bug_hunt"))
    drawn = {planted(HUNT, f"word {n}") for n in range(60)}
    assert len(drawn) > 30


# --- Results --------------------------------------------------------------


def language(**changed):
    train = [(f"kim sees {n}.", f"Kim vidas {n}n.") for n in "abcdefgh" * 7]
    test = [(f"sees kim {n}.", f"vidas Kim {n}n.") for n in "abcdefgh"]
    test += [("a sees kim.", "a vidas Kim."), ("b sees kim.", "b vidas Kim.")]
    words = [
        sorted({w for p in train for w in p[side][:-1].split()} | {"."})
        for side in (0, 1)
    ]
    wrote = [b for _, b in test[:5]] + ["."] * 5
    shares = {f"head {n}": n / 10 for n in range(9)}
    work = {"train": train, "test": test, "words": words, "wrote": wrote}
    return work | {"right": 0.5, "without": shares} | changed


RUNS = {
    "before": [0.07, 0.06, 0.08],
    "after": [0.19, 0.12, 0.2],
    "means": [0.07, 0.17],
    "spreads": [0.02, 0.08],
    "word": "worse",
}
WRONG = [
    ("pairs", language(test=language()["test"][:9]), "60 and 10"),
    ("pairs", language(test=[("Kim sees a!", "x")] * 10), "in training"),
    ("pairs", language(test=language()["test"][:5] * 2), "test twice"),
    ("pairs", {"train": []}, "not have the form"),
    ("words", language(words=[["kim"], ["Kim"]]), "is [UNK]"),
    ("words", language(train=[("kim  sees.", "x")]), "give back"),
    ("words", language(train=language()["train"][1:8]), "sentence: a"),
    ("share", language(right=0.6), "not that of the translations"),
    ("share", language(wrote=["?"]), "1 translations, and 10"),
    ("share", language(wrote=["Kim."] * 9 + ["Ram."]), "because Ram is not"),
    ("share", language(wrote=["."] * 10, right=0), "no translation is right"),
    ("without", language(without=dict.fromkeys(range(9), 0.17)), "no share"),
    ("without", language(without={"head 0": 0.5}), "nine heads"),
    ("without", language(without=dict.fromkeys("abcdefghi", 0.5)), "the same"),
    ("runs", RUNS | {"after": RUNS["before"]}, "the same run"),
    ("runs", RUNS | {"spreads": [0.02, 0.05]}, "the spreads are not"),
    ("runs", RUNS | {"before": [0.1, 0.08, float("nan")]}, "we measured"),
    ("runs", RUNS | {"before": [0.1, 0.3, 0.08]}, "what we measured"),
    ("runs", RUNS | {"means": [0.07, float("nan")]}, "the means are"),
    ("runs", RUNS | {"word": "no difference"}, "does not follow"),
    ("runs", RUNS | {"after": [0.1, 0.2]}, "three losses"),
]
# As far apart as the spread, and less.
NEAR = RUNS | {"after": [0.09, 0.04, 0.11], "means": [0.07, 0.08]}
NEAR |= {"spreads": [0.02, 0.07], "word": "no difference"}
LESS = RUNS | {"after": [0.01, 0.02, 0.03], "means": [0.07, 0.02]}
LESS |= {"spreads": [0.02, 0.02], "word": "better"}


def result(name):
    return exercise({"runs": "change_runs"}.get(name, f"language_{name}"))


def test_results_that_hold_pass_and_others_are_told_why_not():
    for name in ("pairs", "words", "share", "without"):
        assert try_answer(result(name), language()).right, name
        assert not try_answer(result(name), ...).right
    for runs in (RUNS, NEAR, LESS):
        assert try_answer(result("runs"), runs).right, runs
    for name, value, says in WRONG:
        verdict = try_answer(result(name), value)
        assert verdict.share == 0, (name, value)
        assert says in str(verdict), (name, verdict)


def test_a_result_is_pasted_whatever_signs_are_in_its_sentences():
    (cell,) = (x for x in statement("own_language") if "HANDED_IN =" in x)
    work = language(wrote=['She says "a\\b", \'c\' and """d""".', "\n{}"])
    names = {"json": json}
    exec(cell.replace("{}", json.dumps(work)), names)
    assert names["language"] == json.loads(json.dumps(work))


def run_cells(name, code, before):
    """Run a statement's cells with the reference in place of one of them, and
    give what was printed, cell by cell, and all names."""
    names, said = {"__name__": "__main__", "display": print}, []
    for cell in statement(name):
        if before in cell:
            exec(code, names)
            cell = re.split(r"\n+(?=if |MEASURE)", cell, maxsplit=1)[1]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(cell, names)
        said.append(out.getvalue())
    return names, said


@pytest.mark.full
def test_the_reference_language_is_learned(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # where the pairs go, and the numbers
    solution = reference("own_language")
    _, said = run_cells("own_language", solution, "def sentences")
    printed = next(text for text in said if text.startswith('{"train"'))
    assert json.loads(printed)["right"] > 0.8
    names = " = ".join([*assigned("own_language").points][:4])
    code = f"{solution}\nimport json\n{names} = json.loads({printed!r})"
    for part, (points, most) in marks(code, "own_language").items():
        assert points == (None if exercise(part).rubric else most), part


@pytest.mark.full
def test_the_reference_change_is_measured_and_has_all_points():
    solution = reference("one_change")
    names, _ = run_cells("one_change", solution, "CHANGE = {}")
    runs = names["runs_of_both"]
    means = [sum(run) / 3 for run in runs]
    spreads = [max(run) - min(run) for run in runs]
    less = means[0] - means[1]
    word = "no difference" if abs(less) <= max(spreads) else "worse"
    work = {"before": runs[0], "after": runs[1], "means": means}
    work |= {"spreads": spreads, "word": word}
    code = f"{solution}\nchange_runs = {work}\nchange_report = 'a ' * 20"
    for part, (points, most) in marks(code, *CHANGE).items():
        assert points == (None if exercise(part).rubric else most), part
