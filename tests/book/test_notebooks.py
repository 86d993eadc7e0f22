"""The tool that runs the chapters: only what changed, the same bytes."""

import nbformat
import notebooks
import pytest

pytestmark = pytest.mark.full

SMALL = """---
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---

# A title

```{code-cell} ipython3
import sys
for i in range(3):
    print(i, flush=True)
    print("warned", file=sys.stderr, flush=True) if i < 0 else None
{"b": 1, "a": 2}
```

```{code-cell} ipython3
1 + 1
```

```{code-cell} ipython3
1 + 1
```
"""


@pytest.fixture
def small(tmp_path):
    """A book of one small chapter, and its notebook's path."""
    (tmp_path / "chapters").mkdir()
    (tmp_path / "tformer_lite").mkdir()
    (tmp_path / "tformer_lite" / "a.py").write_text("x = 1\n")
    (tmp_path / "chapters" / "00_small.md").write_text(SMALL)
    return tmp_path, tmp_path / "chapters" / "00_small.ipynb"


def test_a_notebook_is_run_only_when_something_changed(small, capsys):
    root, path = small
    main = notebooks.main
    main(root)
    once = path.read_bytes()
    assert "running" in capsys.readouterr().out
    main(root)
    assert capsys.readouterr().out == ""

    for note in (root / "_build" / "notebooks").iterdir():
        note.unlink()
    main(root)
    assert "running" in capsys.readouterr().out
    assert path.read_bytes() == once, "a second run gives other bytes"

    for name, content in ("a.py", b"x = 2\n"), ("weights.pt", b"\xa7"):
        (root / "tformer_lite" / name).write_bytes(content)
        main(root)
        assert "running" in capsys.readouterr().out
    (root / "tformer_lite" / "a.pyc").write_bytes(b"\xa7")
    main(root)
    assert capsys.readouterr().out == ""

    text = root / "chapters" / "00_small.md"
    text.write_text(SMALL.replace("1 + 1", "1 + 2"))
    main(root)
    assert "running" in capsys.readouterr().out
    outputs = nbformat.read(path, as_version=4).cells[-1].outputs
    assert outputs[0].data["text/plain"] == "3"


def test_cell_ids_differ_and_depend_on_the_text_alone(small):
    root, _ = small
    text = root / "chapters" / "00_small.md"
    once, twice = (notebooks.chapter_of(text).cells for _ in range(2))
    ids = [cell.id for cell in once]
    assert ids == [cell.id for cell in twice]
    assert len(set(ids)) == len(ids)
