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

ROOT = Path(__file__).parents[2]


def main(root: Path = ROOT) -> None:
    notes = root / "_build" / "notebooks"
    notes.mkdir(parents=True, exist_ok=True)
    module = sorted((root / "tformer_lite").rglob("*.py"))
    world = fingerprint(*module) + packages()
    for text in sorted((root / "chapters").glob("*.md")):
        note, notebook = notes / text.stem, text.with_suffix(".ipynb")
        if fresh(note, fingerprint(text, notebook) + world):
            continue
        print(f"running {text.relative_to(root)}", flush=True)
        refresh(text, notebook)
        note.write_text(fingerprint(text, notebook) + world)


def fresh(note: Path, state: str) -> bool:
    """Tell whether a chapter last ran in the state that things are in."""
    return note.exists() and note.read_text() == state


def fingerprint(*files: Path) -> str:
    """Condense files to one word."""
    parts = [file.read_bytes() for file in files if file.exists()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def packages() -> str:
    """Condense the names and versions of all that is installed."""
    names = sorted(f"{d.name} {d.version}" for d in distributions())
    return hashlib.sha256("\0".join(names).encode()).hexdigest()


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
    sources = [cell.source for cell in chapter.cells]
    for cell, word in zip(chapter.cells, ids(sources)):
        cell.id = word
    return chapter


if __name__ == "__main__":
    sys.exit(main())
