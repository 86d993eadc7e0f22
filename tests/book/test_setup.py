"""The first cell of every chapter makes the packages importable."""

import ast
import re
import sys
import zipfile
from pathlib import Path

import nbformat
import packages
import pytest

from tests.helpers.project import (
    EXERCISES,
    HOME,
    NOTEBOOKS,
    ROOT,
    every_notebook,
    project_files,
    run,
    setup_cell,
    setup_source,
)

NOTHING = "file:///nowhere"
kinds = pytest.mark.parametrize(
    ("chapter", "archive"),
    [*zip([NOTEBOOKS[0], EXERCISES[0]], packages.ARCHIVES)],
    ids=["a chapter", "exercises"],
)


@pytest.mark.slow
@kinds
def test_without_the_repository_the_first_cell_says_what_to_do(
    chapter, archive, tmp_path
):
    """Nor any package installed: -S leaves out what is."""
    source = setup_source(NOTHING, chapter)
    done = run(tmp_path, sys.executable, "-S", "-c", source)
    said = done.stderr.splitlines()[-1]
    assert said.startswith(f"ImportError: no {archive} from {NOTHING}: ")
    assert said.endswith("connect to the network and run this cell again")
    assert not re.search(r"[.!?] ", said), "more than one sentence"


@pytest.mark.slow
@kinds
def test_in_a_checkout_the_first_cell_uses_the_checkout(
    chapter, archive, checkout, tmp_path
):
    """Even when some other tformer_lite is installed, or not reachable; and
    wherever in it the kernel starts."""
    other = tmp_path / "tformer_lite"
    other.mkdir()
    (other / "__init__.py").touch()
    find = f"""\
import sys
sys.path.insert(1, {str(tmp_path)!r})
{setup_source(NOTHING, chapter)}
for name in {packages.ARCHIVES[archive]}:
    print(find_spec(name).origin)
"""
    homes = [checkout / f.relative_to(packages.ROOT) for f in places(archive)]
    for folder in checkout, checkout / "chapters" / "exercises":
        done = run(folder, sys.executable, "-S", "-c", find)
        assert [Path(x) for x in done.stdout.split()] == homes, done.stderr


def places(archive: str) -> list[Path]:
    """Where the packages of an archive begin."""
    found = {
        name: packages.PACKAGES[name] for name in packages.ARCHIVES[archive]
    }
    return [above / name / "__init__.py" for name, above in found.items()]


@pytest.mark.slow
@every_notebook
def test_a_notebook_starts_with_the_hidden_setup_of_its_kind(chapter):
    first = EXERCISES[0] if chapter in EXERCISES else NOTEBOOKS[0]
    cell = setup_cell(chapter)
    assert cell.source == setup_cell(first).source
    assert len(HOME.findall(cell.source)) == 1
    assert len(cell.source.splitlines()) <= 22
    assert cell.metadata.tags == ["setup", "hide-cell"]


@pytest.mark.slow
@every_notebook
def test_what_a_notebook_imports_of_ours_is_in_its_archive(chapter):
    name = ["chapters.zip", "exercises.zip"][chapter in EXERCISES]
    nodes = [node for cell in code(chapter) for node in ast.walk(cell)]
    named = [x.module for x in nodes if isinstance(x, ast.ImportFrom)]
    plain = [x.names for x in nodes if isinstance(x, ast.Import)]
    named += [alias.name for names in plain for alias in names]
    ours = {x.split(".")[0] for x in named} & {*packages.PACKAGES}
    assert ours
    assert ours <= {*packages.ARCHIVES[name]}


def code(chapter: Path) -> list[ast.Module]:
    """The cells of a notebook that Python can read."""
    found = []
    for cell in nbformat.read(chapter, as_version=4).cells:
        lines = cell.source.splitlines()
        if cell.cell_type == "code" and not cell.source.startswith("%"):
            found.append(
                ast.parse("\n".join(x for x in lines if x[:1] != "%"))
            )
    return found


@pytest.mark.slow
def test_what_a_first_cell_fetches_is_small_and_has_all_it_needs(tmp_path):
    """A megabyte at most, with what git knows of the packages; and the same
    files give the same bytes."""
    for file in packages.write_archives(tmp_path):
        once = file.read_bytes()
        assert len(once) <= 1e6
        wanted = set()
        for package in packages.ARCHIVES[file.name]:
            above = packages.PACKAGES[package]
            known = project_files(ROOT)
            own = [f for f in known if f.is_relative_to(above / package)]
            wanted |= {f.relative_to(above).as_posix() for f in own}
        with zipfile.ZipFile(file) as archive:
            assert set(archive.namelist()) == wanted
    assert [f.read_bytes() for f in packages.write_archives(tmp_path)][
        -1
    ] == once
