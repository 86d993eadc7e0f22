"""Install the wheels where nothing else is, and use them: `make extras`.

usage: extras.py [NAME ...]    of those in TRIALS, or all

Each name is tried in a new virtual environment. All of them fetch gigabytes
and take a quarter of an hour. Where PIP_CONSTRAINT names a file, pip keeps to
it. Needs Python and a network, and nothing else; `alone` runs on Windows too.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from venv import EnvBuilder

CHECKOUT = Path(__file__).parents[2]
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

def test_it(check_model):
    assert check_model(*right()).ok
"""
ALONE = """\
from importlib.util import find_spec
assert not any(map(find_spec, ("matplotlib", "seaborn")))
"""
TRACE = ("-m", "shapewatch", "trace", "stranger.py:make", "--axes", "B T C")
ANY = ("-m", "shapewatch", "check", "stranger.py:right")
MASK = ("-m", "classroom", "try", "decoder_mask")
BERT = """\
import torch
from transformers import BertConfig, BertModel
from tformer_lite import BertEmbedding

BertModel(BertConfig(vocab_size=20, num_hidden_layers=1)).save_pretrained(".")
assert BertEmbedding(20, 12, ".")(torch.tensor([[2, 5]])).shape == (1, 2, 12)
"""
BUILD = ("-c", "from jupyter_book.cli.main import main; main()", "build")
BUILD += (CHECKOUT, "--path-output", ".", "-W", "-n", "--quiet")
# What is installed for a name, and what has to work then.
TRIALS = {
    "shapewatch": ("shapewatch", [("-c", ALONE), TRACE, ANY]),
    "alone": ("tformer-lite", [("-W", "error", "-c", USE)]),
    "classroom": ("tformer-classroom", [MASK]),
    "pytest": ("shapewatch[pytest]", [("-m", "pytest", "-q", "stranger.py")]),
    "bert": ("tformer-lite[bert]", [("-c", BERT)]),
    "book": ("tformer-lite[book]", [BUILD]),
    "test": ("tformer-lite[test]", [("-c", "import hypothesis, nbval")]),
}
# Text is UTF-8, on Windows too; one thread is faster where tests share cores.
ENVIRONMENT = {
    "PYTHONUTF8": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


def main(*names: str) -> None:
    """Try each name, and stop at the first that fails."""
    if unknown := sorted({*names} - {*TRIALS}):
        sys.exit(f"{', '.join(unknown)}: known are {', '.join(TRIALS)}.")
    with tempfile.TemporaryDirectory() as folder:
        wheels = ("-m", "pip", "-q", "wheel", "--no-deps", "-w", folder)
        places = (".", "./shapewatch", "./classroom")
        run_or_exit(sys.executable, *wheels, *places, cwd=CHECKOUT)
        for name in names or TRIALS:
            print(f"==== {name}", flush=True)
            try_out(name, Path(folder, name))
    print("All that was tried works.")


def try_out(name: str, folder: Path) -> None:
    """Install what a name stands for into a new environment, and use it."""
    builder = EnvBuilder(with_pip=True)
    builder.create(folder / "env")
    python = builder.ensure_directories(folder / "env").env_exe
    wanted, commands = TRIALS[name]
    install = ("-m", "pip", "-q", "install", "--find-links", folder.parent)
    run_or_exit(python, *install, wanted, cwd=folder)
    (folder / "stranger.py").write_text(STRANGER)
    for command in commands:
        run_or_exit(python, *command, cwd=folder)


def run_or_exit(*command, cwd: Path) -> None:
    """Run a command; where it fails, leave with its exit code."""
    env = os.environ | ENVIRONMENT
    if code := subprocess.call(command, cwd=cwd, env=env):
        sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
