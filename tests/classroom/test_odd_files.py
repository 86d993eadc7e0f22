"""Files as they come back: a right answer in them counts."""

import ast
import json
from pathlib import Path

import pytest

from classroom.assignment import Assignment
from classroom.cells import statements
from classroom.grading import grade
from classroom.sandbox import Sandbox
from classroom.submissions import (
    LONGEST_MODULE,
    MOST,
    code_files,
    load_submission,
    submissions,
)
from tests.helpers.small_exercises import SPLIT_CODE as RIGHT

WEEK = Assignment("Week", "autumn", {"dealt_out": 10, "alibi_bias": 20})
NAMES = "dealt_out", "alibi_bias"


def notebook(*sources: str, as_list: bool = False) -> dict:
    """A notebook with a cell of text before each of code."""
    cells = []
    for text in sources:
        source = text.splitlines(True) if as_list else text
        cells.append({"cell_type": "markdown", "source": "# def NAME"})
        cells.append({"cell_type": "code", "source": source, "outputs": []})
    return {"cells": cells, "nbformat": 4, "nbformat_minor": 5}


def source_text(data: dict) -> str:
    """A notebook as Jupyter writes it."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


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
        (submission,) = submissions(tmp_path)
        assert submission.name == name.partition(".")[0]
        assert (submission.cells[0], submission.wrong) == (source, "")


@pytest.mark.parametrize("as_list", [False, True])
def test_the_code_cells_of_a_notebook_are_read(as_list, tmp_path):
    data = notebook(RIGHT, "x = 1", as_list=as_list)
    data["cells"].append({"cell_type": "code", "source": None})
    (tmp_path / "asha.ipynb").write_text(source_text(data), "utf8")
    (submission,) = submissions(tmp_path)
    assert (submission.cells, submission.wrong) == ((RIGHT, "x = 1", ""), "")


MAGIC = "# Commented out IPython magic to ensure Python compatibility.\n"
# As Colab writes "Download .py": seen in public repositories.
COLAB = f"""\
!pip install torch

{MAGIC}# %%time
# %%capture
# # what is split
# {RIGHT.rstrip().replace(chr(10), chr(10) + "# ")}
#
{MAGIC}# %matplotlib inline

{MAGIC}# %%bash
# def alibi_bias(): pass
"""


def test_a_cell_that_colab_made_a_comment_is_code_again(tmp_path):
    (tmp_path / "asha.py").write_text(COLAB, "utf8")
    (submission,) = submissions(tmp_path)
    parts = dict(statements(submission.cells[0]))
    assert [x for x in parts.values() if isinstance(x, str)] == []
    named = [n for n, x in parts.items() if isinstance(x, ast.FunctionDef)]
    assert [COLAB.splitlines()[n - 1][2:] for n in named] == [
        RIGHT.partition("\n")[0]
    ]


def written(folder: Path, **files: str) -> list[Path]:
    """Files in a folder; __ stands for a slash, and _ for a dot."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf8")
    return code_files(folder)


@pytest.mark.slow
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
    (submission,) = submissions(tmp_path, NAMES)
    assert submission.cells == (cell,)
    assert "of 5 files, work.ipynb was graded" in submission.wrong
    names = {name for name, _ in submission.modules}
    assert names == {"helper.py", "more/turn.py", "colorsys.py"}
    done = grade(submission, WEEK, Sandbox(trusted=True))
    assert done.total == 10, done.notes


def test_a_notebook_counts_before_a_helper_that_it_imports_from(tmp_path):
    both = RIGHT + "def alibi_bias(): ...\n"
    cell = "from helper import dealt_out\n"
    notes = source_text(notebook(cell))
    written(tmp_path / "asha", helper_py=both, work_ipynb=notes)
    (submission,) = submissions(tmp_path, NAMES)
    assert submission.cells == (cell,)
    assert submission.modules == (("helper.py", both),)


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
    submission = load_submission("asha", files, answers)
    assert submission.cells == (both,)
    why = ": it names 2 of 2 answers" if answers else ""
    assert submission.wrong == f"of 5 files, b.ipynb was graded{why}"


