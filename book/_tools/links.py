"""Follow every link inside the built book, and every address of the project
itself there, in the README and in the notebooks: `make links`.

A link has to lead to a file, and what follows its # to something on that
page. An address of our repository, of our site or of Colab has to name what
is here. Links to other sites are for `make weblinks`, which needs a network.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from repository import ROOT, addresses, branch_of, home

# Attention, head, step, row and column of what `explore` shows; and what each
# other panel can be asked to show.
EXPLORER_PLACE = re.compile(r"explore-\d+-\d+-[a-z]+(-\d+-\d+)?")
ASKED = re.compile(
    r"(train change|atlas by|atlas compare|resize preset|play bug)=[\w,+-]+"
)
HTML = ROOT / "_build" / "html"
OUR_REPOSITORY, OUR_SITE = addresses(ROOT)
OUR_BRANCH = branch_of(ROOT)
COLAB = "https://colab.research.google.com/github"
IN_REPOSITORY = re.compile(
    f"(?:{re.escape(OUR_REPOSITORY)}"
    f"|{re.escape(COLAB)}/{re.escape(OUR_REPOSITORY.split('/', 3)[3])})"
    "/(?:blob|raw|edit|tree)/([^/]+)/(.*)"
)
# In Markdown, in JSON and in code; and where a first cell fetches from.
ADDRESS = re.compile(r"https://[^\s\"'`<>()\[\]\\]+[\w/]")
HOME = re.compile(r"\bHOME = \\?\"([^\"\\]*)")


class Page(HTMLParser):
    """The links of a page, and the places on it that a link can lead to."""

    def __init__(self, source: str):
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}  # as the HTML standard has it
        self.explorer = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs) -> None:
        for name, value in attrs:
            leads = name in ("href", "src", "xlink:href") and tag != "base"
            if leads and value is not None:
                self.links.append(value)
            elif name == "id" or (tag, name) == ("a", "name"):
                self.places.add(value)
            elif name == "class" and "explorer" in (value or "").split():
                self.explorer = True


def main() -> str | None:
    """Say which links lead nowhere."""
    pages = read_pages(HTML)
    if not pages:
        return "there is no book in _build/html: run `make book` first"
    if lost := broken(pages, HTML) + astray(pages, HTML):
        return "\n".join([*lost, f"{len(lost)} links lead nowhere."])
    count = sum(len(page.links) for page in pages.values())
    print(f"{count:,} links on {len(pages)} pages, and none leads nowhere.")
    return None


def read_pages(html: Path) -> dict[Path, Page]:
    """Read all pages of a book."""
    files = sorted(html.rglob("*.html"))
    files = [file for file in files if "_static" not in file.parts]
    return {file: Page(file.read_text("utf8")) for file in files}


def broken(pages: dict[Path, Page], html: Path) -> list[str]:
    """List the links that lead nowhere, each with the page that has it."""
    return [
        f"{file.relative_to(html)}: {link}"
        for file, page in pages.items()
        for link in dict.fromkeys(page.links)
        if not arrives(link, file, pages, html)
    ]


def arrives(
    link: str, file: Path, pages: dict[Path, Page], html: Path
) -> bool:
    """Tell whether a link on a page leads to another site, or to something
    in the book or the repository. One from the root, as /search.html, does
    not: the book may stand in a folder of its site."""
    if link.startswith(f"{OUR_SITE}/"):
        file, link = html / "index.html", link.removeprefix(f"{OUR_SITE}/")
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return is_good(link)
    path = unquote(parts.path) or file.name
    target = (file.parent / path).resolve()
    if target in pages:
        place, page = unquote(parts.fragment), pages[target]
        shown = page.explorer and EXPLORER_PLACE.fullmatch(place)
        asked = (f"{panel} {place}" for panel in page.places)
        shown = shown or any(map(ASKED.fullmatch, asked))
        return place in page.places or bool(shown)
    return html in target.parents and target.is_file()


def astray(
    pages: dict[Path, Page], html: Path, root: Path = ROOT
) -> list[str]:
    """List the addresses in README and notebooks that name nothing here, and
    the first cells that would fetch another version than this."""
    lost, here = [], home(branch_of(root), *addresses(root))
    for file in [root / "README.md", *root.glob("chapters/**/*.ipynb")]:
        text = file.read_text("utf8")
        wrong = {*HOME.findall(text)} - {here}
        for address in {*ADDRESS.findall(text)}:
            if not arrives(address, file, pages, html):
                wrong.add(address)
        name = file.relative_to(root)
        lost += [f"{name}: {address}" for address in sorted(wrong)]
    return lost


def is_good(address: str) -> bool:
    """Tell whether an address of our repository, or of Colab, names a file
    of this branch or tag; one of any other site is taken as good."""
    path = unquote(re.split("[?#]", address)[0])
    if file := IN_REPOSITORY.fullmatch(path):
        return file[1] == OUR_BRANCH and (ROOT / file[2]).exists()
    return not path.startswith(f"{COLAB}/")


if __name__ == "__main__":
    sys.exit(main())
