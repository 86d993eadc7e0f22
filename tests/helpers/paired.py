"""A project of one chapter, whose halves a test edits: text and notebook."""

import os
import shutil
from pathlib import Path

import nbformat
import notebooks
import pytest
from nbformat.sign import MemorySignatureStore
from traitlets.config import Config

from tests.helpers.project import ROOT

NAME = "chapters/06_scores"
HALVES = "md", "ipynb"
each_half = pytest.mark.parametrize("half", HALVES)
each_order = pytest.mark.parametrize("newer", HALVES)

OLD, NEW = "One matrix product computes", "A single product computes"
CODE, OTHER = "q.shape, k.shape", "k.shape, q.shape"


def one_chapter(folder: Path, monkeypatch) -> Path:
    """Copy a chapter whose notebook was just run; no kernel runs here."""
    (folder / "book").symlink_to(ROOT / "book")
    for name in "jupytext.toml", "pyproject.toml":
        shutil.copy(ROOT / name, folder)
    (folder / "chapters").mkdir()
    for half in HALVES:
        shutil.copy(ROOT / f"{NAME}.{half}", folder / "chapters")
    monkeypatch.setattr(notebooks, "run_chapter", lambda chapter, folder: None)
    monkeypatch.setattr(notebooks, "packages", str)
    before = both_halves(folder)
    notebooks.main(folder)
    assert both_halves(folder) == before
    return folder


def paths(root: Path) -> list[Path]:
    """Say where the text is, and the notebook."""
    return [root / f"{NAME}.{half}" for half in HALVES]


def both_halves(root: Path) -> list[str]:
    """Read the text, and the notebook as it stands on disk."""
    return [path.read_text("utf8") for path in paths(root)]


def age(root: Path, newer: str) -> None:
    """Let one half be a minute newer than the other."""
    for path in paths(root):
        seconds = 1e9 + 60 * path.name.endswith(newer)
        os.utime(path, (seconds, seconds))


def edit(cells: list, old: str = OLD, new: str = NEW) -> None:
    """Replace what stands once in the cells."""
    (cell,) = [cell for cell in cells if old in cell.source]
    cell.source = cell.source.replace(old, new)


def managed(kind: type, root: Path):
    """Start a contents manager; what it trusts is noted nowhere on the
    disk."""
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


def stored(root: Path) -> nbformat.NotebookNode:
    """Read the notebook."""
    return nbformat.read(paths(root)[1], as_version=4)


def outputs_by_source(notebook: nbformat.NotebookNode) -> dict:
    """Give what each cell of code showed, by its source."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.source: cell.outputs for cell in code}
