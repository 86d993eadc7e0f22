"""Install the wheels where nothing else is, and use them: `make extras`.

usage: extras.py [NAME ...]    of shapewatch, alone, classroom, pytest, bert,
                               scores, book and test

Each name is tried in a new virtual environment: `shapewatch` and `classroom`
are those wheels, with what they need; `alone` is that of tformer_lite without
an extra, `pytest` an extra of shapewatch, and the others are extras of
tformer_lite. Without a name, all are tried, which fetches gigabytes and takes
a quarter of an hour. Where PIP_CONSTRAINT names a file, pip keeps to it.

Needs Python and a network, and nothing else; `alone` runs on Windows too.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from venv import EnvBuilder

ROOT = Path(__file__).parents[2]
USE = """\
from tformer_lite import heatmap, report, running_example, running_model, trace

ids = running_example()[:2]
print(trace(running_model(), *ids, keep=True).attention()[0])
print(report(running_model(), *ids))
assert "<svg" in heatmap([[0.1, 0.9], [0.5, 0.5]]).svg()
"""
STRANGER = """\
import torch
from torch import nn

def make():
    layer = nn.TransformerEncoderLayer(12, 4, 24, batch_first=True)
    return nn.TransformerEncoder(layer, 2), torch.randn(2, 8, 12)

def right():
    return nn.Embedding(10, 8), torch.tensor([[3, 4, 5, 6], [7, 8, 9, 0]])
"""
TRACE = ("-m", "shapewatch", "trace", "stranger.py:make")
TRACE += ("--dims", "B=2,T=8", "--axes", "B T C")
ANY = ("-m", "shapewatch", "check", "stranger.py:right")
LIST = ("-m", "classroom", "list", "--chapter", "7")
TRANSLATE = ("-m", "tformer_lite", "translate", "this is not my book.")
BERT = """\
import torch
from transformers import BertConfig, BertModel
from tformer_lite import BertEmbedding

BertModel(BertConfig(vocab_size=20, num_hidden_layers=1)).save_pretrained(".")
vectors = BertEmbedding(20, 12, ".")(torch.tensor([[2, 5, 3]]))
assert vectors.shape == (1, 3, 12)
"""
CHECK = """\
from stranger import right

def test_it(check_model):
    assert check_model(*right()).ok
"""
SCORES = """\
from tformer_lite import bleu, chrf

print(bleu(["a b c d"], ["a b c d"]), chrf(["a b"], ["a b"]))
"""
WANTED = {
    "shapewatch": "shapewatch",
    "alone": "tformer-lite",
    "classroom": "tformer-classroom",
    "pytest": "shapewatch[pytest]",
}
BUILD = "from jupyter_book.cli.main import main; main()"
STRICT = ("-W", "-n", "--keep-going", "--quiet")
SDIST = "from hatchling import build; build.build_sdist({!r})"
QUICK = ("-m", "pytest", "tests", "-q", "-m", "not full", "-n", "2")
# Text is UTF-8, on Windows too; one thread is faster where tests share cores.
PLAIN = {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def main(*names: str) -> None:
    """Try each name, and stop at the first that fails."""
    if unknown := sorted({*names} - {*TRIALS}):
        sys.exit(f"{', '.join(unknown)}: known are {', '.join(TRIALS)}.")
    with tempfile.TemporaryDirectory() as folder:
        wheels = packed(Path(folder))
        for name in names or TRIALS:
            print(f"==== {name}", flush=True)
            here = Path(folder, name)
            TRIALS[name](installed(wheels, name, here), here)
    print("All that was tried works.")


def packed(folder: Path) -> Path:
    """Make the wheels of this working tree."""
    pip = ("-m", "pip", "-q", "wheel", "--no-deps")
    places = [".", "./shapewatch", "./classroom"]
    run(sys.executable, *pip, "--wheel-dir", folder, *places, cwd=ROOT)
    return folder


def installed(wheels: Path, name: str, folder: Path) -> Path:
    """Install what a name stands for, of our wheels, into a new environment
    in a folder, and give its Python."""
    python = new_python(folder / "env")
    wanted = WANTED.get(name, f"tformer-lite[{name}]")
    find = ("--find-links", wheels)
    run(python, "-m", "pip", "-q", "install", *find, wanted, cwd=folder)
    (folder / "stranger.py").write_text(STRANGER)
    return python


def new_python(folder: Path) -> Path:
    """Make a virtual environment, and give its Python."""
    builder = EnvBuilder(with_pip=True)
    builder.create(folder)
    return Path(builder.ensure_directories(folder).env_exe)


def shapewatch(python: Path, folder: Path) -> None:
    """Trace and check a stranger's model, where torch alone is."""
    listed = subprocess.check_output([python, "-m", "pip", "list"], text=True)
    if taken := {"matplotlib", "seaborn"} & {*listed.split()}:
        sys.exit(f"shapewatch brings {', '.join(taken)}.")
    run(python, *TRACE, cwd=folder)
    run(python, *ANY, cwd=folder)


def classroom(python: Path, folder: Path) -> None:
    """List exercises."""
    run(python, *LIST, cwd=folder)


def alone(python: Path, folder: Path) -> None:
    """Trace, check, draw and ask the command line; a warning is an error."""
    run(python, "-W", "error", "-c", USE, cwd=folder)
    run(python, *TRANSLATE, cwd=folder)


def bert(python: Path, folder: Path) -> None:
    """Read a small BERT, made on the spot."""
    run(python, "-c", BERT, cwd=folder)


def pytest(python: Path, folder: Path) -> None:
    """Run a test of a model, with a fixture that nobody imports."""
    (folder / "test_own.py").write_text(CHECK)
    run(python, "-m", "pytest", "-q", "test_own.py", cwd=folder)


def scores(python: Path, folder: Path) -> None:
    """Score a text."""
    run(python, "-c", SCORES, cwd=folder)


def book(python: Path, folder: Path) -> None:
    """Build the book beside the environment."""
    there = ("--path-output", folder, *STRICT)
    run(python, "-c", BUILD, "build", ROOT, *there, cwd=folder)


def test(python: Path, folder: Path) -> None:
    """Unpack the sdist, and run the quick tests that came with it."""
    run(python, "-c", SDIST.format(str(folder)), cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    run(python, "-m", "tarfile", "-e", sdist, folder, cwd=folder)
    unpacked = folder / sdist.name.removesuffix(".tar.gz")
    run(python, *QUICK, cwd=unpacked)


EVERY = shapewatch, alone, classroom, pytest, bert, scores, book, test
TRIALS = {trial.__name__: trial for trial in EVERY}


def run(*command, cwd: Path) -> None:
    """Run a command; where it fails, leave with its exit code."""
    env = os.environ | PLAIN
    code = subprocess.run(list(map(str, command)), cwd=cwd, env=env).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
