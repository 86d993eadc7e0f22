"""The first cell of every chapter makes the packages importable."""

import re
import sys
import zipfile
from pathlib import Path

import nbformat
import packages
import pytest
from architecture import imported_names

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

pytestmark = pytest.mark.slow

NOTHING = "file:///nowhere"
kinds = pytest.mark.parametrize(
    ("chapter", "archive"),
    [*zip([NOTEBOOKS[0], EXERCISES[0]], packages.ARCHIVES)],
    ids=["a chapter", "exercises"],
)


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
    homes = []
    for name in packages.ARCHIVES[archive]:
        above = packages.PACKAGES[name].relative_to(ROOT)
        homes.append(checkout / above / name / "__init__.py")
    for folder in checkout, checkout / "chapters" / "exercises":
        done = run(folder, sys.executable, "-S", "-c", find)
        assert [Path(x) for x in done.stdout.split()] == homes, done.stderr


@every_notebook
def test_a_notebook_starts_with_the_hidden_setup_of_its_kind(chapter):
    first = EXERCISES[0] if chapter in EXERCISES else NOTEBOOKS[0]
    cell = setup_cell(chapter)
    assert cell.source == setup_cell(first).source
    assert len(HOME.findall(cell.source)) == 1
    assert len(cell.source.splitlines()) <= 22
    assert cell.metadata.tags == ["setup", "remove-cell"]


@every_notebook
def test_what_a_notebook_imports_of_ours_is_in_its_archive(chapter):
    cells = nbformat.read(chapter, as_version=4).cells
    code = "\n".join(c.source for c in cells if c.cell_type == "code")
    imports = imported_names(re.sub("(?m)^ *[%!].*", "", code))
    ours = {x.split(".")[0] for x in imports} & {*packages.PACKAGES}
    name = ["chapters.zip", "exercises.zip"][chapter in EXERCISES]
    assert ours
    assert ours <= {*packages.ARCHIVES[name]}


def test_what_a_first_cell_fetches_is_small_and_has_all_it_needs(tmp_path):
    """Less than a megabyte, with what git knows of the packages."""
    for file in packages.write_archives(tmp_path):
        assert file.stat().st_size < 1e6
        wanted = set()
        for package in packages.ARCHIVES[file.name]:
            above = packages.PACKAGES[package]
            known = project_files(ROOT)
            own = [f for f in known if f.is_relative_to(above / package)]
            wanted |= {f.relative_to(above).as_posix() for f in own}
        if "pictures" in packages.ARCHIVES[file.name]:
            wanted.add(packages.ONE_FILE.name)
        else:
            left_out = filter(packages.NOT_ASKED_FOR.fullmatch, wanted)
            wanted = wanted - {*left_out}
        if "classroom" in packages.ARCHIVES[file.name]:
            shelves = (
                ROOT / "chapters/exercises",
                ROOT / "chapters/assignments",
            )
            own = [f for f in known if f.parent in shelves]
            wanted |= {
                f"classroom/exercises/{f.name}"
                for f in own
                if f.suffix in {".md", ".toml", ".xz"}
            }
        with zipfile.ZipFile(file) as archive:
            assert set(archive.namelist()) == wanted
