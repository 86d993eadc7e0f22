"""Run the chapters that changed: chapters/NN.md to NN.ipynb, one way.

A notebook is fresh when the text, the module and the installed packages it
last ran with are the ones here now; that is noted in _build/notebooks.
"""

import hashlib
import sys
from importlib.metadata import distributions
from pathlib import Path

import jupytext
import nbformat
from cells import ids
from nbclient import NotebookClient
from roles import UnknownNameError, filled

ROOT = Path(__file__).parents[2]


def main(root: Path = ROOT) -> None:
    notes = root / "_build" / "notebooks"
    notes.mkdir(parents=True, exist_ok=True)
    world = fingerprint(*module(root)) + packages()
    for text in sorted((root / "chapters").glob("*.md")):
        note, notebook = notes / text.stem, text.with_suffix(".ipynb")
        said = condensed(*(cell.source for cell in read(text).cells))
        if fresh(note, said + fingerprint(notebook) + world):
            continue
        print(f"running {text.relative_to(root)}", flush=True)
        refresh(text, notebook)
        note.write_text(said + fingerprint(notebook) + world)


def module(root: Path) -> list[Path]:
    """List what chapters import and read: code, texts, weights, results."""
    files = (root / "tformer_lite").rglob("*")
    return sorted(f for f in files if f.is_file() and f.suffix != ".pyc")


def fresh(note: Path, state: str) -> bool:
    """Tell whether a chapter last ran in the state that things are in."""
    return note.exists() and note.read_text() == state


def fingerprint(*files: Path) -> str:
    """Condense files to one word."""
    return condensed(*(f.read_bytes().hex() for f in files if f.exists()))


def condensed(*texts: str) -> str:
    """Condense texts to one word."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def packages() -> str:
    """Condense the names and versions of all that is installed."""
    names = sorted(f"{d.name} {d.version}" for d in distributions())
    return condensed(*names)


def refresh(text: Path, notebook: Path) -> None:
    """Run one chapter and store it, the same bytes for the same outputs."""
    chapter = read(text)
    client = NotebookClient(
        chapter,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(text.parent)}},
    )
    client.execute()
    chapter.metadata.language_info = {"name": "python"}
    nbformat.write(chapter, notebook)


def read(text: Path) -> nbformat.NotebookNode:
    """Read a chapter as a notebook; its text alone decides the cell ids."""
    chapter = jupytext.read(text)
    for cell in chapter.cells:
        if cell.cell_type == "markdown":
            cell.source = said(cell.source, text)
    sources = [cell.source for cell in chapter.cells]
    for cell, word in zip(chapter.cells, ids(sources)):
        cell.id = word
    return chapter


def said(source: str, text: Path) -> str:
    """Fill in the roles of a chapter's cell."""
    try:
        return filled(source, text.parents[1] / "book")
    except UnknownNameError as error:
        sys.exit(f"{text.name}: {error}")


if __name__ == "__main__":
    sys.exit(main())
