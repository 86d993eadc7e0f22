"""What `pip install` puts on a reader's machine, and that it is enough."""

import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

from tests.helpers.project import ROOT

pytestmark = pytest.mark.slow

FONT = "tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf"
LICENCES = {
    "LICENSE": b"MIT License",
    "book/LICENSE": b"CC BY 4.0",
    "tformer_lite/drawing/fonts/OFL.txt": b"SIL OPEN FONT LICENSE Version 1.1",
}
DRAW = """\
import sys
import torch
import tformer_lite
from matplotlib import font_manager, get_data_path

module = tformer_lite.__file__.removesuffix("__init__.py")
fonts = font_manager.fontManager
bare = get_data_path(), module  # as on a machine that has no fonts
fonts.ttflist = [f for f in fonts.ttflist if f.fname.startswith(bare)]
words = tformer_lite.running_example().tgt_words[0]
mask = tformer_lite.causal_mask(8)[0, 0]
scores = torch.zeros(8, 8).masked_fill(~mask, -torch.inf)
weights = tformer_lite.softmax(scores)
picture = tformer_lite.heatmap(scores, weights, rows=words, columns=words)
assert "थिएन" in picture.svg()
assert len(picture.png()) > 1000
print(module, fonts.findfont("Noto Sans Devanagari"), sep="\\n")
"""


def pip(*arguments) -> None:
    """Run pip without the network."""
    command = [sys.executable, "-m", "pip", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel that the working tree gives."""
    folder = tmp_path_factory.mktemp("wheel")
    pip(
        "wheel", "--no-deps", "--no-index", "--no-build-isolation",
        "--wheel-dir", folder, ROOT,
    )  # fmt: skip
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def contents(wheel) -> dict[str, bytes]:
    """The files in the wheel."""
    with zipfile.ZipFile(wheel) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


@pytest.fixture(scope="module")
def metadata(contents):
    """What the wheel says of itself."""
    (name,) = (n for n in contents if n.endswith(".dist-info/METADATA"))
    return message_from_string(contents[name].decode())


def test_the_wheel_holds_the_module_whole_and_nothing_beside_it(contents):
    packed = {n: text for n, text in contents.items() if "-info/" not in n}
    files = [f for f in (ROOT / "tformer_lite").rglob("*") if f.is_file()]
    files = [f for f in files if f.suffix != ".pyc"]
    names = {f.relative_to(ROOT).as_posix(): f.read_bytes() for f in files}
    assert packed == names
    assert FONT in packed


def test_type_checkers_may_read_the_modules_types(contents):
    assert contents["tformer_lite/py.typed"] == b""


def test_the_wheel_carries_its_licences(contents, metadata):
    assert metadata["License-Expression"] == "MIT AND OFL-1.1 AND CC-BY-4.0"
    assert set(metadata.get_all("License-File")) == set(LICENCES)
    for licence, title in LICENCES.items():
        (name,) = (n for n in contents if n.endswith(f"licenses/{licence}"))
        assert title in contents[name]


def test_the_wheel_asks_for_what_it_needs_and_no_more(metadata):
    assert metadata["Requires-Python"] == ">=3.11"
    asked = metadata.get_all("Requires-Dist")
    extras = [need.split(" ; extra == ") for need in asked if ";" in need]
    assert sorted(extra[::-1] for extra in extras) == [
        ['"bert"', "tokenizers>=0.19"],
        ['"bert"', "transformers>=4.40"],
        ['"scores"', "sacrebleu>=2.4"],
    ]
    needs = dict(n.split(">=") for n in asked if ";" not in n)
    assert needs == {
        "torch": "2.4",
        "matplotlib": "3.8",
        "seaborn": "0.13",
        "numpy": "1.26",
        "pillow": "10",
        "tqdm": "4.60",
    }


def test_installed_far_from_here_it_draws_nepali(wheel, tmp_path):
    """Every warning is an error: a letter without a shape would be one."""
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    elsewhere.mkdir()
    pip("install", "--no-deps", "--no-index", "--target", target, wheel)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", DRAW],
        cwd=elsewhere,
        env=os.environ | {"PYTHONPATH": str(target), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    module, font = done.stdout.splitlines()
    assert Path(module) == target / "tformer_lite"
    assert Path(font) == target / FONT


def test_the_module_neither_needs_nor_imports_the_extras():
    code = """\
import sys

class Refused:
    def find_spec(self, name, *_):
        extras = "transformers", "tokenizers", "sacrebleu"
        assert name not in extras, f"{name} is imported"

sys.meta_path.insert(0, Refused())
import tformer_lite as t
t.EncoderDecoder(t.tiny_translator)
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
