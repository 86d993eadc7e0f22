"""Small faults in the code that must not be wrong: a test notices them."""

import json
import subprocess
import sys

import mutants
import pytest

from tests.helpers.project import ROOT

NOTES = json.loads(mutants.NOTES.read_text("utf8"))


def test_of_the_faults_that_were_planted_nearly_all_were_noticed():
    """As `make mutants` last found. What is no fault counts as well."""
    assert {ROOT / name for name in NOTES} <= {*mutants.FILES}
    count, noticed, _ = mutants.counts(NOTES.values())
    assert noticed / count >= 0.95, mutants.score(NOTES.values())


@pytest.mark.parametrize("name", NOTES)
def test_what_was_not_noticed_is_a_line_that_is_still_there(name):
    lines = mutants.flat((ROOT / name).read_text("utf8").splitlines())
    gone = [
        survivor["before"]
        for survivor in NOTES[name]["survivors"]
        if survivor["before"] not in lines
    ]
    assert gone == [], f"these lines are others now: make mutants FILES={name}"


TRY = """
import sys
sys.path[:0] = sys.argv[2:]
import mutants
mutants.TESTS = {"model": [sys.argv[1]]}
file = mutants.FILES[1]
right = file.read_text("utf-8")
planted = [
    mutants.Mutant(word, other, right.replace(word, other))
    for word, other in [("tril()", "triu()"), ("< 1", "< 0")]
]
mutants.warm({"model": file})
print([x.before for x in mutants.Trial(file).survivors(planted)])
"""
WITNESS = """
def test_triangle():
    from tformer_lite import causal_mask
    assert not causal_mask(2)[0, 0, 0, 1]
"""


def said(folder, test: str) -> subprocess.CompletedProcess:
    """Plant two faults in the masks, with one test that looks at them."""
    (folder / "test_it.py").write_text(test)
    return subprocess.run(
        [sys.executable, "-c", TRY, folder, ROOT / "book" / "_tools", ROOT],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )


@pytest.mark.full
def test_a_fault_that_no_test_looks_at_survives(tmp_path):
    done = said(tmp_path, WITNESS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "['< 1']"


@pytest.mark.full
def test_where_a_test_fails_already_nothing_is_tried(tmp_path):
    done = said(tmp_path, "def test_it(): assert False")
    assert "a quick test fails as it is" in done.stderr
