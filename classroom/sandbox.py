"""The sandbox: bubblewrap around the process that runs a student's code."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from classroom.outcomes import PACKAGES, PATIENCE
from classroom.submissions import LINES
from classroom.values import clean

PYTHON = [sys.executable, "-P", "-m", "classroom.job"]
KILL_ALL = [sys.executable, "-S", "-c", "import os; os.kill(-1, 9)"]
MEMORY = 2 * 2**30  # bytes a process
TOGETHER = 3 * 2**30  # bytes of all processes
SPARE = 64 * 2**20  # bytes of a container that stay free
CGROUPS = "memory.max", "memory/memory.limit_in_bytes"
PROCESSES = 64
DISK = 64 * 2**20  # bytes in /tmp, which lies in memory
OUTPUT = 32 * 2**20  # bytes of what comes out
ERRORS, ERROR = 50, 300  # of what is taken over from that
START = 90  # seconds to import torch; the student's own begin after it
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"]
SYSTEM += ["/etc/alternatives"]
# Where Python keeps packages below a folder; what a copy, now and before, and
# a repository have that tells answers.
PACKAGE_PLACES = "lib*/python*/*-packages", "local/lib*/python*/*-packages"
COPIES = "classroom/exercises", "tformer_lite/classroom/exercises"
REPOSITORY = "chapters", "tests", ".git"
NO_BUBBLEWRAP = (
    "submissions are run under bubblewrap, and {}. Install it "
    "(apt install bubblewrap, dnf install bubblewrap), or grade inside a "
    "container or a Linux virtual machine that has it. For submissions that "
    "you wrote yourself, --trust-submissions runs them without."
)


@dataclass
class SandboxRun:
    """What came out of one run: what of each exercise, which cells failed,
    which exercises' inputs were handed over, what was running when it
    stopped, why it did, or "", and how many seconds it used once it was
    ready."""

    came: dict[str, Any] = field(default_factory=dict)
    errors: dict[int | str, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    begun: int | str | None = None
    stopped: str = ""
    took: float = 0.0


class Sandbox:
    """Runs jobs in processes of their own: under bubblewrap; with `user`, as
    the user and group of a container with that number, whom nobody else is;
    with `trusted`, as they are. All runs of one submission have `seconds`
    together, none more than half of them, so that an endless loop leaves
    time for the rest."""

    def __init__(
        self, trusted: bool = False, user: int = 0, seconds: float = 20
    ):
        self.user, self.seconds = user, seconds
        self.wrapped = not (trusted or user)
        if self.wrapped:
            check_bubblewrap()

    def run(self, job: Mapping[str, Any], seconds: float) -> SandboxRun:
        """Run a job to its end, or to the limit that it breaks."""
        most = min(TOGETHER, memory_left())
        limited_job = {**job, "seconds": math.ceil(seconds), "together": most}
        limited_job["memory"] = min(MEMORY, most)
        with tempfile.TemporaryDirectory() as folder:
            if self.user:
                os.chown(folder, self.user, self.user)
            wrap = bubblewrap_command(folder) if self.wrapped else []
            command = [*wrap, *PYTHON]
            with running_process(command, folder, self.user) as process:
                return run_with_limits(process, limited_job, self.user)


@cache
def check_bubblewrap() -> None:
    """Raise RuntimeError where bubblewrap is not there, or may not work."""
    if shutil.which("bwrap") is None:
        raise RuntimeError(NO_BUBBLEWRAP.format("bwrap is not here"))
    with tempfile.TemporaryDirectory() as folder:
        command = [*bubblewrap_command(folder), "true"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        why = f"here it may not work ({' '.join(done.stderr.split())})"
        raise RuntimeError(NO_BUBBLEWRAP.format(why))


def bubblewrap_command(folder: str) -> list[str]:
    """Write the command of bubblewrap: no network, a system that can only be
    read, an empty /tmp of limited size, no home, and no exercises."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    words += ["--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
    words += ["--clearenv", "--proc", "/proc", "--dev", "/dev"]
    for place in ("/dev/shm", "/tmp"):
        words += ["--size", str(DISK), "--tmpfs", place]
    for place in SYSTEM:
        if Path(place).is_symlink():
            words += ["--symlink", os.readlink(place), place]
        elif Path(place).exists():
            words += ["--ro-bind", place, place]
    for place in python_folders():
        words += ["--ro-bind", place, place]
    for place in exercise_folders():
        words += ["--tmpfs", place, "--remount-ro", place]
    for name, value in environment("/tmp").items():
        words += ["--setenv", name, value]
    return [*words, "--remount-ro", "/", "--chdir", "/tmp"]


