"""The first cell of every chapter makes the module importable."""

import re
import sys

from tests.helpers.project import (
    HOME,
    NOTEBOOKS,
    every_notebook,
    run,
    setup_cell,
    setup_source,
)

NOTHING = "file:///nowhere"


def test_without_the_repository_the_first_cell_says_what_to_do(tmp_path):
    """Nor any module installed: -S leaves out what is."""
    done = run(tmp_path, sys.executable, "-S", "-c", setup_source(NOTHING))
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ImportError: tformer_lite could not be fetched")
    assert "connect to the network and run this cell again" in said
    assert said.endswith(f"in a copy of {NOTHING}.")
    assert not re.search(r"[.!?] ", said), "more than one sentence"


def test_in_a_checkout_the_first_cell_uses_the_checkout(checkout, tmp_path):
    """Even when some other tformer_lite is installed, or not reachable."""
    other = tmp_path / "tformer_lite"
    other.mkdir()
    (other / "__init__.py").touch()
    find = f"""\
import sys
sys.path.insert(1, {str(tmp_path)!r})
{setup_source(NOTHING)}
print(importlib.util.find_spec("tformer_lite").origin)
"""
    done = run(checkout / "chapters", sys.executable, "-c", find)
    found = checkout / "tformer_lite" / "__init__.py"
    assert done.stdout.strip() == str(found), done.stderr


@every_notebook
def test_every_notebook_starts_with_the_same_hidden_setup(chapter):
    cell, first = setup_cell(chapter), setup_cell(NOTEBOOKS[0])
    assert cell.source == first.source
    assert len(HOME.findall(cell.source)) == 1
    assert cell.metadata.tags == ["setup", "hide-cell"]
