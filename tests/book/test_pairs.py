"""Both halves of a chapter can be edited: in Jupyter, in VS Code, anywhere.

The witness is jupytext: its contents manager, which JupyterLab uses, and its
`--sync`, which extensions of VS Code use. No kernel runs here.
"""

import os
import shutil
from pathlib import Path

import jupytext
import nbformat
import notebooks
import pairs
import pytest
import roles
from jupytext.cli import jupytext as jupytext_command
from manager import ChapterManager
from tornado.web import HTTPError
from traitlets.config.loader import PyFileConfigLoader

from tests.helpers.project import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
NAME = "chapters/06_scores"
HALVES = "md", "ipynb"
each_half = pytest.mark.parametrize("half", HALVES)
each_order = pytest.mark.parametrize("newer", HALVES)

OLD, NEW = "number, its score.", "number: its score, as we say."
CODE, OTHER = "q.shape, k.shape", "k.shape, q.shape"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project of one chapter, whose notebook was just run."""
    (tmp_path / "book").symlink_to(ROOT / "book")
    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    (tmp_path / "chapters").mkdir()
    for half in HALVES:
        shutil.copy(ROOT / f"{NAME}.{half}", tmp_path / "chapters")
    monkeypatch.setattr(notebooks, "run", lambda chapter, folder: None)
    monkeypatch.setattr(notebooks, "packages", str)
    before = state(tmp_path)
    notebooks.main(tmp_path)
    assert state(tmp_path) == before
    return tmp_path


def paths(root: Path) -> list[Path]:
    return [root / f"{NAME}.{half}" for half in HALVES]


def state(root: Path) -> list[str]:
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


def jupyter(root: Path, manager=ChapterManager):
    """What Jupyter opens and saves files with."""
    return manager(root_dir=str(root))


def save(manager, path: str, content) -> None:
    manager.save({"type": "notebook", "content": content}, path)


def stored(root: Path) -> nbformat.NotebookNode:
    return nbformat.read(root / f"{NAME}.ipynb", as_version=4)


def outputs(notebook) -> dict:
    """What each cell of code gave, by its source."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.source: cell.outputs for cell in code}


# --- in Jupyter ----------------------------------------------------------


@each_order
@each_half
def test_to_open_a_half_and_save_it_changes_no_byte(root, half, newer):
    """Even if Jupyter says of itself what it likes to say."""
    before = state(root)
    age(root, newer)
    manager = jupyter(root)
    content = manager.get(f"{NAME}.{half}", type="notebook")["content"]
    content.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    content.metadata.language_info = {"name": "python", "version": "3.12.1"}
    content.cells[3].metadata.update(editable=True, trusted=True)
    save(manager, f"{NAME}.{half}", content)
    assert state(root) == before


@each_order
@each_half
def test_an_edit_in_jupyter_is_in_both_halves(root, half, newer):
    (text, _), before = state(root), stored(root)
    age(root, newer)
    manager = jupyter(root)
    content = manager.get(f"{NAME}.{half}", type="notebook")["content"]
    edit(content.cells)
    edit(content.cells, CODE, OTHER)
    save(manager, f"{NAME}.{half}", content)
    wanted = text.replace(OLD, NEW).replace(CODE, OTHER)
    assert state(root)[0] == wanted != text
    after = stored(root)
    edit(before.cells)
    edit(before.cells, CODE, OTHER)
    assert outputs(after) == outputs(before)
    sources = [cell.source for cell in before.cells]
    assert [cell.source for cell in after.cells] == sources


@each_half
def test_jupyter_shows_words_and_keeps_what_is_written(root, half):
    """Words that the run gives are renewed, those of a link are the author's;
    a role is one as soon as it is saved, and an unknown one stays."""
    manager, path = jupyter(root), f"{NAME}.{half}"
    content = manager.get(path, type="notebook")["content"]
    edit(content.cells, ">(2, 3, 8, 8)<", ">(7, 7)<")
    edit(content.cells, ">softmax</a>", ">soft maximum</a>")
    edit(content.cells, OLD, "one of {sizes}`scores` and {size}`Q`.")
    save(manager, path, content)
    text, notebook = state(root)
    assert "{sizes}`encoder scores`" in text
    assert "(7, 7)" not in text + notebook
    assert "called {term}`soft maximum <softmax>`" in text
    assert "one of {sizes}`scores` and {size}`Q`." in text
    with pytest.raises(SystemExit, match="06_scores.md: there is no axis 'Q'"):
        notebooks.main(root)


def test_an_editor_of_texts_gets_what_is_on_disk(root):
    model = jupyter(root).get(f"{NAME}.md", type="file")
    assert model["content"] == state(root)[0]


def test_the_jupyter_of_the_project_has_this_manager():
    folder = ROOT / "book" / "_tools"
    loader = PyFileConfigLoader("jupyter_server_config.py", path=str(folder))
    server = loader.load_config().ServerApp
    assert server.contents_manager_class == "manager.ChapterManager"
    assert "../../../book/_tools/jupyter_server_config.py" in (
        (ROOT / "Makefile").read_text()
    )


# --- by jupytext alone, which knows no roles -----------------------------


@each_half
def test_what_plain_jupytext_saves_is_put_right_by_make(root, half, capsys):
    wanted = state(root)[0].replace(OLD, NEW)
    age(root, "md")
    manager = jupyter(root, jupytext.TextFileContentsManager)
    content = manager.get(f"{NAME}.{half}", type="notebook")["content"]
    edit(content.cells)
    save(manager, f"{NAME}.{half}", content)
    assert state(root)[0] == wanted
    content.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    save(manager, f"{NAME}.{half}", content)
    finish_and_compare(root, wanted)
    assert "running" not in capsys.readouterr().out


