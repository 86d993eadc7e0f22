"""Cells as notebooks have them: a right answer in them counts.

In the tables, NAME is a right answer: it adds 1 to what it is given.
"""

import ast
import sys

import pytest

from classroom.assignment import Assignment
from classroom.cases import Case
from classroom.cells import statements
from classroom.grading import grade
from classroom.job import BELOW
from classroom.sandbox import Sandbox
from classroom.submissions import LINES, Submission
from classroom.values import to_json
from tests.helpers.small_exercises import SPLIT_CODE

# Takes away what a grader may not have, whether it is here or not.
HIDE = """
import sys
MISSING = {"IPython", "ipywidgets", "matplotlib", "seaborn", "tqdm", "google"}
class Hidden:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, *more):
        if name.partition(".")[0] in MISSING:
            return None
        return self.finder.find_spec(name, *more)
for name in [n for n in sys.modules if n.partition(".")[0] in MISSING]:
    del sys.modules[name]
sys.meta_path[:-1] = map(Hidden, sys.meta_path[:-1])
"""
ANSWER = "def NAME(x):\n    return x + 1\n"
TRACEBACK = """\
---------------------------------------------------------------------------
NameError                                 Traceback (most recent call last)
<ipython-input-3-2d1f0f1c4b1c> in <module>
----> 1 mask

NameError: name 'mask' is not defined
"""
READ = {
    "help below": ANSWER + "torch.tril?\n?torch.tril\ntorch.nn.Linear??\n",
    "help in the body": "def NAME(x):\n    torch.tril?\n    return x + 1\n",
    "%%time": "%%time\n" + ANSWER,
    "%%capture": "\n%%capture out --no-stderr\n%%time\n" + ANSWER,
    "%time": "def add(x): return x + 1\n%time NAME = add\n",
    "!pip": "!pip install -q \\\n  torch \\\neinops\n" + ANSWER,
    "files": "files = !ls *.csv\nhere = %pwd\n" + ANSWER,
    "%matplotlib": "%matplotlib inline\n%load_ext autoreload\n" + ANSWER,
    "magic in a block": "if True:\n    %matplotlib inline\n" + ANSWER,
    "get_ipython": "get_ipython().run_line_magic('matplotlib', 'inline')\n"
    "here = get_ipython().getoutput('ls')\n" + ANSWER,
    "run_cell_magic": "get_ipython().run_cell_magic('time', '', "
    "'def NAME(x):\\n    return x + 1\\n')\n",
    "drive": "from google.colab import drive, files\n"
    "drive.mount('/content/drive')\ngiven = files.upload()\n" + ANSWER,
    "display": "from IPython.display import HTML, clear_output, display\n"
    "clear_output(wait=True)\ndisplay(HTML('x'), display_id=1)\n" + ANSWER,
    "matplotlib": "import matplotlib as mpl, matplotlib.pyplot as plt\n"
    "mpl.rcParams['figure.dpi'] = 99\nfig, axes = plt.subplots(2, 2)\n"
    "axes[0, 0].plot([1, 2])\nfor ax in axes.flat: ax.grid()\n"
    "with plt.style.context('dark'): plt.imshow(1)\nplt.show()\n" + ANSWER,
    "tqdm": "from tqdm.auto import tqdm, trange\n"
    "def NAME(x):\n    bar = tqdm([1, 2], desc='x')\n"
    "    for step in bar: bar.set_postfix(a=1)\n"
    "    for i in trange(5): pass\n"
    "    return x + (step == 2 and i == 4)\n",
    "main": 'if __name__ == "__main__":\n    NAME = lambda x: x + 1\n',
    "a text in a text": 'why = """\n% of it\n! and\n"""\n%time x = 1\n'
    "def NAME(x):\n    return x + (why == '\\n% of it\\n! and\\n')\n",
    "%": "n = (7\n  % 4)\n!ls\ndef NAME(x):\n    return x + n - 2\n",
    "future": "from __future__ import annotations\n"
    "def NAME(x: NoSuchName):\n    return x + 1\n",
    "decorator": "!ls\n@torch.no_grad()\n" + ANSWER,
    "try": "!ls\ntry:\n    import no_such_module\nexcept ImportError:\n"
    "    MORE = 1\nelse:\n    MORE = 2\nfinally:\n    pass\n"
    "def NAME(x):\n    return x + 1\n",
    "all moved in": "    one = 1\n    def NAME(x):\n        return x + one\n",
    "a dataclass": "import pickle\nfrom dataclasses import dataclass\n"
    "@dataclass\nclass Sizes:\n    more: 'int' = 1\n"
    "same = pickle.loads(pickle.dumps(Sizes()))\n"
    "def NAME(x):\n    return x + same.more\n",
}
# Something is left out of each, and named: at this line.
LEFT_OUT = {
    "a traceback": (1, TRACEBACK + ANSWER),
    "a sentence": (1, "I don't know what to do here, so\n" + ANSWER),
    "half a function": (1, "def broken(x:\n    return x\n" + ANSWER),
    "exit": (1, "exit()\n" + ANSWER),
    "input": (1, "name = input('Your name?')\n" + ANSWER),
    "a name that is not there": (2, "x = 1\nx + there\n" + ANSWER),
    "return": (1, "return 3\n" + ANSWER),
    "no memory of it": (1, "pip install torch\n" + ANSWER),
}
# Their bodies are no Python of the notebook's.
FOREIGN = {
    name: f"\n%%{name} x.txt\n{ANSWER}"
    for name in ("bash", "html", "writefile", "script", "timeit", "sh", "!")
}


