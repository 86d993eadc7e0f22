"""What `pip install` puts on a reader's machine, and that it is enough."""

import os
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import extras
import pytest
from packaging.requirements import Requirement

import tformer_lite
from tests.helpers.project import ROOT

pytestmark = pytest.mark.slow

FONT = "tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf"
LICENCES = {
    "LICENSE": b"MIT License",
    "book/LICENSE": b"CC BY 4.0",
    "tformer_lite/drawing/fonts/OFL.txt": b"SIL OPEN FONT LICENSE Version 1.1",
}
REFUSE = """\
import sys

class Refused:
    def find_spec(self, name, *_):
        extras = "transformers", "tokenizers", "sacrebleu"
        assert name not in extras, f"{name} is imported"

sys.meta_path.insert(0, Refused())
"""
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


def test_the_wheel_is_small(wheel):
    # A third is exercises, weights and font.
    assert wheel.stat().st_size < 2**20


def test_the_wheel_says_what_it_is_and_where_to_ask(metadata):
    assert metadata["Name"] == "tformer-lite"
    assert metadata["Version"] == tformer_lite.__version__
    assert metadata["Author"].startswith("The authors of The Transformer")
    assert "attention" in metadata["Keywords"].split(",")
    kinds = metadata.get_all("Classifier")
    assert "Typing :: Typed" in kinds
    assert not [kind for kind in kinds if kind.startswith("License")]
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL"))
    for name in ("Issues", "Changelog"):
        assert urls[name].startswith(urls["Repository"] + "/")


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
    needs = dict(n.split(">=") for n in asked if ";" not in n)
    assert needs == {
        "torch": "2.4",
        "matplotlib": "3.8",
        "seaborn": "0.13",
        "numpy": "1.26",
        "pillow": "10",
        "tqdm": "4.60",
    }


@pytest.fixture(scope="module")
def target(wheel, tmp_path_factory) -> Path:
    """A folder that has the wheel and nothing else; torch is elsewhere."""
    folder = tmp_path_factory.mktemp("target")
    pip("install", "--no-deps", "--no-index", "--target", folder, wheel)
    return folder


def said(target: Path, folder: Path, *words: str) -> str:
    """Run Python with the installed wheel, far from here, and give what it
    prints. Every warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(target), "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_offers_the_extras_of_the_project(metadata):
    text = (ROOT / "pyproject.toml").read_text("utf8")
    offered = tomllib.loads(text)["project"]["optional-dependencies"]
    assert set(metadata.get_all("Provides-Extra")) == set(offered)
    asked = [Requirement(need) for need in metadata.get_all("Requires-Dist")]
    for extra, needs in offered.items():
        ours = {f'{Requirement(need)}; extra == "{extra}"' for need in needs}
        found = {str(n) for n in asked if f'"{extra}"' in str(n.marker)}
        assert found == ours


def test_installed_far_from_here_it_traces_checks_and_draws(target, tmp_path):
    """The lines that `make extras` runs on a clean machine, without the
    extras; and a letter that has no shape would be a warning."""
    code = "\n".join([REFUSE, extras.USE, DRAW])
    *lines, module, font = said(target, tmp_path, "-c", code).splitlines()
    assert lines[0].startswith("attention in encoder.blocks.0")
    assert sum("✓ holds" in line for line in lines[1:]) > 15
    assert not [x for x in lines if "✗ broken" in x or "! unusual" in x]
    assert Path(module) == target / "tformer_lite"
    assert Path(font) == target / FONT


def test_installed_far_from_here_its_command_line_answers(target, tmp_path):
    assert "मेरो" in said(target, tmp_path, *extras.TRANSLATE)
