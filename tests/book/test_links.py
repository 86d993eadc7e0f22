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


@pytest.fixture
def follow(tmp_path):
    """Tell whether a link leads somewhere, from one page of two and a CSS."""
    html = tmp_path / "html"
    one, two = html / "one.html", html / "rooms" / "two.html"
    two.parent.mkdir(parents=True)
    for name in ("html/book.css", "outside.txt"):
        (tmp_path / name).touch()
    two.write_text(
        '<h1 id="Übung">2</h1> <a name="old"> <p class="explorer">', "utf8"
    )

    def follow(link: str) -> bool:
        one.write_text(f'<p id="here"><a href="{link}">go</a>', "utf8")
        return links.broken(links.read_pages(html), html) == []

    return follow


@pytest.mark.parametrize(
    "link",
    [
        "#here",
        "one.html#here",
        "rooms/two.html",
        "rooms/two.html?q=1#old",
        "rooms/two.html#explore-0-1-weights-3-4",
        "https://example.org/nowhere",
        "mailto:nobody@example.org",
    ],
)
def test_a_link_that_leads_somewhere_is_left_alone(follow, link):
    assert follow(link)


@pytest.mark.parametrize(
    "link",
    [
        "#there",
        "#explore-0-1-weights-3-4",
        "three.html",
        "rooms/two.html#here",
        "/one.html",
        "../outside.txt",
    ],
)
def test_a_link_that_leads_nowhere_is_found(follow, link):
    assert not follow(link)
