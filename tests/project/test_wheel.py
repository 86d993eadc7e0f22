"""What `pip install` puts on a reader's machine, and that it is enough."""

import os
import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import extras
import packages
import pytest
from packaging.requirements import Requirement

import tformer_lite
from tests.helpers.project import ROOT

pytestmark = pytest.mark.full

FONT = "tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf"
# Each package that has a wheel: its folder, and its name on an index.
WHEELS = {
    "tformer_lite": (ROOT, "tformer-lite"),
    "shapewatch": (ROOT / "shapewatch", "shapewatch"),
    "classroom": (ROOT / "classroom", "tformer-classroom"),
}
NEEDS = {
    "shapewatch": ["torch>=2.4"],
    "classroom": ["shapewatch=={}", "tformer-lite=={}"],
    "tformer_lite": [
        "shapewatch=={}",
        "torch>=2.4",
        "matplotlib>=3.8",
        "seaborn>=0.13",
        "numpy>=1.26",
        "pillow>=10",
        "tqdm>=4.60",
    ],
}
LICENCES = {
    "LICENSE": b"MIT License",
    "book/LICENSE": b"CC BY 4.0",
    "tformer_lite/drawing/fonts/OFL.txt": b"SIL OPEN FONT LICENSE Version 1.1",
}
REFUSE = """\
import sys

class Refused:
    def find_spec(self, name, *_):
        assert name not in {names}, f"{{name}} is imported"

sys.meta_path.insert(0, Refused())
"""
EXTRAS = REFUSE.format(names=("transformers", "tokenizers", "sacrebleu"))
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
each_wheel = pytest.mark.parametrize("name", WHEELS)


def pip(*arguments) -> None:
    """Run pip without the network."""
    command = [sys.executable, "-m", "pip", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory) -> dict[str, Path]:
    """The wheels that the working tree gives, by package."""
    folder = tmp_path_factory.mktemp("wheels")
    quiet = ("--no-deps", "--no-index", "--no-build-isolation")
    projects = (project for project, _ in WHEELS.values())
    pip("wheel", *quiet, "--wheel-dir", folder, *projects)
    names = {name.replace("-", "_"): x for x, (_, name) in WHEELS.items()}
    files = folder.iterdir()
    return {names[file.name.partition("-")[0]]: file for file in files}


@pytest.fixture(scope="module")
def contents(wheels) -> dict[str, dict[str, bytes]]:
    """The files in each wheel."""
    found = {}
    for name, wheel in wheels.items():
        with zipfile.ZipFile(wheel) as archive:
            found[name] = {x: archive.read(x) for x in archive.namelist()}
    return found


@pytest.fixture(scope="module")
def metadata(contents):
    """What each wheel says of itself."""
    found = {}
    for name, files in contents.items():
        (file,) = (n for n in files if n.endswith(".dist-info/METADATA"))
        found[name] = message_from_string(files[file].decode())
    return found


@each_wheel
def test_a_wheel_holds_its_package_whole_and_is_small(name, wheels, contents):
    assert wheels[name].stat().st_size < 2**20
    files = contents[name]
    packed = {n: text for n, text in files.items() if "-info/" not in n}
    own = packages.package_files(name).items()
    code = [x for x in own if x[1].name not in packages.NO_CODE]
    assert packed == {name: file.read_bytes() for name, file in code}
    assert f"{name}/py.typed" in packed


@each_wheel
def test_a_wheel_carries_its_licences(name, contents, metadata):
    own = metadata[name].get_all("License-File")
    assert set(own) == {*(LICENCES if name == "tformer_lite" else ["LICENSE"])}
    for licence in own:
        ending = f"licenses/{licence}"
        (file,) = (n for n in contents[name] if n.endswith(ending))
        assert LICENCES[licence] in contents[name][file]


@each_wheel
def test_a_wheel_says_what_it_is_and_asks_for_what_it_needs(name, metadata):
    about, number = metadata[name], tformer_lite.__version__
    assert (about["Name"], about["Version"]) == (WHEELS[name][1], number)
    assert about["Requires-Python"] == ">=3.11"
    needs = (n for n in about.get_all("Requires-Dist") if ";" not in n)
    wanted = (Requirement(need.format(number)) for need in NEEDS[name])
    assert {*map(Requirement, needs)} == {*wanted}
    urls = dict(url.split(", ") for url in about.get_all("Project-URL"))
    for place in ("Issues", "Changelog"):
        assert urls[place].startswith(urls["Repository"] + "/")


@pytest.fixture(scope="module")
def target(wheels, tmp_path_factory) -> Path:
    """A folder that has the wheels and nothing else; torch is elsewhere."""
    folder = tmp_path_factory.mktemp("target")
    quiet = ("--no-deps", "--no-index", "--target", folder)
    pip("install", *quiet, *wheels.values())
    return folder


def said(target: Path, folder: Path, *words: str) -> str:
    """Run Python with what is installed, far from here, and give what it
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


def test_installed_far_from_here_it_traces_checks_and_draws(target, tmp_path):
    """The lines that `make extras` runs on a clean machine, without the
    extras; and a letter that has no shape would be a warning."""
    code = "\n".join([EXTRAS, extras.USE, DRAW])
    *lines, module, font = said(target, tmp_path, "-c", code).splitlines()
    assert lines[0].startswith("attention in encoder.blocks.0")
    assert sum("✓ holds" in line for line in lines[1:]) > 15
    assert not [x for x in lines if "✗ broken" in x or "! unusual" in x]
    assert Path(module) == target / "tformer_lite"
    assert Path(font) == target / FONT
    assert "मेरो" in said(target, tmp_path, *extras.TRANSLATE)
    assert "decoder_mask" in said(target, tmp_path, *extras.LIST)
