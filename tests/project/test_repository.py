"""What sets a checkout up: its environment, in which what cannot work is said
in one sentence, not in a traceback; the addresses of the repository and of the
site, and the version that links and notebooks belong to: one place each,
copies that follow, one command."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import environment
import notebooks
import pytest
import yaml
from repository import addresses

from tests.helpers.project import ROOT, copy_project, project_files, run

pytestmark = pytest.mark.full

TOOL = "book/_tools/environment.py"
OLD_PYTHON = """#!/bin/sh
exec "{python}" -c "
import runpy, sys
sys.version_info = (3, 9, 6, 'final', 0)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')" "$@"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The few files that setting up reads."""
    files = "Makefile", "requirements.txt", "book/requirements.txt", TOOL
    for name in (*files, "book/constraints.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_old_python_is_told_what_to_do(folder):
    old = folder / "python3.9"
    old.write_text(OLD_PYTHON.format(python=sys.executable))
    old.chmod(0o755)
    make = ["make", "book", f"PYTHON={old}"]
    done = subprocess.run(make, capture_output=True, text=True)
    assert done.returncode
    assert "Traceback" not in done.stderr
    said = "this is Python 3.9, and the book needs 3.11 or newer"
    assert said in done.stderr
    assert "make book PYTHON=" in done.stderr
    assert not (folder / ".venv").exists()
    source = (ROOT / TOOL).read_text()  # which old ones can read
    assert not [new for new in ('f"', "match ", ":=") if new in source]


@pytest.mark.parametrize(
    ("broken", "gigabytes", "says"),
    [
        ("venv", 0, "venv module"),
        ("pip", 0, "above, pip says what it lacks"),
        ("disk", 1e6, "GB are free on this disk, and 1000000 GB are needed"),
    ],
)
def test_what_fails_is_said_in_a_sentence(
    broken, gigabytes, says, folder, monkeypatch
):
    monkeypatch.setattr(
        subprocess, "call", lambda words, **_: int(words[2] == broken)
    )
    with pytest.raises(SystemExit, match=f"Cannot set up: .*{says}"):
        environment.main(".venv", "nothing.txt", gigabytes)


@pytest.mark.parametrize(
    ("left", "commands"), [("pip", 2), ("python", 2), ("pip python", 1)]
)
def test_what_a_failed_attempt_left_behind_is_made_anew(
    left, commands, folder, monkeypatch
):
    Path(".venv/bin").mkdir(parents=True)
    Path(".venv/bin/python").symlink_to("nowhere")  # is as good as none
    for name in left.split():
        Path(".venv/bin", name).unlink(missing_ok=True)
        Path(".venv/bin", name).touch()
    done = []
    monkeypatch.setattr(subprocess, "call", lambda x, **_: done.append(x))
    environment.main(".venv", "nothing.txt", 0)
    anew = [sys.executable, "-m", "venv", "--clear", ".venv"]
    assert (anew in done) == (commands == 2)
    assert len(done) == commands


# --- addresses and versions --------------------------------------------------

# In parts, so that this file does not hold them.
NEW = "/".join(["https://git.example.org", "some_one", "a-book.2"])
SITE = "/".join(["https://books.example.org", "shapes"])
HUB = "/".join(["https://github.com", "Some-One", "a.book"])
HUBS_SITE = "/".join(["https://Some-One.github.io", "a.book"])
OURS = "tformer_lite", "shapewatch", "classroom"
# Where a page or a notebook sends a reader: the repository, or the site.
HOME = r"https://[\w.]+/[\w-]+/{}(?![\w-])"
PAGES = r"https://[\w.-]+/{}(?![\w-])"
# The place that a first cell fetches from, in either half of a chapter.
FETCHED = re.compile(r'\bHOME = \\?"([^"\\]+)')


def call(root: Path, *words: str) -> subprocess.CompletedProcess:
    """Call the project's own tool, with bare Python."""
    file = root / "book" / "_tools" / "repository.py"
    return run(root, sys.executable, "-S", file, *words)


def texts(root: Path) -> dict[Path, str]:
    """Every file of a project that is text."""
    contents = {file: file.read_bytes() for file in project_files(root)}
    return {
        file.relative_to(root): content.decode("utf8")
        for file, content in contents.items()
        if b"\0" not in content
    }


def homes(root: Path) -> set[str]:
    """The places that the first cells of a project fetch from."""
    chapters = [x for f, x in texts(root).items() if f.parts[0] == "chapters"]
    return {place for text in chapters for place in FETCHED.findall(text)}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the project; each test puts it back as it was."""
    copy = copy_project(tmp_path_factory.mktemp("copy"))
    before = texts(copy)
    yield copy
    changed = {f for f, text in texts(copy).items() if text != before[f]}
    numbered = {f"{package}/__init__.py" for package in OURS}
    numbered |= {"CITATION.cff", "classroom/pyproject.toml", "pyproject.toml"}
    assert {*map(str, changed)} == numbered  # a version's number stays


def test_every_copy_of_an_address_is_the_one_in_pyproject():
    url, site = addresses(ROOT)
    files = [x for f, x in texts(ROOT).items() if f.parts[0] != "tests"]
    name = url.rpartition("/")[2]
    repositories = re.findall(HOME.format(name), "\n".join(files))
    pages = re.findall(PAGES.format(name), "\n".join(files))
    assert ({*repositories}, {*pages}) == ({url}, {site})
    assert min(len(repositories), len(pages)) > 10


def test_a_new_address_leaves_no_trace_of_the_old_one(copy):
    """The witness is a search for OWNER/NAME, and for the site's host,
    whatever stands around them. And the way back restores every byte."""
    old = addresses(copy)
    longer = copy / "other.md"  # begins alike, and is of somebody else
    longer.write_text(f"{old[0]}-2 {old[0]}/issues")
    done = call(copy, NEW, SITE)
    assert done.returncode == 0, done.stderr
    assert addresses(copy) == (NEW, SITE)
    assert longer.read_text() == f"{old[0]}-2 {NEW}/issues"
    longer.unlink()
    assert homes(copy) == {SITE}
    for text in (copy / "chapters").glob("*.md"):  # the pair is still one
        notebook = json.loads(text.with_suffix(".ipynb").read_text())
        wanted = notebooks.chapter_of(text).cells
        new = [(x["id"], "".join(x["source"])) for x in notebook["cells"]]
        assert new == [(cell.id, cell.source) for cell in wanted]
    traces = old[0].split("/", 3)[3], old[1]
    for file, text in texts(copy).items():
        assert not [trace for trace in traces if trace in text], file
    call(copy, HUB)  # whose site is known
    assert addresses(copy)[1] == HUBS_SITE
    assert call(copy, *old).returncode == 0


@pytest.mark.parametrize(
    "places",
    [
        ["http://github.com/owner/name"],
        ["https://github.com/owner/name\n"],
        [NEW, ""],
        [NEW, f"{SITE}/"],
        ["v2.0.1"],
    ],
)
def test_what_is_no_place_is_refused_in_one_sentence(places, copy):
    """In a copy: what is not refused is written."""
    refused = call(copy, *places)
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{places[-1]!r} is no place: write a r")
    assert refused.stderr.count("\n") == 1


def test_a_release_pins_everything_and_main_takes_it_back(copy):
    url, site = addresses(copy)
    for version, tag, home in (
        ("2.0.1", "v2.0.1", f"{url}/releases/download/v2.0.1"),
        ("main", "main", site),
    ):
        assert call(copy, version).returncode == 0
        config = yaml.safe_load((copy / "_config.yml").read_text("utf8"))
        assert config["repository"]["branch"] == tag
        assert homes(copy) == {home}
        module = (copy / "tformer_lite" / "__init__.py").read_text("utf8")
        assert '__version__ = "2.0.1"' in module
