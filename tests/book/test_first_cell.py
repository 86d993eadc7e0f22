"""The first cell of every notebook makes the packages importable: in a
checkout, far from any, and in Colab.

Colab is had as near as a machine can come to it: one file in an empty folder,
Colab's matplotlib, seaborn and IPython, and a torch that is already there.
The module comes from a repository, by the first cell that runs. A few
chapters are tried; `make colab` runs every one. A session is a real kernel in
an environment of its own. Its torch is the one that runs these tests, lent,
because a second one would take minutes.
"""

import json
import os
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

import nbformat
import packages
import pytest
from architecture import imported_names
from nbclient import NotebookClient

from tests.helpers.colab import COLAB
from tests.helpers.numbers import agree
from tests.helpers.project import (
    EXERCISES,
    NOTEBOOKS,
    ROOT,
    printed,
    project_files,
    run,
)

HOME = re.compile(r'(?<=^HOME = ")[^"]+', re.MULTILINE)
slow = pytest.mark.slow
NOTHING = "file:///nowhere"
every_notebook = pytest.mark.parametrize(
    "chapter",
    [*NOTEBOOKS, *EXERCISES],
    ids=lambda chapter: f"{chapter.parent.stem}/{chapter.stem}",
)
kinds = pytest.mark.parametrize(
    ("chapter", "archive"),
    [*zip([NOTEBOOKS[0], EXERCISES[0]], packages.ARCHIVES)],
    ids=["a chapter", "exercises"],
)


def code_cells(chapter: Path) -> list[nbformat.NotebookNode]:
    cells = nbformat.read(chapter, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def setup_source(address: str, chapter: Path = NOTEBOOKS[0]) -> str:
    """Give a first cell's source, with another address."""
    return HOME.sub(address, code_cells(chapter)[0].source)


@slow
@kinds
def test_without_the_repository_the_first_cell_says_what_to_do(
    chapter, archive, tmp_path
):
    """Nor any package installed: -S leaves out what is."""
    source = setup_source(NOTHING, chapter)
    done = run(tmp_path, sys.executable, "-S", "-c", source)
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: no {archive} from {NOTHING}: ")
    assert said.endswith("connect to the network and run this cell again")
    assert not re.search(r"[.!?] ", said), "more than one sentence"


@slow
@kinds
def test_in_a_checkout_the_first_cell_uses_the_checkout(
    chapter, archive, checkout, tmp_path
):
    """Even when some other tformer_lite is installed, or not reachable; and
    wherever in it the kernel starts."""
    other = tmp_path / "tformer_lite"
    other.mkdir()
    (other / "__init__.py").touch()
    find = f"""\
import sys
sys.path.insert(1, {str(tmp_path)!r})
{setup_source(NOTHING, chapter)}
for name in {packages.ARCHIVES[archive]}:
    print(find_spec(name).origin)
"""
    homes = [
        checkout / packages.PACKAGES[x].relative_to(ROOT) / x / "__init__.py"
        for x in packages.ARCHIVES[archive]
    ]
    for folder in checkout, checkout / "chapters" / "exercises":
        done = run(folder, sys.executable, "-S", "-c", find)
        assert [Path(x) for x in done.stdout.split()] == homes, done.stderr


@slow
@every_notebook
def test_a_notebook_starts_with_the_hidden_setup_of_its_kind(chapter):
    first = EXERCISES[0] if chapter in EXERCISES else NOTEBOOKS[0]
    cell = code_cells(chapter)[0]
    assert cell.source == code_cells(first)[0].source
    assert len(HOME.findall(cell.source)) == 1
    assert len(cell.source.splitlines()) <= 22
    assert cell.metadata.tags == ["setup", "remove-cell"]


@slow
@every_notebook
def test_what_a_notebook_imports_of_ours_is_in_its_archive(chapter):
    code = "\n".join(cell.source for cell in code_cells(chapter))
    imports = imported_names(re.sub("(?m)^ *[%!].*", "", code))
    ours = {x.split(".")[0] for x in imports} & {*packages.PACKAGES}
    name = ["chapters.zip", "exercises.zip"][chapter in EXERCISES]
    assert ours
    assert ours <= {*packages.ARCHIVES[name]}


@slow
def test_what_a_first_cell_fetches_is_small_and_has_all_it_needs(tmp_path):
    """Less than a megabyte, with what git knows of the packages."""
    shelves = [ROOT / "chapters" / x for x in ("exercises", "assignments")]
    project = project_files(ROOT)
    for file in packages.write_archives(tmp_path):
        assert file.stat().st_size < 1e6
        wanted = set()
        for package in packages.ARCHIVES[file.name]:
            above = packages.PACKAGES[package]
            files = [f for f in project if f.is_relative_to(above / package)]
            wanted |= {f.relative_to(above).as_posix() for f in files}
        if "pictures" in packages.ARCHIVES[file.name]:
            wanted |= {x.name for x in packages.DOWNLOADS}
        else:
            wanted.add(packages.MY_TRANSFORMER.name)
            wanted -= {*filter(packages.NOT_ASKED_FOR.fullmatch, wanted)}
        if "classroom" in packages.ARCHIVES[file.name]:
            data = [f for f in project if f.suffix in {".md", ".toml", ".xz"}]
            names = [f.name for f in data if f.parent in shelves]
            wanted |= {f"classroom/exercises/{name}" for name in names}
        with zipfile.ZipFile(file) as archive:
            assert set(archive.namelist()) == wanted


# --- in Colab ----------------------------------------------------------------

DEVANAGARI = re.compile("[\u0900-\u097f]")
BY_TORCHINFO = re.compile(r"torchinfo|\binfo\b|\btool\(|\bfound\[each\]")
LACKS = "import sys; sys.modules['torchinfo'] = None\n"
# Matrices with Nepali, steps and curves; bars and torchinfo; exercises.
SOME = [NOTEBOOKS[6], NOTEBOOKS[16], EXERCISES[5]]
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
    own = next(home.glob("lib/python3*/site-packages"))
    (own / "lent.pth").write_text(f"{lent}\n")
    spec = home / "share/jupyter/kernels/colab/kernel.json"
    spec.parent.mkdir(parents=True)
    start = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"display_name": "Colab", "language": "python"}
    spec.write_text(json.dumps(about | {"argv": [str(python), *start]}))
    return python


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


@pytest.mark.full
def test_a_chapter_in_colab_shows_what_the_book_shows(pair):
    for old, new in zip(*map(outputs, pair), strict=True):
        assert new.output_type == old.output_type
        assert agree(text(new), text(old)), f"{text(new)}\n\n{text(old)}"
        if "image/svg+xml" in old.get("data", {}):
            # matplotlib 3.10 writes थिएन wrongly: of that, and of that
            # alone, it must not make a PNG; the browser shapes it.
            nepali = bool(DEVANAGARI.search(new.data["image/svg+xml"]))
            assert ("image/png" in new.data) != nepali, text(new)


@pytest.mark.full
def test_without_torchinfo_a_chapter_says_so_and_goes_on(pair):
    stored, shown = pair
    if not any("torchinfo" in cell.source for cell in stored.cells):
        return
    pins = (ROOT / "requirements.txt").read_text("utf8")
    pinned = re.search(r"^torchinfo==\S+", pins, re.MULTILINE)[0]
    said = " ".join(printed(shown.cells).split())
    assert f"%pip install {pinned} in a cell" in said
