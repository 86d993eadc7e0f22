"""The addresses of the repository and of the site, and the version that links
and notebooks belong to: one place each, copies that follow, one command."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import notebooks
import pytest
import yaml

from tests.helpers.project import ROOT, copy_project, project_files, run

pytestmark = pytest.mark.full

# In parts, so that this file does not hold them.
NEW = "/".join(["https://git.example.org", "some_one", "a-book.2"])
SITE = "/".join(["https://books.example.org", "shapes"])
# Where a reader, or a machine, is sent to this repository.
COPIES = (
    r"\bgit\+(https://[\w./-]+)",
    r"\bgit clone (https://[\w./-]+)",
)
COLAB = r"colab\.research\.google\.com/github/([\w.-]+/[\w.-]+)"


def call(root: Path, tool: str, *words: str) -> subprocess.CompletedProcess:
    """Call one of the project's own tools, with bare Python."""
    file = root / "book" / "_tools" / tool
    return run(root, sys.executable, "-S", file, *words)


def move(root: Path, *places: str) -> subprocess.CompletedProcess:
    return call(root, "repository.py", *places)


def address(root: Path, name: str = "Repository") -> str:
    """An address in the one place."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf8"))
    return project["project"]["urls"][name]


def texts(root: Path) -> dict[Path, str]:
    """Every file of a project that is text."""
    found = {}
    for file in project_files(root):
        content = file.read_bytes()
        if b"\0" not in content:
            found[file.relative_to(root)] = content.decode("utf8")
    return found


def strays(root: Path) -> list[tuple]:
    """The copies of the address that are not the one in pyproject.toml."""
    url, found = address(root), []
    owner_and_name = url.split("/", 3)[3]
    for file, text in texts(root).items():
        if file.parts[0] == "tests":
            continue
        for copy in COPIES:
            copies = re.findall(copy, text, re.MULTILINE)
            found += [(file, c) for c in copies if c != url]
        links = re.findall(COLAB, text)
        found += [(file, link) for link in links if link != owner_and_name]
    config = yaml.safe_load((root / "_config.yml").read_text("utf8"))
    if config["repository"]["url"] != url:
        found.append(("_config.yml", config["repository"]["url"]))
    citation = yaml.safe_load((root / "CITATION.cff").read_text("utf8"))
    if citation["repository-code"] != url:
        found.append(("CITATION.cff", citation["repository-code"]))
    site = address(root, "Homepage")
    sites = [config["html"]["baseurl"], *terms_at(root), *fetched(root)]
    return found + [("the site", other) for other in sites if other != site]


def fetched(root: Path) -> set[str]:
    """The places that first cells fetch from, in both halves of a chapter."""
    place = re.compile(r'\bHOME = \\?"([^"\\]+)')
    files = [f for f in texts(root).items() if f[0].parts[0] == "chapters"]
    return {found for _, text in files for found in place.findall(text)}


def terms_at(root: Path) -> set[str]:
    """The sites to which the notebooks' terms lead."""
    books = (root / "chapters").glob("*.ipynb")
    link = re.compile(r'class=\\"term\\" href=\\"([^"]+)/book/glossary')
    return {site for b in books for site in link.findall(b.read_text("utf8"))}


def test_every_copy_of_the_address_is_the_one_in_pyproject():
    assert strays(ROOT) == []


def test_a_new_address_leaves_no_trace_of_the_old_one(tmp_path):
    """The witness is a search for OWNER/NAME, and for the site's host,
    whatever stands around them."""
    copy = copy_project(tmp_path)
    other = copy / "other.md"  # longer, and of somebody else
    other.write_text(f"{address(copy)}-2 {address(copy)}/issues")
    kept = f"{address(copy)}-2"
    traces = address(copy).split("/", 3)[3], address(copy, "Homepage")
    done = move(copy, NEW, SITE)
    assert done.returncode == 0, done.stderr
    assert [address(copy), address(copy, "Homepage")] == [NEW, SITE]
    assert strays(copy) == []
    assert terms_at(copy) == {SITE}
    assert other.read_text() == f"{kept} {NEW}/issues"
    other.unlink()
    for file, text in texts(copy).items():
        assert not [trace for trace in traces if trace in text], file
    picture = f"]({NEW}/raw/main/book/_static/preview.png)"
    assert picture in (copy / "README.md").read_text("utf8")


