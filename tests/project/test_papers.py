"""What the papers beside the README say is so: changelog, citation, guide."""

import re
import tomllib

import yaml

import tformer_lite
from tests.helpers.project import ROOT


def paper(name: str) -> str:
    return (ROOT / name).read_text("utf8")


PROJECT = tomllib.loads(paper("pyproject.toml"))["project"]
CITATION = yaml.safe_load(paper("CITATION.cff"))
GUIDE = paper("CONTRIBUTING.md")


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
    targets = re.findall(r"^([a-z]+):", paper("Makefile"), re.M)
    for target in set(targets) - {"help", "clean"}:
        assert f"`make {target}" in GUIDE, target


def test_help_lists_ten_targets_that_there_are():
    targets = re.findall(r"^([a-z]+):", paper("Makefile"), re.M)
    listed = re.findall(r'@echo "make ([a-z]+)', paper("Makefile"))
    assert len(listed) == 10
    assert {*listed} <= {*targets}


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
