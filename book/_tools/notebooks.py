"""Run the chapters that changed, or those that are typed: NN.md to NN.ipynb.

Each half takes over what was edited in the other (pairs.py); a notebook whose
outputs come from other code or packages (see _build/notebooks) is run.
"""

import json
import sys
from importlib.metadata import distributions
from pathlib import Path

import nbformat
from cells import digest
from nbclient import NotebookClient
from packages import DOWNLOADS, NO_CODE, PACKAGES, ROOT
from pairs import as_stored, book_of, chapter_of, notebook_of, store, take_over
from roles import UnknownNameError, with_words


def main(root: Path = ROOT, *names: str) -> None:
    notes = root / "_build" / "notebooks"
    notes.mkdir(parents=True, exist_ok=True)
    world = digest(*(f.read_bytes().hex() for f in modules(root)))
    world += digest(*sorted(f"{d.name} {d.version}" for d in distributions()))
    every = (root / "chapters").rglob("*.md")
    for text in map(root.joinpath, names or sorted(every)):
        if told := take_over(text):
            print(told, flush=True)
        name = text.relative_to(root)
        note = notes / "-".join(name.with_suffix("").parts)
        old = as_stored(notebook_of(text), book_of(text))
        check(chapter := with_outputs(chapter_of(text), old), text)
        if not note.exists() or note.read_text() != state(chapter) + world:
            print(f"running {name}", flush=True)
            run_chapter(chapter, text.parent)
        store(chapter, text)
        note.write_text(state(chapter) + world)


def modules(root: Path) -> list[Path]:
    """List what chapters import and read: code, texts, weights, results."""
    places = [above.relative_to(ROOT) / x for x, above in PACKAGES.items()]
    files = [f for place in places for f in (root / place).rglob("*")]
    files += (root / file.relative_to(ROOT) for file in DOWNLOADS)
    for form in "*/*.toml", "*/*.zip":  # exercises
        files += (root / "chapters").glob(form)
    there = [f for f in files if f.is_file() and f.suffix != ".pyc"]
    return sorted(f for f in there if f.name not in NO_CODE)


def with_outputs(
    chapter: nbformat.NotebookNode, old: nbformat.NotebookNode
) -> nbformat.NotebookNode:
    """Give cells of code the outputs that the same cells had before."""
    cells = {cell.id: cell for cell in code_cells(old)}
    for cell in code_cells(chapter):
        for key in ("outputs", "execution_count") * (cell.id in cells):
            cell[key] = cells[cell.id][key]
    return chapter


def code_cells(chapter: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """List the cells that are run."""
    return [cell for cell in chapter.cells if cell.cell_type == "code"]


def state(chapter: nbformat.NotebookNode) -> str:
    """Condense the code of a chapter, and what came out."""
    return digest(json.dumps(code_cells(chapter), sort_keys=True))


def check(chapter: nbformat.NotebookNode, text: Path) -> None:
    """Stop at a role that names what there is not."""
    try:
        for cell in chapter.cells:
            if cell.cell_type == "markdown":
                with_words(cell.source, book_of(text))
    except UnknownNameError as error:
        sys.exit(f"{text.name}: {error}")


def run_chapter(chapter: nbformat.NotebookNode, folder: Path) -> None:
    """Run a chapter; the same outputs are the same bytes."""
    NotebookClient(
        chapter,
        timeout=600,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    chapter.metadata.language_info = {"name": "python"}


if __name__ == "__main__":
    sys.path.append(str(ROOT))
    import shapes  # what prose names, a new exercise too

    shapes.main()
    sys.exit(main(ROOT, *sys.argv[1:]))
