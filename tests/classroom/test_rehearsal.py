"""Exercises of an author's own: the guide's, and faulty ones."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from classroom.exercise import CHAPTERS, notebook_sections, read_exercise
from classroom.judging import try_answer
from classroom.mistakes import answer_of
from classroom.rehearsal import rehearse
from classroom.trials import draw_trial
from tests.helpers.project import ROOT
from tests.helpers.small_exercises import MASK, SCORES

GUIDE = (ROOT / "book" / "instructors.md").read_text("utf8")
NOTEBOOK = CHAPTERS / "exercises" / "07_masks.md"
DATA = {"assignable": False, "names": ""}


def guide_exercise(**changes):
    """Read the exercise that the guide writes out."""
    section = re.search(r"````markdown\n(.*?)````", GUIDE, re.DOTALL)[1]
    table = re.search(r"```toml\n(.*?)```", GUIDE, re.DOTALL)[1]
    ((name, data),) = tomllib.loads(table).items()
    text = NOTEBOOK.read_text("utf8") + section
    data = DATA | data | changes
    sections = dict(notebook_sections(text))
    return read_exercise(name, data, Path(NOTEBOOK.name), sections)


def test_the_exercise_of_the_guide_is_right_and_its_mistakes_are_named():
    report = "\n".join(rehearse(guide_exercise()))
    assert f"```text\n{report}\n```" in GUIDE
    assert "passes with 20 of 20 seeds" in report
    assert "but" not in report
    assert len(re.findall("^  20 of 20 ", report, re.M)) == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"edit": []}, "edit: an exercise has"),
        ({"edits": [["ids == pad", "", "wrong"]]}, "stands 0 times"),
        ({"edits": [["amax(1)", "amax(-1)", "the same"]]}, "'the same' from"),
        ({"draw": "pad = 1"}, "pad is 1 in all ordinary cases"),
        ({"draw": "pad = draw.below(6); ids[:] = pad"}, "is the same in all"),
    ],
)
def test_an_author_is_told_what_is_wrong_with_an_exercise(changes, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        [*rehearse(guide_exercise(**changes))]


def test_a_section_and_its_table_need_the_same_name():
    with pytest.raises(ValueError, match='calls check."other"'):
        read_exercise("other", DATA, NOTEBOOK, {})


def test_two_edits_of_one_place_are_no_answer_and_others_compose():
    none, by_d, turned = SCORES.edits
    with pytest.raises(ValueError, match="two edits of one place"):
        answer_of(SCORES, (none, by_d))
    both = answer_of(SCORES, (by_d, turned))
    assert try_answer(SCORES, both).mistakes == (by_d[-1], turned[-1])


def test_an_argument_that_is_not_used_is_named_and_shows_with_every_seed():
    each = replace(MASK, axes="v: B T D, k: -> B T D", draw="k = 1")
    with pytest.raises(ValueError, match="k is 1"):
        draw_trial(each, 0)
    right = "def past(v, k): return v.cumsum(1) * max(k, 8)"
    each = replace(each, draw="k = 1 + draw.below(9)", right=right)
    for seed in range(20):
        ordinary = draw_trial(each, seed).cases
        assert {case.args[1] for case in ordinary} & {9}
        verdict = try_answer(each, lambda v, k: v.cumsum(1) * 9, seed)
        assert "in which `k` is the same in every call" in verdict.says
