"""What ends a run is left out of the next; what came before it counts."""

import signal
import sys
import time
from itertools import islice
from weakref import ref

import pytest

from classroom import sandbox
from classroom.assignment import Assignment
from classroom.exercise import exercises
from classroom.grading import grade
from classroom.outcomes import TookTooLong, time_limit
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


def test_a_call_pays_for_what_it_computes_and_not_for_waiting(monkeypatch):
    now = dict.fromkeys(("process_time", "thread_time", "monotonic"), 0)
    for name in now:
        monkeypatch.setattr(time, name, lambda name=name: now[name])
    with time_limit(5):
        stop = signal.getsignal(signal.SIGALRM)
        now["monotonic"] = 99
        stop(signal.SIGALRM, None)
        now |= {"process_time": 6, "thread_time": 6}
        with pytest.raises(TookTooLong):
            stop(signal.SIGALRM, None)


def go_on(*_: object) -> None:
    while True:
        pass


def test_a_limit_that_falls_into_a_callback_comes_again():
    """What a callback raises is lost, and pytest would show it."""
    with pytest.raises(TookTooLong), time_limit(0.2):
        go_on(ref(set(), go_on))


def test_processes_pay_for_what_they_compute_or_sleep(monkeypatch):
    """Each 10 seconds they: begin, wait, compute 2, and 15 on two, sleep."""
    came = iter([(3, True), (3, True), (5, True), (20, True), (20, False)])
    monkeypatch.setattr(sandbox, "processor_use", lambda numbers: next(came))
    monkeypatch.setattr(time, "monotonic", iter(range(0, 99, 10)).__next__)
    used = [x for _, x in islice(sandbox.used_seconds(1, 0), 5)]
    assert used == [3, 0, 2, 15, 10]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_process_that_computes_is_told_from_one_that_sleeps():
    """Either loop would go on for ever."""
    code = "print(flush=True); input(); sum(iter(int, 1))"
    command = [sys.executable, "-c", code]
    with sandbox.running_process(command, "/tmp", 0) as process:
        process.stdout.readline()
        while sandbox.processor_use([process.pid])[1]:
            pass
        sandbox.hand_over(process, "go on")
        while sandbox.processor_use([process.pid]) < (0.5, True):
            pass
