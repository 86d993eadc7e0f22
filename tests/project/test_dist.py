"""What a release consists of: `make dist` writes it."""

import re
import tarfile
import tomllib
import zipfile

import dist
import nbformat
import packages
import pytest

import classroom
import shapewatch
import tformer_lite
from tests.helpers.project import (
    EXERCISES,
    NOTEBOOKS,
    ROOT,
    run,
)

NUMBER = tformer_lite.__version__
SDIST = f"tformer_lite-{NUMBER}.tar.gz"
BOOK = f"{dist.ARCHIVE_NAME}-{NUMBER}-notebooks.zip"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder that `make dist` has filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "DIST", tmp_path_factory.mktemp("all") / "dist")
        patch.delenv("TAG", raising=False)
        patch.chdir(ROOT)  # and back, wherever it goes
        assert dist.main() is None
        yield dist.DIST


@pytest.fixture(scope="module")
def packed(written) -> set[str]:
    """The names of the files in the sdist."""
    with tarfile.open(written / SDIST) as archive:
        names = archive.getnames()
    return {name.split("/", 1)[1] for name in names}


@pytest.fixture(scope="module")
def chapters(written) -> dict[str, str]:
    """The files in the zip, and what is in them."""
    with zipfile.ZipFile(written / BOOK) as archive:
        names = archive.namelist()
        return {n.split("/", 1)[1]: archive.read(n).decode() for n in names}


@pytest.mark.slow
def test_wheels_sdists_and_notebooks_are_written_and_nothing_else(written):
    names = {BOOK, *packages.ARCHIVES}
    for name in "tformer_lite", "shapewatch", "tformer_classroom":
        names |= {f"{name}-{NUMBER}-py3-none-any.whl"}
        names |= {f"{name}-{NUMBER}.tar.gz"}
    assert {file.name for file in written.iterdir()} == names


def test_the_packages_have_one_version():
    assert shapewatch.__version__ == classroom.__version__ == NUMBER
    for folder in ROOT, ROOT / "classroom":
        text = (folder / "pyproject.toml").read_text("utf8")
        needs = tomllib.loads(text)["project"]["dependencies"]
        ours = [x for x in needs if x.startswith(("shapewatch", "tformer"))]
        assert ours
        assert all(need.endswith(f"=={NUMBER}") for need in ours)


@pytest.mark.slow
def test_the_sdist_holds_what_the_repository_holds(packed):
    tracked = run(ROOT, "git", "ls-files", "-z").stdout.split("\0")
    there = {name for name in tracked if (ROOT / name).is_file()}
    assert there - packed == set(), "see [tool.hatch.build.targets.sdist]"


@pytest.mark.slow
def test_the_zip_holds_every_chapter_run_and_how_to_open_it(chapters):
    names = {f"chapters/{file.name}" for file in NOTEBOOKS}
    names |= {f"chapters/exercises/{file.name}" for file in EXERCISES}
    assert set(chapters) == {"README.md", "LICENSE"} | names
    for name in names:
        cells = nbformat.reads(chapters[name], as_version=4).cells
        assert any(cell.get("outputs") for cell in cells), name
    how = chapters["README.md"]
    (opened,) = re.findall(r"`jupyter lab (.+)`", how)
    assert opened in names
    assert "`pip install jupyterlab torch" in how
    assert how.count("#") == 1, "one section, and no more"


def test_a_tag_is_that_of_the_version_or_refused(monkeypatch):
    assert dist.tag_problem(None, "0.2.0") is None
    assert dist.tag_problem("v0.2.0", "0.2.0") is None
    said = dist.tag_problem("v0.3.0", "0.2.0")
    assert "'v0.3.0' is not that of version 0.2.0: tag v0.2.0" in said
    monkeypatch.setenv("TAG", "v9")
    assert "'v9' is not" in dist.main()
