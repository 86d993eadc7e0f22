"""A chapter opened in Colab, as near as a machine can come to it: one file
in an empty folder, Colab's matplotlib, seaborn and IPython, and a torch that
is already there. The module comes from a repository, by the first cell that
runs. What only other versions can change is seen in the few chapters that ask
for all of it; `make colab` runs every one.

A session is a real kernel in an environment of its own. Its torch is the one
that runs these tests, lent, because a second one would take minutes. All the
chapters run in one kernel, one after the other: that each needs nothing of
another is seen where nbval runs them, in a kernel for each.
"""

import json
import os
import re
import sys
import sysconfig
from pathlib import Path
from unittest.mock import patch

import nbformat
import packages
import pytest
import torch
from nbclient import NotebookClient

from tests.helpers.colab import COLAB, DEVANAGARI, asks, chosen
from tests.helpers.numbers import agree
from tests.helpers.project import (
    HOME,
    NOTEBOOKS,
    ROOT,
    run,
    setup_source,
)

pytestmark = pytest.mark.full

some_chapters = pytest.mark.parametrize(
    "chapter", chosen(), ids=lambda chapter: chapter.stem
)


@pytest.fixture(scope="module")
def colab(tmp_path_factory) -> Path:
    """Colab's Python."""
    home = tmp_path_factory.mktemp("colab")
    venv = [sys.executable, "-m", "venv", "--without-pip", "."]
    run(home, *venv).check_returncode()
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q"]
    pip += ["--no-deps", "--no-compile", "--retries", "1", "--timeout", "20"]
    done = run(home, *pip, *COLAB)
    if done.returncode:
        give_up = pytest.fail if "CI" in os.environ else pytest.skip
        reason = done.stderr.splitlines()[-1]
        give_up(f"Colab's packages cannot be installed: {reason}")
    lend(python)
    return python


def lend(python: Path) -> None:
    """Let an environment find, after its own packages, those of the tests:
    torch, and what a kernel needs. Name the kernel that it gives `colab`."""
    lent = sysconfig.get_path("purelib")
    (own_packages(python) / "lent.pth").write_text(f"{lent}\n")
    spec = python.parents[1] / "share/jupyter/kernels/colab/kernel.json"
    spec.parent.mkdir(parents=True)
    start = [str(python), "-m", "ipykernel_launcher"]
    start += ["-f", "{connection_file}"]
    about = {"display_name": "Colab", "language": "python", "argv": start}
    spec.write_text(json.dumps(about))


def own_packages(python: Path) -> Path:
    """Find the folder where an environment keeps what is installed in it."""
    return next(python.parents[1].glob("lib/python3*/site-packages"))


@pytest.fixture(scope="module")
def kernel(colab, tmp_path_factory):
    """A kernel of Colab's, in which one chapter runs after another."""
    kernels = str(colab.parents[1] / "share" / "jupyter")
    client = NotebookClient(
        nbformat.v4.new_notebook(),
        kernel_name="colab",
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("run"))}},
        coalesce_streams=True,  # where a stream is cut is chance
    )
    here = patch.dict(os.environ, JUPYTER_PATH=kernels, OMP_NUM_THREADS="1")
    with here, client.setup_kernel():
        execute(client, nbformat.v4.new_code_cell(LACKS))
        yield client


LACKS = "import sys; sys.modules['torchinfo'] = None"
BY_TORCHINFO = re.compile(r"torchinfo|\binfo\b|\btool\(|\bfound\[each\]")
# What a chapter may have set, as a new kernel has it; then no names.
ANEW = """\
import torch
torch.set_grad_enabled(True)
torch.set_printoptions(profile="default")
%cd -q {folder}
%reset -f
"""


@pytest.fixture(scope="module")
def opened(kernel, published, tmp_path_factory):
    """What a chapter shows in Colab: a file in a folder of its own, with no
    name left from the chapter before. Each is run once; the first fetches."""
    shown = {}

    def run_once(chapter: Path):
        if chapter not in shown:
            notebook = nbformat.read(chapter, as_version=4)
            first = next(c for c in notebook.cells if c.cell_type == "code")
            first.source = HOME.sub(published, first.source)
            folder = tmp_path_factory.mktemp("content")
            nbformat.write(notebook, folder / chapter.name)
            execute(
                kernel, nbformat.v4.new_code_cell(ANEW.format(folder=folder))
            )
            execute(kernel, *notebook.cells)
            shown[chapter] = notebook
        return shown[chapter]

    return run_once