def package_folders() -> list[Path]:
    """Find the folders of this package, and of those that it builds on."""
    files = (str(import_module(name).__file__) for name in PACKAGES)
    return [Path(file).parent for file in files]


def python_folders() -> list[str]:
    """List what Python and our packages need to be found, outermost first."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix}
    prefixes |= {*map(str, package_folders())}
    prefixes |= {str(Path(sys.executable).resolve().parents[1])}
    prefixes |= {p for p in sys.path if p.endswith("-packages")}
    outside = [p for p in prefixes if not p.startswith(("/usr/lib", "/usr/b"))]
    return sorted((p for p in outside if p != "/usr"), key=len)


def exercise_folders() -> list[str]:
    """List the folders that tell answers, of every copy that could be read:
    with exercises, or of a repository that lies where all is read."""
    roots, repository = (*python_folders(), *SYSTEM), Path(__file__).parents[1]
    homes = [repository, *map(Path, filter(None, sys.path))]
    for root, form in product(roots, PACKAGE_PLACES):
        homes += [home.resolve() for home in Path(root).glob(form)]
    shelves = {Path(*each) for each in product(homes, COPIES)}
    shelves |= {repository / name for name in REPOSITORY}
    return sorted(
        str(shelf)
        for shelf in shelves
        if shelf.is_dir() and any(shelf.is_relative_to(r) for r in roots)
    )


def environment(home: str) -> dict[str, str]:
    """Give what a student's process knows of its surroundings."""
    homes = dict.fromkeys(str(f.parent) for f in package_folders())
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "PYTHONPATH": os.pathsep.join(homes),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MPLBACKEND": "Agg",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
    }


def owner(user: int) -> dict[str, Any]:
    """Say who a process belongs to: a user, in that group and no other."""
    return {"user": user, "group": user, "extra_groups": []} if user else {}


@contextlib.contextmanager
def running_process(
    command: list[str], folder: str, user: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, and leave none of it behind."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment(folder),
        start_new_session=True,
        umask=0o077,
        **owner(user),
    )
    with contextlib.suppress(OSError):  # where memory ends, it goes first
        Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
    try:
        yield process
    finally:
        end(process, user)
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream and stream.close()