def test_the_site_of_a_repository_on_github_is_known(tmp_path):
    copy = copy_project(tmp_path)
    move(copy, "https://github.com/Some-One/a.book")
    assert address(copy, "Homepage") == "https://Some-One.github.io/a.book"


def test_the_way_back_restores_every_byte(tmp_path):
    copy = copy_project(tmp_path)
    before, old = texts(copy), [address(copy), address(copy, "Homepage")]
    move(copy, NEW, SITE)
    assert texts(copy) != before
    assert move(copy, *old).returncode == 0
    assert texts(copy) == before


def test_a_new_address_keeps_text_and_notebook_a_pair(tmp_path):
    """The witness is the tool that makes notebooks from texts."""
    copy = copy_project(tmp_path)
    move(copy, NEW, SITE)
    call(copy, "version.py", "2.0.1")
    for text in (copy / "chapters").glob("*.md"):
        notebook = json.loads(text.with_suffix(".ipynb").read_text())
        wanted = notebooks.chapter_of(text)
        cells = notebook["cells"]
        new = [(cell["id"], "".join(cell["source"])) for cell in cells]
        assert new == [(cell.id, cell.source) for cell in wanted.cells]
        assert notebook["metadata"] == wanted.metadata


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://github.com/owner/name",
        "https://github.com/owner/name.git",
        "https://github.com/owner/name/tree/main",
        'https://github.com/owner/na"me',
        "https://github.com/owner/name\n",
    ],
)
def test_what_is_not_an_address_is_refused_in_one_sentence(url):
    refused = move(ROOT, url, SITE)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{url!r} is not a repository's address:")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("site", ["", "books.example.org", f"{SITE}/"])
def test_a_site_elsewhere_has_to_be_named(site):
    refused = move(ROOT, NEW, site)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{site!r} is not a site's address:")


def test_outside_a_repository_it_says_what_to_do(tmp_path):
    copy = copy_project(tmp_path)
    shutil.rmtree(copy / ".git")
    refused = move(copy, NEW, SITE)
    assert refused.returncode == 1
    assert "run `git init` here first." in refused.stderr


def versions(root: Path) -> set[str]:
    """What the chapters, in both halves, and the Colab buttons belong to."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf8"))
    cells = {x.partition("/releases/download/")[2] for x in fetched(root)}
    return {config["repository"]["branch"], *(x or "main" for x in cells)}


def test_a_release_pins_everything_and_main_takes_it_back(tmp_path):
    copy = copy_project(tmp_path)
    before = texts(copy)
    assert versions(copy) == {"main"}
    assert call(copy, "version.py", "2.0.1").returncode == 0
    assert versions(copy) == {"v2.0.1"}
    module = (copy / "tformer_lite" / "__init__.py").read_text("utf8")
    assert '__version__ = "2.0.1"' in module
    call(copy, "version.py", "main")
    assert versions(copy) == {"main"}
    changed = [f for f, text in texts(copy).items() if text != before[f]]
    assert {*map(str, changed)} == {
        "CITATION.cff",
        "classroom/__init__.py",
        "classroom/pyproject.toml",
        "pyproject.toml",
        "shapewatch/__init__.py",
        "tformer_lite/__init__.py",
    }


@pytest.mark.parametrize("version", ["", "v2.0.1", "2.0"])
def test_what_is_no_version_is_refused(version):
    refused = call(ROOT, "version.py", version)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{version!r} is no version: write")
