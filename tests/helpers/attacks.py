"""Cells that try to get points without an answer, or to do harm."""

import re

# One right answer and one wrong: what honest work is worth here.
HONEST = """
from classroom import check

def dealt_out(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)

check("dealt_out", dealt_out)

def alibi_bias(*args):
    return None
"""


def to_every_pipe(call: str) -> str:
    """Do something with whatever could lead to the judge."""
    tries = f"    try:\n        {call}\n    except OSError:\n        pass\n"
    return f"import json, os\nfor fd in range(3, 64):\n{tries}"


FILLS = """
n = 0
while True:
    open(f"PLACE/{n}", "wb").write(bytes(2**23)); n += 1
"""
ATTACKS = {
    "exit at once": "import os\nos._exit(0)",
    "crash": "import ctypes\nctypes.string_at(0)",
    "loop that catches all": """
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
    "sleep": "import time\ntime.sleep(10**6)",
    "memory, bit by bit": "x = []\nwhile True: x.append(bytearray(2**24))",
    "files in memory": FILLS.replace("PLACE", "/tmp"),
    "shared memory": FILLS.replace("PLACE", "/dev/shm"),
    "forks": "import os\nwhile True: os.fork()",
    "threads": """
import threading, time
while True: threading.Thread(target=time.sleep, args=(99,)).start()
""",
    "a process left behind": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(10**6)
    os._exit(0)
""",
    "a signal to all": "import os, signal\nos.kill(-1, signal.SIGKILL)",
    "a signal to the parent": "import os\nos.kill(os.getppid(), 9)",
    "no more alarms": """
import signal
signal.signal = lambda *a: None
signal.setitimer = lambda *a: None
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
""",
    "another check": """
import classroom as c
c.check = print
import classroom.judging as j
j.judge = j.try_answer = lambda *a: j.Verdict("x", 1, "right")
j.agrees = j.equal = lambda *a: True
""",
    "another call": """
import classroom.job as me
me.run_on_cases = lambda answer, cases: [me.outcomes.Outcome(1.0)] * len(cases)
""",
    "the reference": """
from classroom.exercise import exercise
alibi = exercise("alibi_bias")
def alibi_bias(*args):
    return alibi.right(args)
""",
    "a forged result": """
import glob, json, os
text = json.dumps({"tests": [{"score": 30, "max_score": 30}], "score": 30})
for name in ("results.json", "/autograder/results/results.json",
             "../results.json", "grades.csv"):
    open(name, "w").write(text)
""",
    "forged lines": """
line = {"of": "alibi_bias", "came": [[1.0, "", "", []]] * 99}
more = b'{"score": 100}\\n{"of": 3}\\n[[[[[\\n{"ends": true}\\n'
"""
    + to_every_pipe('os.write(fd, json.dumps(line).encode() + b"\\n" + more)'),
    "a flood": to_every_pipe('while True: os.write(fd, b"x" * 2**20)'),
    "no limits": """
import resource
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_CPU):
    resource.setrlimit(kind, (resource.RLIM_INFINITY,) * 2)
""",
    "a name of a cell": "raise Exception('=cmd|calc' * 10**6)",
    "a module of the same name": """
import sys
for name in list(sys.modules):
    if name.startswith(("json", "shapewatch", "tformer_lite", "classroom")):
        sys.modules[name] = None
""",
    "standard streams": "import sys\nsys.stdout = sys.stderr = None",
    "a huge number": "def alibi_bias(*a): return 10**400",
    "a lone surrogate": 'raise ValueError("\\ud800\\x1b[2K" * 9)',
    "a class with a long name": """
alibi_bias = lambda *a: type("A\\nstudent: 30 of 30" * 10**5, (), {})()
""",
    "a shape without end": "def alibi_bias(*a): return (2,) * 200_000",
    "a forged beginning": to_every_pipe(
        """os.write(fd, b'{"begins": "' + b"A" * 10**6 + b'"}\\n')"""
    ),
    "forged errors": """
lines = b"".join(b'{"cell": %d, "error": "x"}\\n' % n for n in range(10**5))
"""
    + to_every_pipe("os.write(fd, lines)"),
}
# More, for the container as well: what each is after, and where that would be.
ATTACKS |= {
    "lines before the real ones": """
import glob, json, os
line = {"of": "alibi_bias", "came": [[0.0, "", "", []]] * 9}
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        os.write(fd, b'{"begins": "alibi_bias"}\\n')
        os.write(fd, (json.dumps(line) + "\\n").encode())
    except OSError:
        pass
""",
    "the parent's memory": """
import glob, os
for name in "mem", "environ", "maps", "fd/0", "cwd/assignment.json":
    try:
        text = open(f"/proc/{os.getppid()}/{name}", "rb").read(9)
    except OSError:
        continue
    if text: raise RuntimeError(f"read: {name}")
""",
    "another group": """
import os
for change in (lambda: os.setgroups([0]), lambda: os.setgid(0),
               lambda: os.setuid(0), lambda: os.setresgid(0, 0, 0)):
    try:
        change()
        assert os.getgid(), "root's group"
    except OSError:
        pass
""",
    "a tracer": """
import ctypes, os
libc = ctypes.CDLL(None)
for pid in {os.getppid(), 1} - {os.getpid()}:
    if libc.ptrace(16, pid, 0, 0) == 0: raise RuntimeError("traced")
""",
    "a writer who stays": """
import os, time
def write():
    while True:
        for place in "/autograder/results/results.json", "results.json":
            try:
                open(place, "w").write('{"score": 30}')
            except OSError:
                pass
        time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: write()
    os._exit(0)
""",
    "the submission's file": """
import os
for name in "submission_metadata.json", "submission", "results":
    place = f"/autograder/{name}"
    try:
        os.listdir(place) if os.path.isdir(place) else open(place).read()
    except OSError:
        continue
    raise RuntimeError(f"read: {place}")
""",
    "the grader itself": """
import classroom, importlib, pathlib
home = pathlib.Path(classroom.__file__).parents[1]
for attempt in (
    lambda: importlib.import_module("classroom.gradescope").grade_here(
        home.parent, 0),
    lambda: (home / "assignment.json").read_text(),
    lambda: [*(home / "classroom/exercises").iterdir()][0].read_bytes(),
    lambda: [*(home / "chapters/exercises").iterdir()][0].read_bytes(),
):
    try:
        attempt()
    except Exception:
        continue
    raise RuntimeError("done")
""",
    "a torch of my own": """
import importlib, os, pathlib, sys
fake = "def __getattr__(name): return lambda *a, **k: True"
for name in "torch.py", "sitecustomize.py", "classroom.py", "json.py":
    pathlib.Path(name).write_text(fake)
    pathlib.Path(os.path.expanduser("~"), name).write_text(fake)
sys.path.insert(0, os.getcwd())
importlib.reload(importlib.import_module("json"))
""",
    "an environment": """
import os, subprocess, sys
os.environ.update(PYTHONPATH=os.getcwd(), LD_PRELOAD="./x.so")
words = " ".join(os.environ).upper()
for secret in "TOKEN", "SECRET", "PASS", "AWS", "GRADESCOPE":
    if secret in words: raise RuntimeError(f"seen: {secret}")
""",
    "orphans that multiply": """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            for _ in range(30):
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(10**6)
            time.sleep(0.2)
    os._exit(0)
""",
    "all inputs at once": """
import gc, os, sys
frame, found = sys._getframe(), []
while frame:
    found.append(repr({**frame.f_locals, "names": 0, "found": 0}))
    frame = frame.f_back
found += [repr(x)[:9999] for x in gc.get_objects() if type(x) is dict and
          "cases" in x and x is not globals()]
for fd in map(int, os.listdir("/proc/self/fd")):
    try:
        os.set_blocking(fd, False)
        found.append(repr(os.read(fd, 99)))
        os.set_blocking(fd, True)
    except OSError:
        try: os.set_blocking(fd, True)
        except OSError: pass
kind = "ten" + "sor"  # so that it does not find itself
if any(f"'{kind}':" in x or f'"{kind}"' in x for x in found):
    raise RuntimeError("the inputs are here before their time")
""",
}
# These end or block the process they run in, so their cell is left out, or
# the time is up before the rest.
WITHOUT_PROCESS = {
    "loop that catches all",
    "another call",
    "forged lines",
    "a flood",
    "no more alarms",
    "a module of the same name",
    "memory, bit by bit",
    "forks",
    "threads",
    "a signal to all",
    "a signal to the parent",
    "crash",
    "exit at once",
    "lines before the real ones",
    "a torch of my own",
    "orphans that multiply",
}
# These take the time of their cell, or look through all files.
SLOW = {"sleep", "files in memory", "shared memory"}
# These are answers; the others stand in cells before one.
ANSWERS = [x for x in ATTACKS if re.search("(?m)^(def )?alibi_b", ATTACKS[x])]
ALONE = sorted(SLOW | WITHOUT_PROCESS)
TOGETHER = [x for x in ATTACKS if x not in (*ALONE, *ANSWERS)]