def end(process: subprocess.Popen[bytes], user: int = 0) -> None:
    """Kill a process, all that it started, and all of a user at once, so that
    none of them can start another meanwhile."""
    for number in family(process.pid):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(number, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if user:
        subprocess.run(KILL_ALL, cwd="/", env={}, **owner(user))


def run_with_limits(
    process: subprocess.Popen[bytes], job: Mapping[str, Any], user: int
) -> SandboxRun:
    """Hand a job over, read what comes, and stop what breaks a limit."""
    run, done = SandboxRun(), threading.Event()
    limits = process, job, user, run, done
    watch = threading.Thread(target=guard, args=limits, daemon=True)
    watch.start()
    try:
        hand_over(process, {**job, "orders": [*job["orders"]]})
        read_messages(process, run, job)
    finally:
        done.set()
        watch.join()
    return run


def hand_over(process: subprocess.Popen[bytes], part: Any) -> None:
    """Write a line of a job."""
    with contextlib.suppress(OSError):  # it may be gone already
        assert process.stdin
        process.stdin.write(json.dumps(part).encode() + b"\n")
        process.stdin.flush()


def guard(
    process: subprocess.Popen[bytes],
    job: Mapping[str, Any],
    user: int,
    run: SandboxRun,
    done: threading.Event,
) -> None:
    """End a process at the first limit that it breaks, and say which."""
    begun, spent, ready = time.monotonic(), 0.0, False
    for numbers, seconds in used_seconds(process.pid, user):
        if done.wait(0.05) or process.poll() is not None:
            break
        spent += seconds
        if run.begun is not None and not ready:
            begun, spent, ready = time.monotonic(), 0.0, True
        run.took = max(spent, (time.monotonic() - begun) / PATIENCE)
        if run.took > (job["seconds"] if ready else START):
            run.stopped = "it took too long"
        elif len(numbers) > PROCESSES:
            run.stopped = "it started too many processes"
        elif sum(map(resident, numbers)) > job["together"]:
            run.stopped = "it took too much memory"
        if run.stopped:
            break
    if not done.is_set():  # what is left would keep the stream open
        end(process, user)


def used_seconds(pid: int, user: int) -> Iterator[tuple[list[int], float]]:
    """List a process with those that it started, again and again; and tell
    each time for how long they computed since, or all of them slept. While
    they wait for a processor, they pay nothing."""
    then, before = time.monotonic(), 0.0
    while True:
        numbers = family(pid, user)
        now, (computed, awake) = time.monotonic(), processor_use(numbers)
        yield numbers, max(computed - before, 0 if awake else now - then)
        then, before = now, computed


def processor_use(numbers: Iterable[int]) -> tuple[float, bool]:
    """Tell how many seconds the threads of processes have computed, and
    whether one of them has work to do."""
    ticks, awake = 0, False
    for number in numbers:
        with contextlib.suppress(OSError, ValueError):
            for file in Path(f"/proc/{number}/task").glob("*/stat"):
                state, *words = file.read_bytes().rpartition(b")")[2].split()
                ticks += int(words[10]) + int(words[11])
                awake = awake or state == b"R"
    return ticks / os.sysconf("SC_CLK_TCK"), awake


def family(pid: int, user: int = 0) -> list[int]:
    """List a process, those that it started, and those that they did; and
    all of a user."""
    children: dict[int, list[int]] = {}
    members, new = {pid}, [pid]
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, KeyError, ValueError):
            lines = (folder / "status").read_text("utf8", "replace")
            about = dict(x.partition(":\t")[::2] for x in lines.splitlines())
            children.setdefault(int(about["PPid"]), []).append(
                int(folder.name)
            )
            if user and about["Uid"].split()[0] == str(user):
                new.append(int(folder.name))
    while new:
        members |= {*new}
        new = [c for p in new for c in children.get(p, []) if c not in members]
    return [*members]


def memory_left() -> int:
    """Tell how many bytes a container has beside this process; where it has
    no limit, as many as all may take."""
    for name in CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            most = int((Path("/sys/fs/cgroup") / name).read_text())
            return max(most - resident(os.getpid()) - SPARE, SPARE)
    return TOGETHER


def resident(pid: int) -> int:
    """Tell how many bytes of memory a process has."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    return 0


def read_messages(
    process: subprocess.Popen[bytes], run: SandboxRun, job: Mapping[str, Any]
) -> None:
    """Read the lines that come, as far as they are what they should be, and
    hand over what each exercise is tried on when it begins: in their order,
    and none before the answer to the one before has come."""
    size, ended = 0, False
    assert process.stdout
    stream = process.stdout
    for line in iter(lambda: stream.readline(OUTPUT), b""):
        size += len(line)
        if size >= OUTPUT:
            run.stopped = "it wrote too much"
            end(process)
            break
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            ended = take_message(run, json.loads(line), job) or ended
        if run.begun in {*job["orders"]} - run.given:
            run.given.add(str(run.begun))
            hand_over(process, job["orders"][str(run.begun)])
    if not ended and not run.stopped:
        run.stopped = "it ended the process"


def take_message(run: SandboxRun, line: Any, job: Mapping[str, Any]) -> bool:
    """Take over what a line says; tell whether it was the last. Places and
    names are those of the job, or it could say anything with them; once
    inputs were handed over, no text that they could stand in is taken."""
    waiting = [n for n in job["orders"] if n not in [*job["skip"], *run.came]]
    match line:
        case {"begins": int(place)} if is_place(place, job["cells"]):
            run.begun = place
        case {"begins": str(name)} if [name] == waiting[:1]:
            run.begun = name
        case {"cell": int(place), "error": str(error)}:
            known = is_place(place, job["cells"])
            if known and len(run.errors) < ERRORS and not run.given:
                run.errors[place] = clean(error, ERROR)
        case {"of": str(name), "came": list() | None as came}:
            if [name] == waiting[:1] and name in run.given:
                run.came[name] = came
        case {"ends": True}:
            return True
    return False


def is_place(place: int, cells: Sequence[str]) -> bool:
    """Tell whether a number is the place of a cell, or of a line in it."""
    cell, line = divmod(place, LINES)
    return 0 <= cell < len(cells) and line <= cells[cell].count("\n") + 1
