"""What the papers beside the book say is so: the README, the house's map, the
changelog, the citation and the guide; and what GitHub's workflows run is
ours, and runs by hand too. `make lint` lets actionlint look at them."""

import re
import tomllib
from pathlib import Path
from pkgutil import resolve_name

import architecture
import pytest
import yaml
from packages import PACKAGES

import tformer_lite
from tests.helpers.house import MODEL, SITTING
from tests.helpers.project import ROOT


def paper(name: str) -> str:
    return (ROOT / name).read_text("utf8")


PROJECT = tomllib.loads(paper("pyproject.toml"))["project"]
CITATION = yaml.safe_load(paper("CITATION.cff"))
GUIDE, PAGE = paper("CONTRIBUTING.md"), paper("ARCHITECTURE.md")
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
    listed = re.findall(r'@echo "make ([a-z]+)', paper("Makefile"))
    assert {*listed} <= {*TARGETS}


@pytest.mark.parametrize(
    ("name", "most"),
    [("README.md", 120), ("CONTRIBUTING.md", 150), ("CHANGELOG.md", None)],
)
def test_a_paper_is_short_and_the_files_that_it_names_exist(name, most):
    assert most is None or len(paper(name).splitlines()) <= most
    links = re.findall(r"\]\((?!https?:)([^)]+)\)", paper(name))
    paths = re.findall(r"`((?:tformer_lite|tests|book)/[\w./]+)`", paper(name))
    assert links + paths
    assert [x for x in links + paths if not (ROOT / x).exists()] == []


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


def test_the_arrows_on_the_page_are_the_imports():
    arrows = re.findall(r"^  (\S+) --> (\S+)$", PAGE, re.M)
    assert arrows == architecture.direct(architecture.imports())


# --- workflows --------------------------------------------------------------

WORKFLOWS = {
    file.stem: yaml.safe_load(file.read_text("utf8"))
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
JOBS = {
    f"{name}: {title}": job
    for name, workflow in WORKFLOWS.items()
    for title, job in workflow["jobs"].items()
}
# All that a job may do besides reading.
RIGHTS = {
    "nightly: report": {"issues": "write"},
    "pages: deploy": {"pages": "write", "id-token": "write"},
    "release: pypi": {"id-token": "write"},
    "release: github": {"contents": "write"},
}
WINDOWS = "python book/_tools/extras.py alone"  # there is no make


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_what_a_job_runs_is_a_target_of_make(job):
    """But on Windows; and whatever its matrix puts in."""
    commands = {f"make {target}" for target in TARGETS}
    commands |= {WINDOWS} if job["runs-on"].startswith("windows") else set()
    target = "${{ matrix.target }}"
    matrix = job.get("strategy", {}).get("matrix", {})
    runs = [step["run"] for step in job["steps"] if "run" in step]
    for name in matrix.get("target", [target]):
        assert {run.replace(target, name) for run in runs} <= commands


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_few_rights_ends_in_time_and_keeps_no_credentials(name):
    job = JOBS[name]
    asked = job.get("permissions", {})
    writes = {k: v for k, v in asked.items() if v != "read"}
    assert writes == RIGHTS.get(name, {})
    assert job["timeout-minutes"] <= 120
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False
