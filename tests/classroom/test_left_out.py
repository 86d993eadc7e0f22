"""What ends a run is left out of the next; what came before it counts."""

from classroom.assignment import Assignment
from classroom.exercise import exercises
from classroom.grading import grade, played_through
from classroom.sandbox import Played
from classroom.submissions import Submission

NAMES = [*exercises()][:2]
WEEK = Assignment("Week", "autumn", dict.fromkeys(NAMES, 4))
SLOW = "it took too long"


class Runs:
    """A sandbox whose runs end as they are told to."""

    seconds = 20

    def __init__(self, *runs: Played):
        self.runs, self.jobs = [*runs], []

    def run(self, job, _seconds) -> Played:
        self.jobs.append({**job, "skip": [*job["skip"]]})
        return self.runs.pop(0)


def submission(cells) -> Submission:
    return Submission("asha", cells)


def test_answers_of_an_earlier_run_are_kept():
    first, second = NAMES
    runs = Runs(
        Played({first: [1]}, begun=second, stopped=SLOW),
        Played({second: [2]}),
    )
    played, notes = played_through(submission(["x = 1"]), WEEK, runs)
    assert played.came == {first: [1], second: [2]}
    assert notes == [f"{second} was left out: {SLOW}"]
    assert [job["skip"] for job in runs.jobs] == [[], [second, first]]


def test_what_came_first_is_not_replaced_by_a_later_run():
    first, second = NAMES
    runs = Runs(
        Played({first: [1]}, begun=second, stopped=SLOW),
        Played({first: None, second: [2]}),
    )
    played, _ = played_through(submission(["x = 1"]), WEEK, runs)
    assert played.came == {first: [1], second: [2]}


def test_a_cell_that_never_ends_is_left_out_and_named():
    runs = Runs(
        Played(begun=0, stopped=SLOW),
        Played(dict.fromkeys(NAMES)),
    )
    done = grade(submission(["while True: pass", "x = 1"]), WEEK, runs)
    assert done.notes == (f"code cell 1 was left out: {SLOW}",)
    assert runs.jobs[1]["skip"] == [0]
    assert done.total == 0


def test_the_last_run_has_only_cells_that_define_something():
    stopped = [Played(begun=n, stopped=SLOW) for n in range(5)]
    runs = Runs(*stopped)
    cells = [*["print(1)"] * 5, "def answer(): pass", "import torch"]
    played_through(submission(cells), WEEK, runs)
    assert len(runs.jobs) == 5
    assert runs.jobs[-1]["skip"] == [0, 1, 2, 3, *range(5)]
