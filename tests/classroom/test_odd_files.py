"""Files and cells as they come back: a right answer in them counts."""

import ast
import sys
from pathlib import Path

import pytest

from classroom.assignment import Assignment
from classroom.cases import Case
from classroom.cells import statements
from classroom.grading import grade
from classroom.job import BELOW
from classroom.sandbox import Sandbox
from classroom.submissions import (
    LINES,
    LONGEST_MODULE,
    MOST,
    Submission,
    code_files,
    load_submission,
    submissions,
)
from classroom.values import to_json
from tests.helpers.odd_cells import (
    ANSWER,
    FOREIGN,
    HIDE,
    LEFT_OUT,
    READ,
    notebook,
    source_text,
    worksheets,
)

WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
NAMES = "dealt_out", "alibi_bias"
USES = ANSWER.replace("1", "MORE")
RIGHT = """\
def dealt_out(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
"""


def job_of(cells, seconds: float = 30, **more):
    """Run cells, NAME being answer_0 and so on, and give what came."""
    named = [cell.replace("NAME", f"answer_{i}") for i, cell in cells]
    case = to_json(Case((1,)))
    cases = {f"answer_{i}": [case] for i, _ in cells}
    job = {"cells": [HIDE, *named], "cases": cases, "modules": []}
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
    found = [n % LINES for n in run.errors if n // LINES == number + 1]
    assert found == [LEFT_OUT[name][0]]
    assert adds_one(run, number)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_the_body_of_another_language_is_left_out(name, run):
    number = len(READ) + len(LEFT_OUT) + [*FOREIGN].index(name)
    assert run.came[f"answer_{number}"] is None
    assert not [n for n in run.errors if n // LINES == number + 1]


@pytest.mark.slow
def test_when_a_cell_s_time_is_up_only_what_defines_something_runs():
    cell = "MORE = 1\nwhile True: pass\nTWO = 2\nprint(no_such_name)\n"
    cell += "while True: pass\n" + ANSWER
    run = job_of([(0, cell)], seconds=6)
    assert [n % LINES for n in run.errors] == [2]
    assert run.errors[LINES + 2].endswith(BELOW)
    assert adds_one(run, 0)


@pytest.mark.slow
def test_a_last_line_that_takes_too_long_is_said_to_and_no_more():
    run = job_of([(0, f"{ANSWER}while True: pass")], seconds=3)
    assert [*run.errors] == [LINES + 3]
    assert BELOW not in run.errors[LINES + 3]
    assert adds_one(run, 0)


@pytest.mark.slow
def test_the_last_run_has_only_what_defines_an_answer_or_imports():
    ends = "import os\nos._exit(1)\nx = os._exit(1)\n"
    cells = [ends, "MORE = 1\nfor i in 1, 2: os._exit(1)\n" + USES]
    cells += ["other = 3\nNAME: object = lambda x: x + 1\nos._exit(1)"]
    run = job_of([*enumerate(cells)], last=True)
    assert (run.errors, run.stopped) == ({}, "")
    assert run.came["answer_0"] is None
    assert adds_one(run, 1)
    assert adds_one(run, 2)


@pytest.mark.slow
def test_what_ends_the_process_is_left_out_alone_and_its_cell_runs():
    week = Assignment("Week", "autumn", {"dealt_out": 10})
    cell = f"import os\nos.kill(os.getpid(), 9)\n{RIGHT}"
    done = grade(Submission("x", (cell,)), week, Sandbox(trusted=True))
    assert done.total == 10
    says = "code cell 1, line 2 was left out: it ended the process"
    assert done.notes == (says,)


ENCODINGS = "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["work.ipynb", "WORK.IPYNB", "work.py"])
def test_a_file_is_read_in_each_encoding_and_with_each_end_of_line(
    name, encoding, tmp_path
):
    source = f"# नेपाली é\n{RIGHT}"
    for end in "\n", "\r\n", "\r":
        text = source.replace("\n", end)
        if name != "work.py":
            text = source_text(notebook(text, "x = 1")).replace("\n", end)
        (tmp_path / name).write_bytes(text.encode(encoding))
        (found,) = submissions(tmp_path)
        assert found.name == name.partition(".")[0]
        assert (found.cells[0], found.wrong) == (source, "")


@pytest.mark.parametrize(
    "data",
    [
        notebook(RIGHT, "x = 1"),
        notebook(RIGHT, "x = 1", as_list=True),
        worksheets(RIGHT, "x = 1"),
    ],
)
def test_notebooks_of_format_3_and_4_are_read(data, tmp_path):
    empty = {"cell_type": "code", "source": None}
    data.get("worksheets", [data])[0]["cells"].append(empty)
    (tmp_path / "asha.ipynb").write_text(source_text(data), "utf8")
    (found,) = submissions(tmp_path)
    assert (found.cells, found.wrong) == ((RIGHT, "x = 1", ""), "")


# As Colab writes "Download .py": seen in public repositories.
COLAB = f"""\
# -*- coding: utf-8 -*-
\"""Week 3.ipynb

Automatically generated by Colab.
\"""

!pip install torch

# Commented out IPython magic to ensure Python compatibility.
import torch
# %matplotlib inline

# Commented out IPython magic to ensure Python compatibility.
# %%time
# %%capture
# # what is split
# {RIGHT.rstrip().replace(chr(10), chr(10) + "# ")}
#
# Commented out IPython magic to ensure Python compatibility.
# %matplotlib inline

\"""## 2 \"""

# Commented out IPython magic to ensure Python compatibility.
# %%bash
# def alibi_bias(): pass
"""


def test_a_cell_that_colab_made_a_comment_is_code_again(tmp_path):
    (tmp_path / "asha.py").write_text(COLAB, "utf8")
    (found,) = submissions(tmp_path)
    parts = dict(statements(found.cells[0]))
    assert [x for x in parts.values() if isinstance(x, str)] == []
    named = [n for n, x in parts.items() if isinstance(x, ast.FunctionDef)]
    lines = COLAB.splitlines()
    assert [lines[n - 1][2:] for n in named] == RIGHT.splitlines()[:1]


def written(folder: Path, **files: str) -> list[Path]:
    """Files in a folder; __ stands for a slash, and _ for a dot."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf8")
    return code_files(folder)


def test_of_a_helper_and_a_notebook_the_notebook_is_graded(tmp_path):
    helper = "def split(x, n):\n    return x.unflatten(-1, (n, -1))\n"
    cell = "from helper import split\nfrom more.turn import turn\n"
    cell += "import colorsys\none = round(3 * colorsys.ONE_THIRD)\n"
    cell += "def dealt_out(x, n):\n    return turn(split(x, n * one))\n"
    written(
        tmp_path / "asha",
        helper_py=helper + "\n" * 999,
        more__turn_py="def turn(x):\n    return x.transpose(1, 2)\n",
        colorsys_py="raise SystemExit",
        large_py="x = 1\n" * LONGEST_MODULE,
        work_ipynb=source_text(notebook(cell)),
    )
    (found,) = submissions(tmp_path, NAMES)
    assert found.cells == (cell,)
    assert "of 5 files, work.ipynb was graded" in found.wrong
    names = {name for name, _ in found.modules}
    assert names == {"helper.py", "more/turn.py", "colorsys.py"}
    done = grade(found, WEEK, Sandbox(trusted=True))
    assert done.total == 10, done.notes


def test_a_notebook_counts_before_a_helper_that_it_imports_from(tmp_path):
    both = RIGHT + "def alibi_bias(): ...\n"
    cell = "from helper import dealt_out\n"
    notes = source_text(notebook(cell))
    written(tmp_path / "asha", helper_py=both, work_ipynb=notes)
    (found,) = submissions(tmp_path, NAMES)
    assert found.cells == (cell,)
    assert found.modules == (("helper.py", both),)


@pytest.mark.parametrize("answers", [NAMES, ()])
def test_of_several_notebooks_that_with_most_of_the_answers_is_graded(
    answers, tmp_path
):
    both = RIGHT + "alibi_bias = lambda *args: None\n"
    sketch = "x = 1\n" * (99 if answers else 0)
    files = written(
        tmp_path / "asha",
        a_ipynb=source_text(notebook(RIGHT, sketch)),
        b_ipynb=source_text(notebook(both)),
        c_ipynb='{"cells": [',
        e_ipynb='{"cells": []}',
        d_py=(both + sketch) * 2,
    )
    found = load_submission("asha", files, answers)
    assert found.cells == (both,)
    why = ": it names 2 of 2 answers" if answers else ""
    assert found.wrong == f"of 5 files, b.ipynb was graded{why}"


def test_a_folder_with_a_whole_library_is_read_as_far_as_it_matters(
    tmp_path,
):
    library = {f"m{i:04}_py": RIGHT for i in range(1000)}
    work = {"work__week_ipynb": source_text(notebook(RIGHT))}
    written(tmp_path / "asha", **library, **work)
    (found,) = submissions(tmp_path, NAMES)
    assert "of 1001 files, week.ipynb was graded" in found.wrong
    work = {"week_ipynb": work["work__week_ipynb"]}
    written(tmp_path / "bina", **work, **library)
    found = submissions(tmp_path, NAMES)[1]
    assert len(found.modules) == MOST - 1


def test_a_file_made_to_be_slow_is_read_in_a_moment(tmp_path):
    """It is read where we judge, and nothing there has a time limit."""
    lines = "from " + "import" * 10**6, "#" * 10**7, " " * 10**7, "a" * 10**7
    for line in lines:
        text = f"{COLAB}\n{COLAB.splitlines()[12]}\n# %%time\n{line}\n{line}"
        (tmp_path / "asha.py").write_text(text, "utf8")
        (found,) = submissions(tmp_path, NAMES)
        assert len(found.cells) == 1


def test_of_a_notebook_that_was_saved_twice_the_worked_one_is_graded(
    tmp_path,
):
    stub = "def dealt_out(x, n_heads):\n    ...\n"
    files = written(tmp_path / "asha", work_ipynb=source_text(notebook(stub)))
    twice = files[0].with_name("work (1).ipynb")
    twice.write_text(source_text(notebook(RIGHT)), "utf8")
    found = load_submission("asha", code_files(tmp_path / "asha"), NAMES)
    assert found.cells == (RIGHT,)
    assert "work (1).ipynb was graded" in found.wrong


@pytest.mark.parametrize("file", ["answers.PY", "answers.py"])
def test_answers_in_a_file_beside_a_notebook_without_any_are_graded(
    file, tmp_path
):
    written(tmp_path / "asha", notes_ipynb=source_text(notebook("x = 1")))
    (tmp_path / "asha" / file).write_text(RIGHT, "utf8")
    (found,) = submissions(tmp_path, NAMES)
    assert found.cells == (RIGHT,)


@pytest.mark.parametrize("data", [b"", b"\x89PNG\0\0\0", b"[1]", b"{}"])
def test_what_cannot_be_read_is_a_row_with_a_reason(data, tmp_path):
    for name in ["asha.IPYNB"] + ["asha.PY"] * (b"\0" in data):
        (tmp_path / name).write_bytes(data)
        found = load_submission("asha", [tmp_path / name])
        assert found.cells == ()
        assert found.wrong.startswith(f"{name} cannot be read")


def test_cells_are_read_as_ipython_reads_them():
    """Where it can be imported; but %time is not only timed here."""
    ipython = pytest.importorskip("IPython.core.inputtransformer2")
    transform = ipython.TransformerManager().transform_cell
    for name, cell in READ.items():
        if "%time" in cell or (sys.version_info < (3, 12) and "3.12" in name):
            continue
        own = [x for _, x in statements(cell)]
        theirs = ast.parse(transform(cell)).body
        assert len(own) == len(theirs), name
        for mine, other in zip(own, theirs):
            text = ast.unparse(other)
            if "get_ipython()" not in text or "get_ipython" in cell:
                assert ast.unparse(mine) == text
