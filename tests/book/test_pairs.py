"""Both halves of a chapter can be edited, with whatever there is, and only
what changed is run.

The witness is jupytext as it comes, which knows no roles, and its contents
manager, which JupyterLab uses.
"""

import os
import shutil
from pathlib import Path

import nbformat
import notebooks
import pairs
import pytest
from jupytext import TextFileContentsManager
from nbformat.sign import MemorySignatureStore
from traitlets.config import Config

from tests.helpers.project import ROOT

pytestmark = pytest.mark.slow

NAME = "chapters/06_scores"
HALVES = "md", "ipynb"
OLD, NEW = "A matrix product consists of", "A single product consists of"
CODE, OTHER = "q.shape, k.shape", "k.shape, q.shape"
ASIDE = f"_build/notebooks/{Path(NAME).name}.ipynb"
each_half = pytest.mark.parametrize("half", HALVES)


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A project of one chapter that was just run; no kernel runs here."""
    (tmp_path / "book").symlink_to(ROOT / "book")
    (tmp_path / "chapters").mkdir()
    halves = [f"{NAME}.{half}" for half in HALVES]
    for name in ("jupytext.toml", "pyproject.toml", *halves):
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.setattr(notebooks, "run_chapter", lambda chapter, folder: None)
    monkeypatch.setattr(notebooks, "distributions", tuple)
    before = texts(tmp_path)
    notebooks.main(tmp_path)
    assert texts(tmp_path) == before
    return tmp_path


def texts(root: Path) -> list[str]:
    """The text, and the notebook, as they stand on disk."""
    return [(root / f"{NAME}.{half}").read_text("utf8") for half in HALVES]


def write(root: Path, **halves: str) -> None:
    """Write one half, or both."""
    for half, content in halves.items():
        (root / f"{NAME}.{half}").write_text(content, "utf8")


def age(root: Path, newer: str) -> None:
    """Let one half be a minute newer than the other."""
    for half in HALVES:
        seconds = 1e9 + 60 * (half == newer)
        os.utime(root / f"{NAME}.{half}", (seconds, seconds))


def edit(cells: list, old: str = OLD, new: str = NEW) -> None:
    """Replace what stands once in the cells."""
    (cell,) = [cell for cell in cells if old in cell.source]
    cell.source = cell.source.replace(old, new)


def managed(kind: type, root: Path):
    """Start a contents manager; what it trusts is noted nowhere."""
    config = Config()
    config.NotebookNotary.store_factory = MemorySignatureStore
    return kind(root_dir=str(root), config=config)


def opened(manager, half: str):
    """Open a half as Jupyter does."""
    return manager.get(f"{NAME}.{half}", type="notebook")["content"]


def save(manager, half: str, content) -> None:
    """Save a half as Jupyter does."""
    model = {"type": "notebook", "content": content}
    manager.save(model, f"{NAME}.{half}")


def outputs(root: Path) -> dict:
    """What each cell of code showed, by its source."""
    cells = nbformat.read(root / f"{NAME}.ipynb", as_version=4).cells
    return {c.source: c.outputs for c in cells if c.cell_type == "code"}


def finish(root: Path, text: str) -> None:
    """Run `make notebooks`: both halves say what the text is to say, with
    every output, and a second time changes nothing."""
    kept = outputs(root)
    notebooks.main(root)
    after = texts(root)
    assert after[0] == text
    assert outputs(root) == kept
    halves = nbformat.reads(after[1], 4), pairs.chapter_of(root / f"{NAME}.md")
    cells, wanted = ([(c.id, c.source) for c in x.cells] for x in halves)
    assert cells == wanted
    notebooks.main(root)
    assert texts(root) == after


# --- by what knows no roles, or nothing of pairs ---------------------------


@each_half
def test_what_plain_jupytext_saves_is_put_right_by_make(root, half, capsys):
    """It wants a text that is not older than the notebook, and `make
    notebooks` leaves it so."""
    wanted = texts(root)[0].replace(OLD, NEW)
    manager = managed(TextFileContentsManager, root)
    content = opened(manager, half)
    edit(content.cells)
    content.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    save(manager, half, content)
    finish(root, wanted)
    assert "running" not in capsys.readouterr().out


def test_where_both_were_edited_the_text_wins_and_nothing_is_lost(
    root, capsys
):
    before = texts(root)
    text, notebook = before[0].replace(CODE, OTHER), before[1]
    write(root, md=text, ipynb=notebook.replace(OLD, NEW))
    age(root, newer="ipynb")
    notebooks.main(root)
    said = capsys.readouterr().out
    assert "the text wins; bring over what you miss from" in said
    assert "running chapters/06_scores.md" in said
    assert texts(root)[0] == text
    assert (root / ASIDE).read_text() == notebook.replace(OLD, NEW)


def test_a_notebook_that_cannot_be_read_is_made_anew(root):
    before = texts(root)
    conflict = f"<<<<<<< HEAD\n{before[1]}"
    write(root, ipynb=conflict)
    notebooks.main(root)
    assert texts(root)[0] == before[0]
    assert OLD in texts(root)[1]
    assert (root / ASIDE).read_text() == conflict


# --- what is run -----------------------------------------------------------


SMALL = Path(__file__).with_name("small.md").read_text("utf8")


@pytest.mark.full
def test_a_notebook_is_run_only_when_something_changed(tmp_path, capsys):
    text = tmp_path / "chapters" / "00_small.md"
    code = tmp_path / "tformer_lite" / "a.py"
    for file, content in (text, SMALL), (code, "x = 1\n"):
        file.parent.mkdir()
        file.write_text(content)

    def runs() -> bool:
        notebooks.main(tmp_path)
        return "running" in capsys.readouterr().out

    assert runs()
    once = text.with_suffix(".ipynb").read_bytes()
    assert not runs()
    code.write_text("x = 2\n")
    assert runs()
    assert text.with_suffix(".ipynb").read_bytes() == once
    code.with_suffix(".pyc").write_bytes(b"\xa7")
    assert not runs()
    text.write_text(SMALL.replace("1 + 1", "1 + 2"))
    assert runs()
    cells = nbformat.read(text.with_suffix(".ipynb"), as_version=4).cells
    assert cells[-1].outputs[0].data["text/plain"] == "3"
