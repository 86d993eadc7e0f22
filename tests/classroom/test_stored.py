"""Homework as notebooks fetch it: judged as ever, and nothing to paste."""

import json
import sys
import zipfile

import packages
import pytest

from classroom.exercise import CHAPTERS, TRIALS, exercises, stored_homework
from classroom.judging import known_mistakes, trial_verdict
from classroom.mistakes import answer_of
from classroom.outcomes import run_on_cases
from classroom.packing import KEYS
from classroom.stored import read_trial
from tests.helpers.answers import answers_to
from tests.helpers.project import run

HOMEWORK = {name: x for name, x in exercises().items() if x.assignable}
CODED = [
    name
    for name, each in HOMEWORK.items()
    if not each.rubric and each.kind != "result"
]
each_homework = pytest.mark.parametrize("name", CODED)
STORED = stored_homework(CHAPTERS / "exercises" / TRIALS)
JUDGE = """\
import json
from classroom.exercise import exercise, exercises
from classroom.judging import try_answer
from classroom.mistakes import HEAD
practice = [x for x in exercises().values() if not x.assignable]
print(json.dumps([[x.name, x.title, x.right] for x in practice]))
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


def test_what_is_said_of_homework_is_what_its_tables_say():
    for name, each in HOMEWORK.items():
        table = json.dumps({key: getattr(each, key) for key in KEYS})
        assert STORED["exercises"][name] == json.loads(table)


@pytest.mark.slow
@each_homework
def test_a_stored_trial_judges_answers_and_mistakes_as_a_drawn_one(name):
    """If not, `python -m classroom pack` has to write it anew."""
    each = exercises()[name]
    trial = read_trial(each, STORED["trials"][name])
    calls = trial.calls
    assert trial_verdict(trial, run_on_cases(answer_of(each), calls)).right
    for edit in each.edits:
        outcomes = run_on_cases(answer_of(each, (edit,)), calls)
        assert known_mistakes(trial, outcomes) == (edit[-1],)
    for answer in answers_to(name) + answers_to(name, right=False):
        verdict = trial_verdict(trial, run_on_cases(answer.value(), calls))
        assert verdict.right == answer.right, (answer.code, verdict)
        assert answer.says in str(verdict), (answer.code, verdict)


@pytest.mark.slow
def test_the_package_judges_homework_and_has_no_code_of_it(tmp_path):
    packages.write_archives(tmp_path)
    with zipfile.ZipFile(tmp_path / "exercises.zip") as files:
        files.extractall(tmp_path / "here")
    answers = [
        answer
        for name in CODED[:6]
        for answer in answers_to(name) + answers_to(name, right=False)
    ]
    here = tmp_path / "here"
    job = json.dumps([(answer.exercise, answer.code) for answer in answers])
    (here / "answers.json").write_text(job, "utf8")
    done = run(here, sys.executable, "-c", JUDGE)
    practice, *said, refused = map(json.loads, done.stdout.splitlines())
    assert sorted(practice) == sorted(
        [each.name, each.title, each.right]
        for each in exercises().values()
        if not each.assignable
    )
    assert len(said) == len(answers), done.stderr
    for answer, text in zip(answers, said):
        assert text.startswith("✓" if answer.right else "✗"), text
    assert "only" in refused
