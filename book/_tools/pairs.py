"""Keep the two halves of a chapter one: NN.md, written, and NN.ipynb, shown.

A notebook has words where its text has roles (roles.py). What was edited in
one half goes to the other; where both were edited, the text wins, and the
notebook is kept in _build/notebooks. Which half was edited, a notebook can
tell: it says what text it was made from. Time stamps say nothing, since git
sets them anew.
"""

import json
import os
import shutil
from pathlib import Path

import jupytext
import nbformat
from cells import cell_ids, digest
from jupytext.config import load_jupytext_configuration_file
from nbformat import NotebookNode
from nbformat.reader import NotJSONError
from roles import UnknownNameError, with_roles, with_words

CONFIG = load_jupytext_configuration_file(
    str(Path(__file__).parents[2] / "jupytext.toml")
)
# How a cell tagged so is shown at first: folded, where a program can do that.
ANSWER = "answer"
FOLD_MARKS = {
    "cellView": "form",
    "jupyter": {"outputs_hidden": True, "source_hidden": True},
}
KEYS = CONFIG.cell_metadata_filter.removesuffix(",-all").split(",")
# What all texts say of themselves, and all notebooks.
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
HEAD = {"jupytext": {"default_lexer": "ipython3"}, "kernelspec": KERNEL}


def chapter_of(text: Path) -> NotebookNode:
    """Read a chapter's text as a notebook without outputs."""
    return as_stored(jupytext.read(text), book_of(text))


def notebook_of(text: Path) -> NotebookNode:
    """Read a chapter's notebook; an empty one, where there is none or where
    git has left it with marks of a conflict."""
    try:
        return nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    except (FileNotFoundError, NotJSONError):
        return nbformat.v4.new_notebook()


def book_of(chapter: Path) -> Path:
    """Find what the roles of a chapter refer to."""
    top = next(p for p in chapter.parents if p.name == "chapters").parent
    return top / "book"


def as_stored(chapter: NotebookNode, book: Path) -> NotebookNode:
    """Give a notebook the form in which it is stored: with words for roles,
    cells named after their text, and nothing that a program says of itself."""
    chapter.metadata = nbformat.from_dict(
        HEAD
        | {"language_info": {"name": "python"}}
        | {"made_from": digest(as_text(chapter))}
    )
    chapter.nbformat_minor = 5
    for cell in chapter.cells:
        cell.metadata = author_metadata(cell.metadata | folds_of(cell))
        if cell.cell_type == "markdown":
            cell.source = with_fresh_words(cell.source, book)
    ids = cell_ids(cell.source for cell in chapter.cells)
    for cell, word in zip(chapter.cells, ids):
        cell.id = word
    return chapter


def author_metadata(metadata: dict) -> NotebookNode:
    """Leave of a cell's metadata what an author writes, in one order."""
    kept = {key: metadata[key] for key in KEYS if key in metadata}
    return nbformat.from_dict(json.loads(json.dumps(kept, sort_keys=True)))


def with_fresh_words(text: str, book: Path) -> str:
    """Fill in roles anew; a text with an unknown name is left as it is."""
    try:
        return with_words(with_roles(text), book)
    except UnknownNameError:
        return text


def as_text(chapter: NotebookNode) -> str:
    """Write a notebook as the text that it is made from, with roles."""
    plain = nbformat.v4.new_notebook(
        metadata=HEAD, cells=[author_cell(cell) for cell in chapter.cells]
    )
    return jupytext.writes(plain, "md:myst", config=CONFIG)


def author_cell(cell: NotebookNode) -> NotebookNode:
    """Leave of a cell what its author wrote."""
    new = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
    prose = cell.cell_type == "markdown"
    source = with_roles(cell.source) if prose else cell.source
    said = {k: cell.metadata[k] for k in cell.metadata.keys() - folds_of(cell)}
    return new(source, metadata=author_metadata(said))


def folds_of(cell: NotebookNode) -> dict:
    """Give the marks of a cell that gives away what a question asks."""
    return FOLD_MARKS if ANSWER in cell.metadata.get("tags", []) else {}


def take_over(text: Path) -> str | None:
    """Bring into a text what was edited in its notebook alone.

    Says what was done, if anything was.
    """
    edited = notebook_of(text)
    made_from = edited.metadata.get("made_from")
    new, old = as_text(edited), as_text(jupytext.read(text))
    if digest(new) in {made_from, digest(old)}:
        return None
    if digest(old) != made_from:
        return put_aside(text)
    write_changes(new, text)
    return f"{text.name} takes over what was edited in its notebook"


def put_aside(text: Path) -> str | None:
    """Keep a copy of the notebook of a text that wins, if it has one."""
    notebook = text.with_suffix(".ipynb")
    if not notebook.exists():
        return None
    aside = book_of(text).parent / "_build" / "notebooks" / notebook.name
    aside.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(notebook, aside)
    return (
        f"{text.name} and its notebook were both edited: the text wins; bring "
        f"over what you miss from _build/notebooks/{notebook.name}"
    )


def store(chapter: NotebookNode, text: Path) -> None:
    """Write both halves, each where it differs from what is there."""
    write_changes(as_text(chapter), text)
    write_changes(nbformat.writes(chapter) + "\n", text.with_suffix(".ipynb"))
    touch_text(text)


def write_changes(content: str, file: Path) -> None:
    """Write a file, unless it has that content."""
    data = content.encode()
    if not file.exists() or file.read_bytes() != data:
        file.write_bytes(data)


def touch_text(text: Path) -> None:
    """Make a text not older than its notebook: jupytext would take the half
    that was written last to be the half that was edited."""
    notebook = text.with_suffix(".ipynb")
    if notebook.stat().st_mtime_ns > text.stat().st_mtime_ns:
        os.utime(text)