def execute(kernel: NotebookClient, *cells: nbformat.NotebookNode) -> None:
    """Run cells, which then have their outputs."""
    kernel.nb = nbformat.v4.new_notebook(cells=[*cells])
    for i, cell in enumerate(kernel.nb.cells):
        kernel.execute_cell(cell, i)


WHERE = """\
import IPython, matplotlib, seaborn, torch, tformer_lite
for package in IPython, matplotlib, seaborn, torch, tformer_lite:
    print(package.__version__, package.__file__)
"""


def outputs(notebook) -> list:
    """List the outputs of every code cell, in order; not of those in which
    torchinfo speaks, which Colab lacks."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [c.outputs for c in code if not BY_TORCHINFO.search(c.source)]


def text(output) -> str:
    """Take an output's text: what was printed, or its plain face."""
    return output.get("text") or output["data"]["text/plain"]


def test_what_any_chapter_asks_for_is_seen_in_one_that_is_run():
    for chapter in NOTEBOOKS:
        assert asks(chapter) <= set().union(*map(asks, chosen()))
    asked = asks(NOTEBOOKS[14])
    assert {"Nepali drawn", "matplotlib.patches.Rectangle", "text"} <= asked


@some_chapters
def test_a_chapter_in_colab_shows_what_the_book_shows(chapter, opened):
    stored = outputs(nbformat.read(chapter, as_version=4))
    shown = outputs(opened(chapter))
    assert len(shown) == len(stored)
    for mine, theirs in zip(shown, stored, strict=True):
        assert [o.output_type for o in mine] == [o.output_type for o in theirs]
        for new, old in zip(mine, theirs, strict=True):
            assert agree(text(new), text(old)), f"{text(new)}\n\n{text(old)}"


def test_the_kernel_runs_on_what_colab_has(kernel, opened):
    opened(chosen()[0])
    where = nbformat.v4.new_code_cell(WHERE)
    execute(kernel, where)
    lines = text(where.outputs[0]).splitlines()
    found = (line.split(maxsplit=1) for line in lines)  # a path has spaces
    ipython, drawing, plots, tensors, module = found
    assert ipython[0].startswith("7.34.")
    assert drawing[0].startswith("3.10.")
    assert plots[0].startswith("0.13.")
    assert tensors == [torch.__version__, torch.__file__]
    assert not Path(module[1]).is_relative_to(ROOT)


@some_chapters
def test_figures_in_colab_let_the_browser_shape_nepali(chapter, opened):
    """matplotlib 3.10 writes थिएन wrongly: of that, and of that alone, it
    must not make a PNG."""
    stored = outputs(nbformat.read(chapter, as_version=4))
    pairs = zip(outputs(opened(chapter)), stored, strict=True)
    for mine, theirs in pairs:
        for new, old in zip(mine, theirs, strict=True):
            if "image/svg+xml" not in old.get("data", {}):
                continue
            assert "image/svg+xml" in new.data
            nepali = bool(DEVANAGARI.search(new.data["image/svg+xml"]))
            assert ("image/png" in new.data) != nepali, text(new)


def test_without_torchinfo_chapter_16_says_so_and_goes_on(opened):
    pins = (ROOT / "requirements.txt").read_text("utf8")
    pinned = re.search(r"^torchinfo==\S+", pins, re.MULTILINE)[0]
    cells = opened(ROOT / "chapters" / "16_paper_size.ipynb").cells
    shown = [o for cell in cells for o in cell.get("outputs", [])]
    said = " ".join(" ".join(map(text, shown)).split())
    assert f"%pip install {pinned} in a cell" in said
    assert "9,557,606,400" in said
    assert "44.28" not in said


def test_the_first_cell_fetches_its_packages_and_nothing_else(
    colab, published, tmp_path
):
    """Beside the notebook, where it can be read and changed; and once."""
    before = sorted(own_packages(colab).iterdir())
    first = f"{setup_source(published)}\nimport tformer_lite"
    for cell in first, setup_source("file:///nowhere"):
        done = run(tmp_path, colab, "-c", cell)
        assert done.returncode == 0, done.stderr
    assert sorted(own_packages(colab).iterdir()) == before
    fetched = packages.ARCHIVES["chapters.zip"]
    assert {file.name for file in tmp_path.iterdir()} == {*fetched}
    for package in fetched:
        for name, file in packages.package_files(package).items():
            assert (tmp_path / name).read_bytes() == file.read_bytes(), file
