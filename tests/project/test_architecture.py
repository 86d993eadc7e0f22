"""What ARCHITECTURE.md, the README and the introduction say of the house."""

import re
from pathlib import Path
from pkgutil import resolve_name

import architecture
import pytest
from packages import PACKAGES

from tests.helpers.project import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf8")
MODEL = ROOT / "tformer_lite" / "model"
SITTING = [
    MODEL / f"{name}.py"
    for name in ("config", "masks", "layers", "attention", "models")
]
ROOMS = set(architecture.imports())


def test_the_names_on_the_page_exist():
    names = re.findall(r"`(\w+(?:\.\w+)+)`", PAGE)
    names = [name for name in names if name.split(".")[0] in PACKAGES]
    assert len(names) > 20
    for name in names:
        resolve_name(name)


def test_the_files_on_the_page_exist():
    files = re.findall(r"`([\w/]+/[\w.]*|\w+\.py)`", PAGE)
    files += re.findall(r"\]\(([\w/.]+)\)", PAGE)
    assert len(files) > 10
    for file in files:
        places = ROOT / file, ROOT / "tformer_lite" / file, MODEL / file
        example = file.startswith("chapters/NN") or file == "NN_name.ipynb"
        assert example or any(map(Path.exists, places)), file


def test_the_rooms_on_the_page_are_the_folders():
    assert set(re.findall(r"^\| `([\w.]+)` \|", PAGE, re.M)) == ROOMS


@pytest.mark.parametrize(
    "file", ["ARCHITECTURE.md", "README.md", "book/intro.md"]
)
def test_the_sitting_has_as_many_lines_as_a_page_says(file):
    lines = sum(len(f.read_text("utf8").splitlines()) for f in SITTING)
    text = " ".join((ROOT / file).read_text("utf8").split())
    assert re.findall(r"some (\d+) lines", text) == [str(round(lines, -1))]


def test_the_picture_says_what_imports_there_are():
    stored = architecture.PICTURE.read_text("utf8")
    said = architecture.sentence(architecture.imports())
    assert said in stored, "imports have changed: run `make picture`"


@pytest.mark.full
def test_the_picture_is_drawn_from_the_imports_as_they_are():
    drawn = architecture.svg_text(architecture.imports())
    stored = architecture.PICTURE.read_text("utf8")
    assert stored == drawn, "imports have changed: run `make picture`"


def test_an_arrow_that_others_stand_for_is_left_out():
    arrows = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert architecture.direct(arrows) == [("a", "b"), ("b", "c")]
