"""A line, and what it gives a call, is shown only where it is what runs."""

import importlib
import linecache
import sys
from types import CodeType

import pytest
import torch

from shapewatch.tracing.source.expressions import argument_texts
from tformer_lite import trace


def test_a_file_that_was_edited_since_shows_no_other_line(
    tmp_path, monkeypatch
):
    """Each line is a whole one, and stands where another stood."""
    lines = ["def f(x):", "    a = x + 1", "    b = x * 2", "    return a @ b"]
    file = tmp_path / "edited_model.py"
    file.write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(linecache, "cache", {})  # others keep their lines
    model = importlib.import_module("edited_model")
    file.write_text("\n".join([lines[0], lines[2], lines[1], lines[3]]))
    linecache.clearcache()
    seen = trace(model.f, torch.ones(2, 2), keep=True)
    assert [row.call for row in seen.calls().rows] == ["add", "mul", "matmul"]
    with pytest.raises(KeyError, match="no line binds ':a'"):
        seen[":a"]
    with pytest.raises(ValueError, match="load it again and trace again"):
        seen.source(model.f)
    file.write_text("\n".join(lines))
    linecache.clearcache()
    seen = trace(model.f, torch.ones(2, 2), keep=True)
    assert seen.calls().rows[0].call == "a = x + 1"
    assert seen[":a"].equal(torch.full((2, 2), 2.0))
    assert "a = x + 1     # (2?, 2?)" in str(seen.source(model.f))


def cell(name: str, text: str, monkeypatch) -> CodeType:
    """Compile a cell as IPython does; its lines are those of `name`."""
    lines = text.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (1, None, lines, name))
    return compile(text, name, "exec")


def test_a_cell_that_is_run_again_is_the_same_and_its_copy_is_another(
    monkeypatch,
):
    text = "def f(x):\n    return x[0]\n"
    code, copy = (cell(name, text, monkeypatch) for name in ("one", "two"))
    first, again, other = {}, {}, {}
    exec(code, first)
    exec(cell("one", text, monkeypatch), again)
    exec(copy, other)
    seen = trace(first["f"], torch.ones(2, 3))
    assert str(seen.source(again["f"])) == str(seen.source(first["f"]))
    with pytest.raises(ValueError, match="f made no tensor in this run"):
        seen.source(other["f"])


def seen_from(*values, **options) -> list[str]:
    return argument_texts(sys._getframe(1))


def test_arguments_are_read_as_they_are_written_or_left_out():
    थिएन = torch.zeros(2, 3)
    texts = seen_from(
        थिएन[0, 1],
        -थिएन.mT, mask=None)  # fmt: skip
    assert texts == ["थिएन[0, 1]", "-थिएन.mT"]
    assert seen_from(*[1, 2]) == []
    assert eval("seen_from(1)") == []
