"""What the papers beside the book say is so: the README, the house's map, the
changelog, the citation and the guide."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import architecture
import pytest
import yaml
from packages import PACKAGES

import tformer_lite
from tests.helpers.project import ROOT


def paper(name: str) -> str:
    return (ROOT / name).read_text("utf8")


PROJECT = tomllib.loads(paper("pyproject.toml"))["project"]
CITATION = yaml.safe_load(paper("CITATION.cff"))
GUIDE, PAGE = paper("CONTRIBUTING.md"), paper("ARCHITECTURE.md")
MODEL = ROOT / "tformer_lite" / "model"
SITTING = ["config", "masks", "layers", "attention", "models"]
TARGETS = re.findall(r"^([a-z]+):", paper("Makefile"), re.M)


def test_the_citation_names_this_book_version_and_place():
    config = yaml.safe_load(paper("_config.yml"))
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["title"] == config["title"]
    assert CITATION["authors"] == PROJECT["authors"]
    assert CITATION["keywords"] == PROJECT["keywords"]
    assert str(CITATION["version"]) == tformer_lite.__version__
    assert CITATION["repository-code"] == PROJECT["urls"]["Repository"]


def test_the_newest_version_in_the_changelog_is_the_modules():
    heads = re.findall(r"^## \[(.+?)\](.*)$", paper("CHANGELOG.md"), re.M)
    assert heads[0] == ("Unreleased", "")
    assert heads[1][0] == tformer_lite.__version__
    for _, date in heads[1:]:
        assert re.fullmatch(r" - \d{4}-\d\d-\d\d", date)


def test_every_target_of_make_is_explained_to_contributors():
    for target in set(TARGETS) - {"help", "clean"}:
        assert f"`make {target}" in GUIDE, target


def test_help_lists_ten_targets_that_there_are():
    listed = re.findall(r'@echo "make ([a-z]+)', paper("Makefile"))
    assert len(listed) == 10
    assert {*listed} <= {*TARGETS}


def test_the_papers_are_short():
    for name, most in {"README.md": 120, "CONTRIBUTING.md": 150}.items():
        assert len(paper(name).splitlines()) <= most, name


def test_the_files_that_the_papers_name_exist():
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "README.md"):
        text = paper(name)
        links = re.findall(r"\]\((?!https?:)([^)]+)\)", text)
        paths = re.findall(r"`((?:tformer_lite|tests|book)/[\w./]+)`", text)
        assert links + paths
        for path in links + paths:
            assert (ROOT / path).exists(), (name, path)


def test_the_names_that_the_guide_tells_to_change_exist():
    for file, names in {
        "tformer_lite/model/choices.py": ["PARTS"],
        "shapewatch/properties/reporting.py": ["CHECKS"],
        "tests/gallery/test_caught.py": ["EXPECTED"],
    }.items():
        for name in names:
            assert f"`{name}`" in GUIDE
            assert re.search(rf"^{name}(: [^=]+)? = ", paper(file), re.M), (
                file,
                name,
            )


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
        example = file.rpartition("/")[2].startswith("NN_name.")
        assert example or any(map(Path.exists, places)), file


def test_the_rooms_on_the_page_are_the_folders():
    assert set(re.findall(r"^\| `([\w.]+)` \|", PAGE, re.M)) == set(
        architecture.imports()
    )


@pytest.mark.parametrize("file", ["ARCHITECTURE.md", "README.md"])
def test_the_sitting_has_as_many_lines_as_a_page_says(file):
    code = [paper(f"tformer_lite/model/{name}.py") for name in SITTING]
    lines = sum(len(text.splitlines()) for text in code)
    text = " ".join(paper(file).split())
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
