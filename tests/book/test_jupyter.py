"""Jupyter opens either half of a chapter, shows words, and saves both.

The witness is jupytext's contents manager, which JupyterLab uses.
"""

import notebooks
import pytest
from manager import ChapterManager
from traitlets.config.loader import PyFileConfigLoader

from tests.helpers.paired import (
    CODE,
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


@pytest.fixture
def root(tmp_path, monkeypatch):
    return one_chapter(tmp_path, monkeypatch)


@pytest.mark.slow
@each_order
@each_half
def test_to_open_a_half_and_save_it_changes_no_byte(root, half, newer):
    """Even if Jupyter says of itself what it likes to say."""
    before = both_halves(root)
    age(root, newer)
    manager = managed(ChapterManager, root)
    content = opened(manager, half)
    content.metadata.kernelspec.display_name = "Python 3 (ipykernel)"
    content.metadata.language_info = {"name": "python", "version": "3.12.1"}
    content.cells[3].metadata.update(editable=True, trusted=True)
    save(manager, half, content)
    assert both_halves(root) == before


@pytest.mark.slow
@each_order
@each_half
def test_an_edit_in_jupyter_is_in_both_halves(root, half, newer):
    (text, _), before = both_halves(root), stored(root)
    age(root, newer)
    manager = managed(ChapterManager, root)
    content = opened(manager, half)
    edit(content.cells)
    edit(content.cells, CODE, OTHER)
    save(manager, half, content)
    wanted = text.replace(OLD, NEW).replace(CODE, OTHER)
    assert both_halves(root)[0] == wanted != text
    after = stored(root)
    edit(before.cells)
    edit(before.cells, CODE, OTHER)
    assert outputs_by_source(after) == outputs_by_source(before)
    sources = [cell.source for cell in before.cells]
    assert [cell.source for cell in after.cells] == sources


@pytest.mark.slow
@each_half
def test_jupyter_shows_words_and_keeps_what_is_written(root, half):
    """Words that the run gives are renewed, those of a link are the author's;
    a role is one as soon as it is saved, and an unknown one stays."""
    manager = managed(ChapterManager, root)
    content = opened(manager, half)
    edit(
        content.cells,
        'have <data value="size C">12<',
        'have <data value="size C">77<',
    )
    edit(content.cells, ">softmax</a>", ">soft maximum</a>")
    edit(content.cells, OLD, "one of {sizes}`scores` and {size}`Q`.")
    save(manager, half, content)
    text, notebook = both_halves(root)
    assert "words have {size}`C` channels" in text
    assert ">77<" not in text + notebook
    assert "\n{term}`soft maximum <softmax>`: take" in text
    assert "one of {sizes}`scores` and {size}`Q`." in text
    with pytest.raises(SystemExit, match="06_scores.md: there is no axis 'Q'"):
        notebooks.main(root)


@pytest.mark.slow
def test_an_editor_of_texts_gets_what_is_on_disk(root):
    model = managed(ChapterManager, root).get(f"{NAME}.md", type="file")
    assert model["content"] == both_halves(root)[0]


def test_the_jupyter_of_the_project_has_this_manager():
    folder = ROOT / "book" / "_tools"
    loader = PyFileConfigLoader("jupyter_server_config.py", path=str(folder))
    server = loader.load_config().ServerApp
    assert server.contents_manager_class == "manager.ChapterManager"
    assert "../../../book/_tools/jupyter_server_config.py" in (
        (ROOT / "Makefile").read_text()
    )


@pytest.mark.slow
@each_order
def test_jupyter_opens_an_edit_that_the_notebook_alone_has(root, newer):
    before = both_halves(root)
    paths(root)[1].write_text(before[1].replace(OLD, NEW))
    age(root, newer)
    model = managed(ChapterManager, root).get(f"{NAME}.md", type="notebook")
    assert any(NEW in cell.source for cell in model["content"].cells)
    assert both_halves(root)[0] == before[0].replace(OLD, NEW)
