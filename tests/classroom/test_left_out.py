"""What ends a run is left out of the next; what came before it counts."""

import pytest

from classroom.assignment import Assignment
from classroom.exercise import exercises
from classroom.grading import grade
from classroom.sandbox import SandboxRun
from classroom.submissions import LINES, Submission

NAMES = FIRST, SECOND = [*exercises()][:2]
WEEK = Assignment("Week", "autumn", dict.fromkeys(NAMES, 4))
SLOW = "it took too long"


class Runs:
    """A sandbox whose runs end as they are told to."""

    seconds = 20

    def __init__(self, *runs: SandboxRun):
        self.runs, self.jobs = [*runs], []

    def run(self, job, _seconds) -> SandboxRun:
        self.jobs.append(job)
        return self.runs.pop(0)


def grade_cells(runs: Runs, *cells: str):
    return grade(Submission("asha", cells), WEEK, runs)


def test_answers_of_an_earlier_run_are_kept_whatever_comes_later():
    runs = Runs(
        SandboxRun({FIRST: [1]}, begun=SECOND, stopped=SLOW),
        SandboxRun({FIRST: None, SECOND: [2], "forged": [3]}),
    )
    done = grade_cells(runs, "x = 1")
    mistakes = [mark.verdict.mistakes for mark in done.marks]
    assert mistakes == [("unreadable",)] * 2
    assert done.notes == (f"{SECOND} was left out: {SLOW}",)
    assert [job["skip"] for job in runs.jobs] == [[], [SECOND, FIRST]]


def test_a_line_that_never_ends_is_left_out_and_named():
    runs = Runs(
        SandboxRun(begun=3, stopped=SLOW),
        SandboxRun(dict.fromkeys(NAMES), errors={LINES + 2: "NameError: x"}),
    )
    done = grade_cells(runs, "\n\nwhile True: pass", "\nx")
    assert done.notes == (
        f"code cell 1, line 3 was left out: {SLOW}",
        "code cell 2, line 2 was left out: NameError: x",
    )
    assert runs.jobs[1]["skip"] == [3]
    mistakes = [mark.verdict.mistakes for mark in done.marks]
    assert mistakes == [("no answer",)] * 2


def test_the_fifth_run_is_the_last_and_is_told_so():
    runs = Runs(*(SandboxRun(begun=n, stopped=SLOW) for n in range(5)))
    grade_cells(runs, "x = 1")
    assert [job["last"] for job in runs.jobs] == [False] * 4 + [True]
    assert runs.jobs[-1]["skip"] == [0, 1, 2, 3]


@pytest.mark.parametrize("forged", [-1, 10**4000, True])
def test_a_place_that_is_none_does_no_harm(forged):
    run = SandboxRun(dict.fromkeys(NAMES), errors={forged: "x"})
    (note,) = grade_cells(Runs(run), "x = 1").notes
    assert note.startswith("code cell ")
    assert len(note) <= 600
