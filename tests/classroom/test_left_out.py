"""What ends a run is left out of the next; what came before it counts."""

from classroom.assignment import Assignment
from classroom.exercise import exercises
from classroom.grading import grade
from classroom.sandbox import SandboxRun
from classroom.submissions import Submission

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
    assert [mark.verdict.mistakes for mark in done.marks] == [
        ("unreadable",),
        ("unreadable",),
    ]
    assert done.notes == (f"{SECOND} was left out: {SLOW}",)
    assert [job["skip"] for job in runs.jobs] == [[], [SECOND, FIRST]]


def test_a_cell_that_never_ends_is_left_out_and_named():
    runs = Runs(
        SandboxRun(begun=0, stopped=SLOW),
        SandboxRun(dict.fromkeys(NAMES), errors={1: "NameError: x"}),
    )
    done = grade_cells(runs, "while True: pass", "x")
    stop = f"code cell 1 was left out: {SLOW}"
    assert done.notes == (stop, "code cell 2: NameError: x")
    assert runs.jobs[1]["skip"] == [0]
    assert [mark.verdict.mistakes for mark in done.marks] == [
        ("no answer",),
        ("no answer",),
    ]


def test_the_last_run_has_only_cells_that_define_something():
    runs = Runs(*(SandboxRun(begun=n, stopped=SLOW) for n in range(5)))
    grade_cells(runs, *["print(1)"] * 5, "def answer(): pass", "import torch")
    assert len(runs.jobs) == 5
    assert runs.jobs[-1]["skip"] == [0, 1, 2, 3, *range(5)]
