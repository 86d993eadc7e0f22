"""Homework as notebooks fetch it: judged as ever, and nothing to paste."""

import json
import sys
import zipfile

import packages
import pytest

from classroom.exercise import CHAPTERS, TRIALS, exercises, stored_homework
from classroom.judging import trial_verdict, try_answer
from classroom.outcomes import run_on_cases
from classroom.stored import KEYS, read_trial, small_trial, trial_json
from tests.helpers.answers import written_answers
from tests.helpers.project import run

HOMEWORK = [n for n, e in exercises().items() if e.assignable]
CODED = [
    name
    for name in HOMEWORK
    if not exercises()[name].rubric and exercises()[name].kind != "result"
]
each_homework = pytest.mark.parametrize("name", CODED)
FILE = CHAPTERS / "exercises" / TRIALS
JUDGE = """\
import json
from classroom.exercise import exercise
from classroom.judging import try_answer
from classroom.mistakes import HEAD
for name, code in json.load(open("answers.json")):
    each = exercise(name)
    assert not each.right and not each.edits and not each.draw
    names = {}
    exec(HEAD + code, names)
    print(json.dumps(str(try_answer(each, names[name]))))
try:
    try_answer(each, 1, seed=5)
except ValueError as error:
    print(json.dumps(str(error)))
"""


@each_homework
def test_what_is_stored_is_what_the_sources_draw(name):
    """Up to rounding: `python -m classroom pack` writes it anew."""
    each = exercises()[name]
    told = stored_homework(FILE)["exercises"][name]
    assert told == json.loads(json.dumps({k: getattr(each, k) for k in KEYS}))
    stored = stored_homework(FILE)["trials"][name]
    fresh = json.loads(json.dumps(trial_json(small_trial(each))))
    for key in "cases", "wanted", "single":
        assert len(stored[key]) == len(fresh[key])
    assert [x for x, _ in stored["single"]] == [x for x, _ in fresh["single"]]


@each_homework
def test_a_stored_trial_says_what_a_drawn_one_says(name):
    each, trial = exercises()[name], stored_homework(FILE)["trials"][name]
    read = read_trial(each, trial)
    for answer in written_answers():
        if answer.exercise == name:
            value = answer.value()
            outcomes = run_on_cases(value, read.calls)
            here = trial_verdict(read, outcomes)
            assert here.mistakes == try_answer(each, value).mistakes


@pytest.mark.slow
def test_the_package_judges_homework_and_has_no_code_of_it(tmp_path):
    packages.write_archives(tmp_path)
    with zipfile.ZipFile(tmp_path / "exercises.zip") as files:
        files.extractall(tmp_path / "here")
    answers = [a for a in written_answers() if a.exercise in CODED[:6]]
    here = tmp_path / "here"
    job = json.dumps([(a.exercise, a.code) for a in answers])
    (here / "answers.json").write_text(job, "utf8")
    done = run(here, sys.executable, "-c", JUDGE)
    *said, refused = map(json.loads, done.stdout.splitlines())
    assert len(said) == len(answers), done.stderr
    for answer, text in zip(answers, said):
        assert text.startswith("✓" if answer.right else "✗"), text
    assert "only" in refused
