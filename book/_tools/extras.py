"""Install the wheel where nothing else is, and use it: `make extras`.

usage: extras.py [NAME ...]    of alone, bert, pytest, scores, book
                               and test

Each name is tried in a new virtual environment: `alone` is the wheel without
an extra. Without a name, all are tried, which fetches gigabytes and takes a
quarter of an hour. Where PIP_CONSTRAINT names a file, pip keeps to it.

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

source, target = running_example().src, running_example().tgt
print(trace(running_model(), source, target, keep=True).attention()[0])
print(report(running_model()))
assert "<svg" in heatmap([[0.1, 0.9], [0.5, 0.5]]).svg()
"""
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
import tformer_lite

def test_it(check_model):
    assert check_model(tformer_lite.running_model()).ok
"""
SCORES = """\
from tformer_lite import bleu, chrf

print(bleu(["a b c d"], ["a b c d"]), chrf(["a b"], ["a b"]))
"""
BUILD = "from jupyter_book.cli.main import main; main()"
STRICT = ("-W", "-n", "--keep-going", "--quiet")
SDIST = "from flit_core import buildapi; buildapi.build_sdist({!r})"
QUICK = ("-m", "pytest", "tests", "-q", "-m", "not slow", "-n", "2")
# Text is UTF-8, on Windows too; one thread is faster where tests share cores.
PLAIN = {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def main(*names: str) -> None:
    """Try each name, and stop at the first that fails."""
    if unknown := sorted({*names} - {*TRIALS}):
        sys.exit(f"{', '.join(unknown)}: known are {', '.join(TRIALS)}.")
    with tempfile.TemporaryDirectory() as folder:
        wheel = packed(Path(folder))
        for name in names or TRIALS:
            print(f"==== {name}", flush=True)
            here = Path(folder, name)
            TRIALS[name](installed(wheel, name, here), here)
    print("All that was tried works.")


def packed(folder: Path) -> Path:
    """Make the wheel of this working tree."""
    pip = ("-m", "pip", "-q", "wheel", "--no-deps")
    run(sys.executable, *pip, "--wheel-dir", folder, ".", cwd=ROOT)
    return next(folder.glob("*.whl"))


def installed(wheel: Path, name: str, folder: Path) -> Path:
    """Install the wheel with an extra into a new environment in a folder,
    and give its Python."""
    python = new_python(folder / "env")
    wanted = str(wheel) if name == "alone" else f"{wheel}[{name}]"
    run(python, "-m", "pip", "-q", "install", wanted, cwd=folder)
    return python


def new_python(folder: Path) -> Path:
    """Make a virtual environment, and give its Python."""
    builder = EnvBuilder(with_pip=True)
    builder.create(folder)
    return Path(builder.ensure_directories(folder).env_exe)


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


TRIALS = {f.__name__: f for f in (alone, bert, pytest, scores, book, test)}


def run(*command, cwd: Path) -> None:
    """Run a command; where it fails, leave with its exit code."""
    env = os.environ | PLAIN
    code = subprocess.run(list(map(str, command)), cwd=cwd, env=env).returncode
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