def test_a_folder_with_a_whole_library_is_read_as_far_as_it_matters(tmp_path):
    library = {f"m{i:04}_py": RIGHT for i in range(1000)}
    work = {"work__week_ipynb": source_text(notebook(RIGHT))}
    written(tmp_path / "asha", **library, **work)
    (submission,) = submissions(tmp_path, NAMES)
    assert "of 1001 files, week.ipynb was graded" in submission.wrong
    assert len(submission.modules) < MOST


@pytest.mark.full
def test_a_file_made_to_be_slow_is_read_in_a_moment(tmp_path):
    """It is read where we judge, and nothing there has a time limit."""
    lines = "from " + "import" * 10**6, "#" * 10**7, " " * 10**7, "a" * 10**7
    for line in lines:
        text = f"{COLAB}\n{MAGIC}# %%time\n{line}\n{line}"
        (tmp_path / "asha.py").write_text(text, "utf8")
        (submission,) = submissions(tmp_path, NAMES)
        assert len(submission.cells) == 1


def test_of_a_notebook_that_was_saved_twice_the_worked_one_is_graded(tmp_path):
    stub = "def dealt_out(x, n_heads):\n    ...\n"
    files = written(tmp_path / "asha", work_ipynb=source_text(notebook(stub)))
    twice = files[0].with_name("work (1).ipynb")
    twice.write_text(source_text(notebook(RIGHT)), "utf8")
    submission = load_submission("asha", code_files(tmp_path / "asha"), NAMES)
    assert submission.cells == (RIGHT,)
    assert "work (1).ipynb was graded" in submission.wrong


@pytest.mark.parametrize("file", ["answers.PY", "answers.py"])
def test_answers_in_a_file_beside_a_notebook_without_any_are_graded(
    file, tmp_path
):
    written(tmp_path / "asha", notes_ipynb=source_text(notebook("x = 1")))
    (tmp_path / "asha" / file).write_text(RIGHT, "utf8")
    (submission,) = submissions(tmp_path, NAMES)
    assert submission.cells == (RIGHT,)


@pytest.mark.parametrize("end", ["ipynb.txt", "IPYNB.json", "ipynb (1)"])
def test_a_file_under_an_odd_name_is_read_and_that_is_said(end, tmp_path):
    (tmp_path / f"asha.{end}").write_text(source_text(notebook(RIGHT)), "utf8")
    (tmp_path / "bina.py.txt").write_text(RIGHT, "utf8")
    says = f"asha.{end} was read as .ipynb", "bina.py.txt was read as .py"
    sent = submissions(tmp_path)
    assert [each.name for each in sent] == ["asha", "bina"]
    assert {each.cells for each in sent} == {(RIGHT,)}
    assert tuple(each.wrong for each in sent) == says


NUMBER = b'{"cells": [{"cell_type": "code", "source": 3}]}'
DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    "data", [b"", b"\x89PNG\0\0\0", b"[1]", b"{}", NUMBER, DEEP]
)
def test_what_cannot_be_read_is_a_row_with_a_reason(data, tmp_path):
    for name in ["asha.IPYNB"] + ["asha.PY"] * (b"\0" in data):
        (tmp_path / name).write_bytes(data)
        submission = load_submission("asha", [tmp_path / name])
        assert submission.cells == ()
        assert submission.wrong.startswith(f"{name} cannot be read")


def test_what_is_no_notebook_and_what_is_too_large_is_a_row_too(tmp_path):
    (tmp_path / "large.ipynb").write_bytes(b" " * (100 * 2**20))
    (tmp_path / "link.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "picture.png").write_text("no")
    (tmp_path / "Folder").mkdir()
    written(tmp_path / "Two", b_pdf="", a_docx="")
    assert {each.name: each.wrong for each in submissions(tmp_path)} == {
        "Two": "a.docx is not a notebook (.ipynb); b.pdf is not a notebook "
        "(.ipynb)",
        "Folder": "there is no notebook in the folder",
        "large": "large.ipynb has 100 MB: at most 20 are read",
        "link": "link.ipynb is a link, not a file",
        "picture": "picture.png is not a notebook (.ipynb)",
    }
