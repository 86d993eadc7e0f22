"""What building the book and testing the module takes, each run once."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.rounds import TRYING, row

TESTS = "tests/text" if TRYING else "tests"


def book_rows() -> list[dict]:
    """Build the HTML, as `make book` does, in a folder of its own."""
    builder = Path(sys.executable).with_name("jupyter-book")
    place = ["--path-output", "_build/bench/book"]
    strict = ["-W", "-n", "--keep-going", "--quiet", "--all"]
    return command_rows(
        "ours: `make book`", builder, "build", ".", *strict, *place
    )


def check_rows() -> list[dict]:
    """Run the quick tests, as `make check` does, but in one process."""
    options = ["-m", "not slow and not full", "-q", "-p", "no:cacheprovider"]
    run = sys.executable, "-m", "pytest", TESTS, *options
    return command_rows("ours: the tests of `make check`", *run)


def command_rows(name: str, *command) -> list[dict]:
    """Time a command: CPU time, its own processes' included, and what a
    clock shows. Raises RuntimeError with its last line if it fails."""
    before, start = cpu_of_children(), time.monotonic()
    done = subprocess.run(
        command, env=plain_environment(), capture_output=True, text=True
    )
    if done.returncode:
        written = (done.stdout + done.stderr).strip().split("\n")
        raise RuntimeError(written[-1])
    seconds = [cpu_of_children() - before]
    clock = round(time.monotonic() - start, 1)
    return [row(name, seconds, seconds) | {"clock": clock}]


def cpu_of_children() -> float:
    """Give the CPU time of all processes that this one started and that
    have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plain_environment() -> dict[str, str]:
    """Give the environment without the tools of benchmarks/requirements.txt,
    without QUICK, and without colours, which a page cannot show."""
    left_out = "PYTHONPATH", "QUICK"
    kept = {k: v for k, v in os.environ.items() if k not in left_out}
    return kept | {"NO_COLOR": "1"}
