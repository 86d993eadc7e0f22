"""Both halves of a chapter can be edited, with whatever there is.

The witness is jupytext as it comes, which knows no roles: its contents
manager, and its `--sync`, which extensions of VS Code use.
"""

from pathlib import Path

import nbformat
import notebooks
import pairs
import pytest
import roles
from jupytext import TextFileContentsManager
from jupytext.cli import jupytext as jupytext_command
from tornado.web import HTTPError

from tests.helpers.paired import (
    CODE,
    HALVES,
    NAME,
    NEW,
    OLD,
    OTHER,
    age,
    both_halves,
    each_half,
    each_order,
    edit,
    managed,
    one_chapter,
    opened,
    outputs_by_source,
    paths,
    save,
    stored,
)
from tests.helpers.project import ROOT

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))


@pytest.fixture
def root(tmp_path, monkeypatch):
    return one_chapter(tmp_path, monkeypatch)


# --- by jupytext alone ----------------------------------------------------


@pytest.mark.slow
@each_half
def test_what_plain_jupytext_saves_is_put_right_by_make(root, half, capsys):
    wanted = both_halves(root)[0].replace(OLD, NEW)
    age(root, "md")
    manager = managed(TextFileContentsManager, root)
    content = opened(manager, half)
    edit(content.cells)
    save(manager, half, content)
    assert both_halves(root)[0] == wanted
    content.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    save(manager, half, content)
    finish_and_compare(root, wanted)
    assert "running" not in capsys.readouterr().out


@pytest.mark.full
@each_order
@each_half
def test_what_sync_brings_over_is_put_right_by_make(root, half, newer):
    before = both_halves(root)
    text, notebook = paths(root)
    if newer == "md":
        text.write_text(before[0].replace(OLD, NEW))
    else:
        notebook.write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    jupytext_command(["--quiet", "--sync", str(root / f"{NAME}.{half}")])
    assert all(NEW in each for each in both_halves(root))
    finish_and_compare(root, before[0].replace(OLD, NEW))


def finish_and_compare(root: Path, text: str) -> None:
    """Run `make notebooks`: both halves say what the text is to say, with
    every output, and a second time changes nothing."""
    kept = outputs_by_source(stored(root))
    notebooks.main(root)
    after = both_halves(root)
    assert after[0] == text
    assert outputs_by_source(stored(root)) == kept
    cells = pairs.chapter_of(paths(root)[0]).cells
    shown = [(cell.id, cell.source) for cell in cells]
    assert [(cell.id, cell.source) for cell in stored(root).cells] == shown
    notebooks.main(root)
    assert both_halves(root) == after


@pytest.mark.slow
def test_plain_jupytext_opens_what_make_has_left(root):
    """It wants a text that is not older than the notebook, and `make
    notebooks` leaves it so."""
    age(root, "ipynb")
    manager = managed(TextFileContentsManager, root)
    with pytest.raises(HTTPError, match="is more recent than"):
        manager.get(f"{NAME}.ipynb", type="notebook")
    notebooks.main(root)
    for half in HALVES:
        manager.get(f"{NAME}.{half}", type="notebook")


# --- by what knows nothing of pairs --------------------------------------


@pytest.mark.full
@each_order
@each_half
def test_an_edit_of_one_half_is_taken_over(root, half, newer, capsys):
    """The order of time stamps, which git changes, says nothing."""
    before = both_halves(root)
    path = root / f"{NAME}.{half}"
    path.write_text(path.read_text().replace(OLD, NEW))
    age(root, newer)
    finish_and_compare(root, before[0].replace(OLD, NEW))
    said = capsys.readouterr().out
    assert ("takes over" in said) == (half == "ipynb")
    assert "running" not in said


@pytest.mark.slow
def test_a_cell_that_was_moved_or_deleted_in_the_notebook_is_so_in_the_text(
    root,
):
    notebook = stored(root)
    first, second = notebook.cells[4], notebook.cells[5]
    notebook.cells[4:6] = [second, first]
    gone = notebook.cells.pop()
    nbformat.write(notebook, paths(root)[1])
    age(root, "md")
    notebooks.main(root)
    cells = pairs.chapter_of(paths(root)[0]).cells
    assert [c.source for c in cells[4:6]] == [second.source, first.source]
    assert gone.source not in [cell.source for cell in cells]


@pytest.mark.slow
@each_order
def test_where_both_were_edited_the_text_wins_and_nothing_is_lost(
    root, newer, capsys
):
    before = both_halves(root)
    text, notebook = paths(root)
    text.write_text(before[0].replace(CODE, OTHER))
    notebook.write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    notebooks.main(root)
    said = capsys.readouterr().out
    assert "the text wins; bring over what you miss from" in said
    assert "running chapters/06_scores.md" in said
    assert both_halves(root)[0] == before[0].replace(CODE, OTHER)
    kept = root / "_build" / "notebooks" / "06_scores.ipynb"
    assert kept.read_text() == before[1].replace(OLD, NEW)


@pytest.mark.slow
def test_the_order_of_a_cells_options_is_no_edit(root, capsys):
    """A notebook has them in the order of the alphabet."""
    text = both_halves(root)[0]
    hide, show = "  code_prompt_hide: Hide", "  code_prompt_show: Show"
    rest = " the setup\n"
    assert hide + rest + show + rest in text
    other = text.replace(hide + rest + show, show + rest + hide)
    paths(root)[0].write_text(other)
    notebooks.main(root)
    assert both_halves(root)[0] == text
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_a_notebook_that_cannot_be_read_is_made_anew(root):
    before = both_halves(root)
    conflict = f"<<<<<<< HEAD\n{before[1]}"
    paths(root)[1].write_text(conflict)
    notebooks.main(root)
    assert both_halves(root)[0] == before[0]
    assert (
        outputs_by_source(stored(root)).keys()
        == outputs_by_source(pairs.chapter_of(paths(root)[0])).keys()
    )
    kept = root / "_build" / "notebooks" / "06_scores.ipynb"
    assert kept.read_text() == conflict


# --- the stored pairs ----------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("text", CHAPTERS, ids=lambda path: path.stem)
def test_a_text_and_its_notebook_are_stored_as_jupytext_would(text):
    written = text.read_text("utf8")
    assert pairs.as_text(pairs.chapter_of(text)) == written
    assert (
        roles.with_roles(roles.with_words(written, ROOT / "book")) == written
    )
    notebook = nbformat.read(text.with_suffix(".ipynb"), as_version=4)
    assert pairs.as_text(notebook) == written
    assert notebook.metadata == pairs.chapter_of(text).metadata
