"""A chapter opened in Colab, as near as a machine can come to it: one file in
an empty folder, Colab's matplotlib, seaborn and IPython, and a torch that is
already there. The module comes from a repository, by the first cell that runs.
A few chapters are tried; `make colab` runs every one.

A session is a real kernel in an environment of its own. Its torch is the one
that runs these tests, lent, because a second one would take minutes.
"""

import json
import os
import re
import sys
import sysconfig
from pathlib import Path

import nbformat
import packages
import pytest
from nbclient import NotebookClient

from tests.helpers.colab import COLAB
from tests.helpers.numbers import agree
from tests.helpers.project import (
    EXERCISES,
    HOME,
    NOTEBOOKS,
    ROOT,
    run,
    setup_source,
)

pytestmark = pytest.mark.full

DEVANAGARI = re.compile("[\u0900-\u097f]")
BY_TORCHINFO = re.compile(r"torchinfo|\binfo\b|\btool\(|\bfound\[each\]")
LACKS = "import sys; sys.modules['torchinfo'] = None\n"
# Text and steps, matrices with Nepali, curves, bars, torchinfo; exercises.
SOME = [NOTEBOOKS[n] for n in (0, 6, 13, 14, 16)] + [EXERCISES[5]]
if os.environ.get("COLAB") == "all":
    SOME = [*NOTEBOOKS, *EXERCISES]


@pytest.fixture(scope="module")
def colab(tmp_path_factory) -> Path:
    """Colab's Python, and a kernel of it that is called `colab`. After its own
    packages it finds those of the tests: torch, and what a kernel needs."""
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
    lent = sysconfig.get_path("purelib")
    (own_packages(python) / "lent.pth").write_text(f"{lent}\n")
    spec = home / "share/jupyter/kernels/colab/kernel.json"
    spec.parent.mkdir(parents=True)
    start = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"display_name": "Colab", "language": "python"}
    spec.write_text(json.dumps(about | {"argv": [str(python), *start]}))
    return python


def own_packages(python: Path) -> Path:
    """Find the folder where an environment keeps what is installed in it."""
    return next(python.parents[1].glob("lib/python3*/site-packages"))


@pytest.fixture(scope="module", params=SOME, ids=lambda chapter: chapter.stem)
def pair(request, colab, published, tmp_path_factory):
    """A chapter as it is stored, and as it comes out in Colab."""
    stored, shown = (nbformat.read(request.param, 4) for _ in range(2))
    first = next(c for c in shown.cells if c.cell_type == "code")
    first.source = LACKS + HOME.sub(published, first.source)
    folder = tmp_path_factory.mktemp("content")
    nbformat.write(shown, folder / request.param.name)
    with pytest.MonkeyPatch.context() as patch:
        kernels = colab.parents[1] / "share" / "jupyter"
        patch.setenv("JUPYTER_PATH", str(kernels))
        patch.setenv("OMP_NUM_THREADS", "1")
        NotebookClient(
            shown,
            kernel_name="colab",
            resources={"metadata": {"path": str(folder)}},
            coalesce_streams=True,  # where a stream is cut is chance
        ).execute()
    return stored, shown


def outputs(notebook) -> list:
    """List the outputs of every code cell, in order; not of those in which
    torchinfo speaks, which Colab lacks."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    kept = [cell for cell in code if not BY_TORCHINFO.search(cell.source)]
    return [output for cell in kept for output in cell.outputs]


def text(output) -> str:
    """Take an output's text: what was printed, or its plain face."""
    return output.get("text") or output["data"]["text/plain"]


def test_a_chapter_in_colab_shows_what_the_book_shows(pair):
    for old, new in zip(*map(outputs, pair), strict=True):
        assert new.output_type == old.output_type
        assert agree(text(new), text(old)), f"{text(new)}\n\n{text(old)}"
        if "image/svg+xml" in old.get("data", {}):
            # matplotlib 3.10 writes थिएन wrongly: of that, and of that
            # alone, it must not make a PNG; the browser shapes it.
            nepali = bool(DEVANAGARI.search(new.data["image/svg+xml"]))
            assert ("image/png" in new.data) != nepali, text(new)


def test_without_torchinfo_a_chapter_says_so_and_goes_on(pair):
    stored, shown = pair
    if not any("torchinfo" in cell.source for cell in stored.cells):
        return
    pins = (ROOT / "requirements.txt").read_text("utf8")
    pinned = re.search(r"^torchinfo==\S+", pins, re.MULTILINE)[0]
    every = [o for cell in shown.cells for o in cell.get("outputs", [])]
    said = " ".join(" ".join(map(text, every)).split())
    assert f"%pip install {pinned} in a cell" in said


def test_the_first_cell_fetches_its_packages_and_nothing_else(
    colab, published, tmp_path
):
    """Beside the notebook, where it can be read and changed; and once."""
    before = sorted(own_packages(colab).iterdir())
    first = f"{setup_source(published)}\nimport tformer_lite, matplotlib\n"
    first += "assert matplotlib.__version__.startswith('3.10.')"
    for cell in first, setup_source("file:///nowhere"):
        done = run(tmp_path, colab, "-c", cell)
        assert done.returncode == 0, done.stderr
    assert sorted(own_packages(colab).iterdir()) == before
    fetched = packages.ARCHIVES["chapters.zip"]
    own = packages.ONE_FILE.name
    assert {file.name for file in tmp_path.iterdir()} == {*fetched, own}
    for package in fetched:
        for name, file in packages.package_files(package).items():
            assert (tmp_path / name).read_bytes() == file.read_bytes(), file
