"""The same run prints the same bytes, wherever its code was written."""

import json
import os
import re
import sys
from ast import literal_eval
from pathlib import Path
from unittest.mock import patch

import nbformat
import pytest
from nbclient import NotebookClient

from tests.helpers.project import ROOT, run

pytestmark = pytest.mark.full

MODEL = '''
import math
from pathlib import Path
import torch
from torch import nn
from tformer_lite import heatmap, trace

def शब्दहरू(x):
    return x * 2  # 🙂

class Attend(nn.Module):
    """Attention that checks its input."""
    def __init__(self, C, H):
        super().__init__()
        self.H = H
        self.query, self.key, self.value = (nn.Linear(C, C) for _ in "abc")
        self.twice = lambda x: x + x

    def split(self, x):
        return x.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def forward(self, x):
        """Not shown."""
        assert x.ndim == 3, f"{x.shape}"
        assert (x * 1).sum() < 1e9 and x.abs().max() >= 0, "🙂"
        q, k = self.split(self.query(x)), self.split(self.key(x))
        """🙂"""; v = self.split(self.value(x))
        शब्द = शब्दहरू(q) * 1; é = "é🙂"; scores = शब्द @ k.mT / math.sqrt(4)
        weights = torch.softmax(
            scores, dim=-1)
        return self.twice(weights @ v).transpose(1, 2).flatten(2)

def factory(B, T, H, D):
    torch.manual_seed(0)
    return Attend(H * D, H), (torch.randn(B, T, H * D),)

def traced():
    dims = {"B": 2, "T": 8, "H": 3, "D": 4, "C": "H*D"}
    return trace(build=factory, dims=dims, keep=True)

def wrong(model):
    try:
        trace(lambda x: x @ model[":scores"], torch.ones(4, 3))
    except RuntimeError as error:
        return [*error.__notes__, error.trace]

def rows(seen):
    calls = zip(seen.steps, seen.calls().rows)
    return [(s.name, x.variable, x.call, x.reads, x.makes) for s, x in calls]

def report():
    seen = traced()
    parts = [seen.source(part) for part in (Attend, Attend.split, शब्दहरू)]
    said = [seen, *parts, *(part._repr_html_() for part in [seen, *parts])]
    said += [seen.attention(), seen[":scores"].shape, seen[":शब्द"].shape]
    said += [seen.parameters(), seen.flops(), *wrong(seen), rows(seen)]
    return "\\n".join(map(str, said))

'''
WRITE = "said = repr(heatmap(torch.eye(3)[:2])) + report(); "
WRITE += 'Path("shown.txt").write_text(said, "utf8")\n'
TYPED = """
Path("shown.txt").write_text(str(rows(traced())), "utf8")
try:
    traced().source(Attend)
except ValueError as error:
    Path("error.txt").write_text(str(error), "utf8")
"""
SETTING = {
    "PYTHONPATH": str(ROOT),
    "PYTHONUTF8": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # to start sooner
}


def python(folder: Path, *arguments) -> None:
    """Run Python in a folder, with this project's module."""
    with patch.dict(os.environ, SETTING):
        done = run(folder, sys.executable, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def shown(folder: Path) -> str:
    return (folder / "shown.txt").read_text("utf8")


@pytest.fixture(scope="module")
def script(tmp_path_factory) -> str:
    """What a script shows."""
    folder = tmp_path_factory.mktemp("script")
    (folder / "script.py").write_text(MODEL + WRITE, "utf8")
    python(folder, "script.py")
    return shown(folder)


def test_a_script_shows_no_path_no_address_and_no_number_of_a_process(script):
    assert "scores = शब्द @ k.mT / math.sqrt(4)" in script
    assert "# (B, H, T, D)" in script
    assert script.startswith("torch.eye(3)[:2] (2, 3): rows")
    assert re.findall(r"\.py|/tmp|0x|<ipython|ipykernel", script) == []
    assert str(ROOT) not in script


def kernel(folder: Path, cells: list[str]) -> None:
    """Run cells in a fresh kernel, in a folder."""
    spec = folder / "kernels" / "here" / "kernel.json"
    spec.parent.mkdir(parents=True)
    start = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": [sys.executable, *start], "display_name": "here"}
    about |= {"env": {"PYTHONPATH": str(ROOT)}, "language": "python"}
    spec.write_text(json.dumps(about))
    cells = [*map(nbformat.v4.new_code_cell, cells)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(folder)}}
    with patch.dict(os.environ, JUPYTER_PATH=str(folder), OMP_NUM_THREADS="1"):
        NotebookClient(
            notebook, kernel_name="here", resources=resources
        ).execute()


def test_in_a_notebook_with_magics_it_shows_the_same(script, tmp_path):
    magics = "%matplotlib inline\n!true\nfiles = !ls\n"
    kernel(tmp_path, [magics + MODEL, "%time one = 1\n" + WRITE])
    assert shown(tmp_path) == script


def test_typed_at_a_prompt_it_shows_functions_names_and_the_same_shapes(
    script, tmp_path
):
    """The witness: what the script shows, without what was written."""
    python(tmp_path, "-c", MODEL + TYPED)
    written = literal_eval(script.splitlines()[-1])
    assert literal_eval(shown(tmp_path)) == [
        (name, "", name, *shapes) for name, _, _, *shapes in written
    ]
    error = (tmp_path / "error.txt").read_text("utf8")
    assert error.startswith("the source of Attend.forward cannot be found.")
    assert "put it in a file or a notebook's cell" in error