@each_order
@each_half
def test_what_sync_brings_over_is_put_right_by_make(root, half, newer):
    before = state(root)
    text, notebook = paths(root)
    if newer == "md":
        text.write_text(before[0].replace(OLD, NEW))
    else:
        notebook.write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    jupytext_command(["--quiet", "--sync", str(root / f"{NAME}.{half}")])
    assert all(NEW in each for each in state(root))
    finish_and_compare(root, before[0].replace(OLD, NEW))


def finish_and_compare(root: Path, text: str) -> None:
    """Run `make notebooks`: both halves say what the text is to say, with
    every output, and a second time changes nothing."""
    kept = outputs(stored(root))
    notebooks.main(root)
    after = state(root)
    assert after[0] == text
    assert outputs(stored(root)) == kept
    cells = pairs.read(paths(root)[0]).cells
    shown = [(cell.id, cell.source) for cell in cells]
    assert [(cell.id, cell.source) for cell in stored(root).cells] == shown
    notebooks.main(root)
    assert state(root) == after


def test_plain_jupytext_opens_what_make_has_left(root):
    """It wants a text that is not older than the notebook, and `make
    notebooks` leaves it so."""
    age(root, "ipynb")
    manager = jupyter(root, jupytext.TextFileContentsManager)
    with pytest.raises(HTTPError, match="is more recent than"):
        manager.get(f"{NAME}.ipynb", type="notebook")
    notebooks.main(root)
    for half in HALVES:
        manager.get(f"{NAME}.{half}", type="notebook")


# --- by what knows nothing of pairs --------------------------------------


@each_order
@each_half
def test_an_edit_of_one_half_is_taken_over(root, half, newer, capsys):
    """The order of time stamps, which git changes, says nothing."""
    before = state(root)
    path = root / f"{NAME}.{half}"
    path.write_text(path.read_text().replace(OLD, NEW))
    age(root, newer)
    finish_and_compare(root, before[0].replace(OLD, NEW))
    said = capsys.readouterr().out
    assert ("takes over" in said) == (half == "ipynb")
    assert "running" not in said


def test_a_cell_that_was_moved_or_deleted_in_the_notebook_is_so_in_the_text(
    root,
):
    notebook = stored(root)
    first, second = notebook.cells[4], notebook.cells[5]
    notebook.cells[4:6] = [second, first]
    gone = notebook.cells.pop()
    nbformat.write(notebook, root / f"{NAME}.ipynb")
    age(root, "md")
    notebooks.main(root)
    cells = pairs.read(paths(root)[0]).cells
    assert [c.source for c in cells[4:6]] == [second.source, first.source]
    assert gone.source not in [cell.source for cell in cells]


@each_order
def test_jupyter_opens_an_edit_that_the_notebook_alone_has(root, newer):
    before = state(root)
    (root / f"{NAME}.ipynb").write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    model = jupyter(root).get(f"{NAME}.md", type="notebook")
    assert any(NEW in cell.source for cell in model["content"].cells)
    assert state(root)[0] == before[0].replace(OLD, NEW)


@each_order
def test_where_both_were_edited_the_text_wins_and_nothing_is_lost(
    root, newer, capsys
):
    before = state(root)
    text, notebook = paths(root)
    text.write_text(before[0].replace(CODE, OTHER))
    notebook.write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    notebooks.main(root)
    said = capsys.readouterr().out
    assert "the text wins; bring over what you miss from" in said
    assert "running chapters/06_scores.md" in said
    assert state(root)[0] == before[0].replace(CODE, OTHER)
    kept = root / "_build" / "notebooks" / "06_scores.ipynb"
    assert kept.read_text() == before[1].replace(OLD, NEW)


def test_the_order_of_a_cells_options_is_no_edit(root, capsys):
    """A notebook has them in the order of the alphabet."""
    text = state(root)[0]
    cell = "cellView: form\n", "tags: [setup, hide-cell]\n"
    assert all(option in text for option in cell)
    other = text.replace(cell[0], "").replace(cell[1], "".join(cell[::-1]))
    paths(root)[0].write_text(other)
    notebooks.main(root)
    assert state(root)[0] == text
    assert capsys.readouterr().out == ""


def test_a_notebook_that_cannot_be_read_is_made_anew(root):
    before = state(root)
    conflict = f"<<<<<<< HEAD\n{before[1]}"
    (root / f"{NAME}.ipynb").write_text(conflict)
    notebooks.main(root)
    assert state(root)[0] == before[0]
    assert (
        outputs(stored(root)).keys()
        == outputs(pairs.read(paths(root)[0])).keys()
    )
    kept = root / "_build" / "notebooks" / "06_scores.ipynb"
    assert kept.read_text() == conflict


# --- the stored pairs ----------------------------------------------------


@pytest.mark.parametrize("text", CHAPTERS, ids=lambda path: path.stem)
def test_a_text_and_its_notebook_are_stored_as_jupytext_would(text):
    written = text.read_text("utf8")
    assert pairs.as_text(pairs.read(text)) == written
    assert roles.written(roles.filled(written, ROOT / "book")) == written
    notebook = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    assert pairs.as_text(notebook) == written
    assert notebook.metadata == pairs.read(text).metadata
