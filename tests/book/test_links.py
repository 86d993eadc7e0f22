"""Links inside the built book lead somewhere, and those that do not are
found."""

import links
import pytest


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
        ("one.html#here", True),
        ("rooms/two.html", True),
        ("rooms/two.html?q=1#old", True),
        ("rooms/two.html#explore-0-1-weights-3-4", True),
        ("https://example.org/nowhere", True),
        ("mailto:nobody@example.org", True),
        ("#there", False),
        ("#explore-0-1-weights-3-4", False),
        ("three.html", False),
        ("rooms/two.html#here", False),
        ("/one.html", False),
        ("../outside.txt", False),
    ],
)
def test_a_link_is_found_if_it_leads_nowhere(tmp_path, link, leads):
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
