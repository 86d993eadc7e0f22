"""Links inside the built book lead somewhere, and those that do not are
found."""

import shutil

import links
import pytest

from tests.helpers.project import ROOT

URL, SITE = links.addresses(ROOT)
NAME = URL.split("/", 3)[3]
COLAB = f"{links.COLAB}/{NAME}"


@pytest.mark.full
def test_every_link_of_the_book_leads_somewhere():
    pages = links.read_pages(links.HTML)
    assert len(pages) > 30, "there is no book: run `make book` first"
    assert links.broken(pages, links.HTML) == []
    assert (links.HTML / ".nojekyll").exists()


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("#here", True),
        ("rooms/two.html?q=1#old", True),
        ("rooms/two.html#explore-0-1-weights-3-4", True),
        ("https://example.org/nowhere", True),
        ("{url}/edit/main/chapters/06_scores.md?plain=1#L3", True),
        ("{colab}/blob/main/chapters/06_scores.ipynb", True),
        ("{site}/one.html#here", True),
        ("#there", False),
        ("#explore-0-1-weights-3-4", False),
        ("rooms/two.html#here", False),
        ("/one.html", False),
        ("../outside.txt", False),
        ("{url}/blob/v9/chapters/06_scores.ipynb", False),
        ("{url}/blob/main/chapters/60_scores.ipynb", False),
        ("{site}/one.html#there", False),
    ],
)
def test_a_link_is_found_if_it_leads_nowhere(tmp_path, link, leads):
    """An address of ours has to name what is here."""
    link = link.format(url=URL, site=SITE, name=NAME, colab=COLAB)
    html = tmp_path / "html"
    one, two = html / "one.html", html / "rooms" / "two.html"
    two.parent.mkdir(parents=True)
    for name in ("html/book.css", "outside.txt"):
        (tmp_path / name).touch()
    one.write_text(f'<p id="here"><a href="{link}">go</a>', "utf8")
    two.write_text(
        '<h1 id="Übung">2</h1> <a name="old"> <p class="explorer">', "utf8"
    )
    assert (links.broken(links.read_pages(html), html) == []) == leads


@pytest.mark.full
def test_readme_and_notebooks_are_looked_through_for_old_addresses(tmp_path):
    for file in "README.md", "pyproject.toml", "_config.yml":
        shutil.copy(ROOT / file, tmp_path)
    (tmp_path / "chapters" / "exercises").mkdir(parents=True)
    notebook = tmp_path / "chapters" / "exercises" / "01_text_to_ids.ipynb"
    shutil.copy(ROOT / notebook.relative_to(tmp_path), notebook)
    pages = links.read_pages(links.HTML)
    assert links.astray(pages, links.HTML, tmp_path) == []
    changes = {
        notebook: (SITE, f"{SITE}s"),
        tmp_path / "README.md": (NAME, "another/book"),
    }
    for file, change in changes.items():
        text = file.read_text("utf8")
        file.write_text(text.replace(*change), "utf8")
    said = "\n".join(links.astray(pages, links.HTML, tmp_path))
    assert f"exercises/01_text_to_ids.ipynb: {SITE}s" in said
    assert f"README.md: {links.COLAB}/another/book/blob" in said