def job_of(cells, seconds: float = 30, **more):
    """Run cells, NAME being answer_0 and so on, and give what came."""
    named = [cell.replace("NAME", f"answer_{i}") for i, cell in cells]
    case = to_json(Case((1,)))
    order = {"cases": [case], "inside": {}}
    orders = {f"answer_{i}": order for i, _ in cells}
    job = {"cells": [HIDE, *named], "orders": orders, "modules": []}
    job |= {"skip": [], "last": False} | more
    return Sandbox(trusted=True).run(job, seconds)


@pytest.fixture(scope="module")
def run():
    """All cells of the tables, run together: many need torch, once."""
    cells = [*READ.values(), *(cell for _, cell in LEFT_OUT.values())]
    cells += FOREIGN.values()
    cells[0] = "import torch\n" + cells[0]
    return job_of([*enumerate(cells)])


def adds_one(run, number: int) -> bool:
    came = run.came[f"answer_{number}"]
    return came is not None and came[0][0] == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", READ)
def test_an_answer_counts_in_a_cell_as_notebooks_have_it(name, run):
    number = [*READ].index(name)
    errors = {n: x for n, x in run.errors.items() if n // LINES == number + 1}
    assert errors == {}
    assert adds_one(run, number), name


@pytest.mark.slow
@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_fails_is_left_out_and_named_and_the_answer_counts(name, run):
    number = len(READ) + [*LEFT_OUT].index(name)
    lines = [n % LINES for n in run.errors if n // LINES == number + 1]
    assert lines == [LEFT_OUT[name][0]]
    assert adds_one(run, number)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_the_body_of_another_language_is_left_out(name, run):
    number = len(READ) + len(LEFT_OUT) + [*FOREIGN].index(name)
    assert run.came[f"answer_{number}"] is None
    assert not [n for n in run.errors if n // LINES == number + 1]


@pytest.mark.full
def test_when_a_cell_s_time_is_up_only_what_defines_something_runs():
    cell = "MORE = 1\nwhile True: pass\nTWO = 2\nprint(no_such_name)\n"
    cell += "while True: pass\n" + ANSWER
    run = job_of([(0, cell)], seconds=6)
    assert [n % LINES for n in run.errors] == [2]
    assert run.errors[LINES + 2].endswith(BELOW)
    assert adds_one(run, 0)


@pytest.mark.full
def test_the_last_run_has_only_what_defines_an_answer_or_imports():
    ends = "import os\nos._exit(1)\nx = os._exit(1)\n"
    uses = ANSWER.replace("1", "MORE")
    cells = [ends, f"MORE = 1\nfor i in 1, 2: os._exit(1)\n{uses}"]
    cells += ["other = 3\nNAME: object = lambda x: x + 1\nos._exit(1)"]
    run = job_of([*enumerate(cells)], last=True)
    assert (run.errors, run.stopped) == ({}, "")
    assert run.came["answer_0"] is None
    assert adds_one(run, 1)
    assert adds_one(run, 2)


@pytest.mark.full
def test_what_ends_the_process_is_left_out_alone_and_its_cell_runs():
    week = Assignment("Week", "autumn", {"dealt_out": 10})
    cell = f"import os\nos.kill(os.getpid(), 9)\n{SPLIT_CODE}"
    done = grade(Submission("x", (cell,)), week, Sandbox(trusted=True))
    assert done.total == 10
    says = "code cell 1, line 2 was left out: it ended the process"
    assert done.notes == (says,)


def test_cells_are_read_as_ipython_reads_them():
    """Where it can be imported; but %time is not only timed here."""
    ipython = pytest.importorskip("IPython.core.inputtransformer2")
    transform = ipython.TransformerManager().transform_cell
    for name, cell in READ.items():
        if "%time" in cell or (sys.version_info < (3, 12) and "3.12" in name):
            continue
        ours = [x for _, x in statements(cell)]
        theirs = ast.parse(transform(cell)).body
        assert len(ours) == len(theirs), name
        for mine, other in zip(ours, theirs):
            text = ast.unparse(other)
            if "get_ipython()" not in text or "get_ipython" in cell:
                assert ast.unparse(mine) == text
