"""The repository's address: one place, copies that follow, one command."""

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

pytestmark = pytest.mark.slow

# In parts, so that this file does not hold it.
NEW = "/".join(["https://git.example.org", "some_one", "a-book.2"])
# Where a reader, or a machine, is sent to this repository.
COPIES = (
    r'^\s*"?HOME = \\?"([^"\\]+)',
    r"\bgit\+(https://[\w./-]+)",
    r"\bgit clone (https://[\w./-]+)",
)
COLAB = r"colab\.research\.google\.com/github/([\w.-]+/[\w.-]+)"


def move(root: Path, url: str) -> subprocess.CompletedProcess:
    """Set the address with the project's own command, and bare Python."""
    tool = root / "book" / "_tools" / "repository.py"
    return run(root, sys.executable, "-S", tool, url)


def address(root: Path) -> str:
    """The address in the one place."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf8"))
    return project["project"]["urls"]["Repository"]


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
    return found


def test_every_copy_of_the_address_is_the_one_in_pyproject():
    assert strays(ROOT) == []


def test_every_chapter_knows_the_address():
    chapters = [f for f in project_files(ROOT) if f.parent.name == "chapters"]
    for file in chapters:
        if file.suffix in {".md", ".ipynb"}:
            assert address(ROOT) in file.read_text("utf8"), file.name


def test_a_new_address_leaves_no_trace_of_the_old_one(tmp_path):
    """The witness is a search for OWNER/NAME, whatever stands around it."""
    copy = copy_project(tmp_path)
    old = address(copy)
    done = move(copy, NEW)
    assert done.returncode == 0, done.stderr
    assert address(copy) == NEW
    assert strays(copy) == []
    trace = old.split("/", 3)[3]
    assert [file for file, text in texts(copy).items() if trace in text] == []


def test_the_way_back_restores_every_byte(tmp_path):
    copy = copy_project(tmp_path)
    before, old = texts(copy), address(copy)
    move(copy, NEW)
    assert texts(copy) != before
    assert move(copy, old).returncode == 0
    assert texts(copy) == before


def test_a_new_address_keeps_text_and_notebook_a_pair(tmp_path):
    """The witness is the tool that makes notebooks from texts."""
    copy = copy_project(tmp_path)
    move(copy, NEW)
    for text in (copy / "chapters").glob("*.md"):
        notebook = json.loads(text.with_suffix(".ipynb").read_text())
        wanted = notebooks.read(text)
        cells = notebook["cells"]
        new = [(cell["id"], "".join(cell["source"])) for cell in cells]
        assert new == [(cell.id, cell.source) for cell in wanted.cells]
        assert notebook["metadata"] == wanted.metadata


def test_longer_addresses_that_begin_alike_are_left_alone(tmp_path):
    copy = copy_project(tmp_path)
    other = copy / "other.md"
    other.write_text(f"{address(copy)}-2 {address(copy)}/issues")
    line = f"{address(copy)}-2 {NEW}/issues"
    move(copy, NEW)
    assert other.read_text() == line


@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://github.com/owner/name",
        "https://github.com/owner",
        "https://github.com/owner/name/",
        "https://github.com/owner/name.git",
        "https://github.com/owner/name/tree/main",
        "https://github/owner/name",
        'https://github.com/owner/na"me',
        "git@github.com:owner/name",
        "github.com/owner/name",
        "https://github.com/owner/name\n",
    ],
)
def test_what_is_not_an_address_is_refused_in_one_sentence(url, tmp_path):
    copy = copy_project(tmp_path)
    before = texts(copy)
    refused = move(copy, url)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{url!r} is not a repository's address:")
    assert refused.stderr.count("\n") == 1
    assert texts(copy) == before


def test_outside_a_repository_it_says_what_to_do(tmp_path):
    copy = copy_project(tmp_path)
    shutil.rmtree(copy / ".git")
    refused = move(copy, NEW)
    assert refused.returncode == 1
    assert "run `git init` here first." in refused.stderr
