"""A chapter opened in Colab, as near as a machine can come to it: one file
in an empty folder, Colab's matplotlib, seaborn and IPython, and a torch that
is already there. The module comes from a repository, by the first cell.

Sessions are real kernels in an environment of their own. Its torch is the
one that runs these tests, lent, because a second one would take minutes.
"""

import json
import os
import re
import sys
import sysconfig
from pathlib import Path
from unittest.mock import patch

import nbformat
import pytest
import torch
from nbclient import NotebookClient

from tests.helpers.colab import COLAB
from tests.helpers.numbers import agree
from tests.helpers.project import HOME, every_notebook, run, setup_source

DEVANAGARI = re.compile("[\u0900-\u097f]")


@pytest.fixture(scope="module")
def colab(tmp_path_factory, checkout) -> Path:
    """Colab's Python, after a first cell has installed the module in it."""
    home = tmp_path_factory.mktemp("colab")
    run(home, sys.executable, "-m", "venv", ".").check_returncode()
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "install", "-q", "--no-deps"]
    done = run(home, *pip, "--retries", "1", "--timeout", "20", *COLAB)
    if done.returncode:
        give_up = pytest.fail if "CI" in os.environ else pytest.skip
        reason = done.stderr.splitlines()[-1]
        give_up(f"Colab's packages cannot be installed: {reason}")
    lend(python)
    empty = tmp_path_factory.mktemp("content")
    first = setup_source(f"file://{checkout}")
    done = run(empty, python, "-c", first)
    assert done.returncode == 0, done.stderr
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


def session(python: Path, notebook, folder: Path):
    """Run a notebook's cells in a fresh kernel of Colab's, in a folder."""
    resources = {"metadata": {"path": str(folder)}}
    kernels = str(python.parents[1] / "share" / "jupyter")
    with patch.dict(os.environ, JUPYTER_PATH=kernels, OMP_NUM_THREADS="1"):
        NotebookClient(
            notebook,
            kernel_name="colab",
            resources=resources,
            coalesce_streams=True,  # where a stream is cut is chance
        ).execute()
    return notebook


@pytest.fixture(scope="module")
def opened(colab, checkout, tmp_path_factory):
    """What a chapter shows in Colab; each is run once."""
    shown = {}

    def run_once(chapter: Path):
        if chapter not in shown:
            notebook = nbformat.read(chapter, as_version=4)
            first = next(c for c in notebook.cells if c.cell_type == "code")
            first.source = HOME.sub(f"file://{checkout}", first.source)
            notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
            folder = tmp_path_factory.mktemp("content")
            nbformat.write(notebook, folder / chapter.name)
            shown[chapter] = session(colab, notebook, folder)
        return shown[chapter]

    return run_once


WHERE = """\
import IPython, matplotlib, seaborn, torch, tformer_lite
for package in IPython, matplotlib, seaborn, torch, tformer_lite:
    print(package.__version__, package.__file__)
"""


def outputs(notebook) -> list:
    """List the outputs of every code cell, in order."""
    cells = notebook.cells
    return [cell.outputs for cell in cells if cell.cell_type == "code"]


def text(output) -> str:
    """Take an output's text: what was printed, or its plain face."""
    return output.get("text") or output["data"]["text/plain"]


@every_notebook
def test_a_chapter_in_colab_shows_what_the_book_shows(chapter, opened):
    stored = outputs(nbformat.read(chapter, as_version=4))
    shown = outputs(opened(chapter))[:-1]
    assert len(shown) == len(stored)
    for mine, theirs in zip(shown, stored, strict=True):
        assert [o.output_type for o in mine] == [o.output_type for o in theirs]
        for new, old in zip(mine, theirs, strict=True):
            assert agree(text(new), text(old)), f"{text(new)}\n\n{text(old)}"


@every_notebook
def test_a_chapter_in_colab_runs_on_what_colab_has(chapter, opened, colab):
    lines = text(outputs(opened(chapter))[-1][0]).splitlines()
    ipython, drawing, plots, tensors, module = (li.split() for li in lines)
    assert ipython[0].startswith("7.34.")
    assert drawing[0].startswith("3.10.")
    assert plots[0].startswith("0.13.")
    assert tensors == [torch.__version__, torch.__file__]
    assert Path(module[1]).is_relative_to(own_packages(colab))


@every_notebook
def test_figures_in_colab_let_the_browser_shape_nepali(chapter, opened):
    """matplotlib 3.10 writes थिएन wrongly: of that, and of that alone, it
    must not make a PNG."""
    stored = outputs(nbformat.read(chapter, as_version=4))
    pairs = zip(outputs(opened(chapter)), stored, strict=False)
    for mine, theirs in pairs:
        for new, old in zip(mine, theirs, strict=True):
            if "image/svg+xml" not in old.get("data", {}):
                continue
            assert "image/svg+xml" in new.data
            nepali = bool(DEVANAGARI.search(new.data["image/svg+xml"]))
            assert ("image/png" in new.data) != nepali, text(new)


def test_the_first_cell_installs_the_module_and_nothing_else(colab):
    """The witness: the metadata that pip left, and torch where it was."""
    installed = own_packages(colab)
    (folder,) = installed.glob("tformer_lite-*.dist-info")
    assert '"vcs": "git"' in (folder / "direct_url.json").read_text()
    assert not (installed / "torch").exists()
    assert not (installed / "numpy").exists()
