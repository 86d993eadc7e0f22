"""What a release consists of: `make dist` writes it. And what `pip install`
puts of it on a reader's machine is enough: extras as ranges, with the
project's own pins within them."""

import re
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import dist
import extras
import nbformat
import packages
import pytest
from packaging.requirements import Requirement

import classroom
import shapewatch
import tformer_lite
from tests.helpers.project import EXERCISES, NOTEBOOKS, ROOT, run

NUMBER = tformer_lite.__version__
BOOK = f"{dist.ARCHIVE_NAME}-{NUMBER}-notebooks.zip"
# What stands beside a package in its wheel.
BESIDE = {"tformer_lite": ["explorer", "gallery"]}
# Each package that has a wheel: its name in files, and what it needs.
WHEELS = {
    "tformer_lite": "tformer_lite",
    "shapewatch": "shapewatch",
    "classroom": "tformer_classroom",
}
FONT = "tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf"
LICENCES = {
    "LICENSE": b"MIT License",
    "book/LICENSE": b"CC BY 4.0",
    "tformer_lite/drawing/fonts/OFL.txt": b"SIL OPEN FONT LICENSE Version 1.1",
}
DRAW = """\
import sys
from matplotlib import font_manager, get_data_path
sys.modules |= dict.fromkeys(["transformers", "tokenizers"])
import tformer_lite

module = tformer_lite.__file__.removesuffix("__init__.py")
fonts = font_manager.fontManager
bare = get_data_path(), module  # as on a machine that has no fonts
fonts.ttflist = [f for f in fonts.ttflist if f.fname.startswith(bare)]
words = tformer_lite.running_example().tgt_words[0]
mask = tformer_lite.causal_mask(8)[0, 0]
picture = tformer_lite.heatmap(mask.double(), rows=words, columns=words)
assert "थिएन" in picture.svg()
assert len(picture.png()) > 1000
print(module, fonts.findfont("Noto Sans Devanagari"), sep="\\n")
"""
each_wheel = pytest.mark.parametrize("name", WHEELS)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder that `make dist` has filled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dist, "DIST", tmp_path_factory.mktemp("all") / "dist")
        patch.delenv("TAG", raising=False)
        patch.chdir(ROOT)  # and back, wherever it goes
        assert dist.main() is None
        yield dist.DIST


def inside(archive: Path) -> dict[str, bytes]:
    """The files in a zip or a wheel."""
    with zipfile.ZipFile(archive) as files:
        return {name: files.read(name) for name in files.namelist()}


def wheel(folder: Path, name: str) -> Path:
    return folder / f"{WHEELS[name]}-{NUMBER}-py3-none-any.whl"


@pytest.mark.full
def test_wheels_sdists_and_notebooks_are_written_and_nothing_else(written):
    names = {BOOK, *packages.ARCHIVES}
    names |= {wheel(written, name).name for name in WHEELS}
    names |= {f"{name}-{NUMBER}.tar.gz" for name in WHEELS.values()}
    assert {file.name for file in written.iterdir()} == names
    assert shapewatch.__version__ == classroom.__version__ == NUMBER


@pytest.mark.full
def test_the_sdist_holds_what_the_repository_holds(written):
    with tarfile.open(written / f"tformer_lite-{NUMBER}.tar.gz") as archive:
        packed = {name.split("/", 1)[1] for name in archive.getnames()}
    tracked = run(ROOT, "git", "ls-files", "-z").stdout.split("\0")
    there = {name for name in tracked if (ROOT / name).is_file()}
    assert there - packed == set(), "see [tool.hatch.build.targets.sdist]"


@pytest.mark.full
def test_the_zip_holds_every_chapter_run_and_how_to_open_it(written):
    files = inside(written / BOOK).items()
    files = {name.split("/", 1)[1]: text.decode() for name, text in files}
    names = {f"chapters/{file.name}" for file in NOTEBOOKS}
    names |= {f"chapters/exercises/{file.name}" for file in EXERCISES}
    assignments = (ROOT / "chapters" / "assignments").glob("*.md")
    names |= {f"chapters/assignments/{f.stem}.ipynb" for f in assignments}
    assert set(files) == {"README.md", "LICENSE"} | names
    for name in names:
        cells = nbformat.reads(files[name], as_version=4).cells
        assert any(cell.get("outputs") for cell in cells), name
    how = files["README.md"]
    (opened,) = re.findall(r"`jupyter lab (.+)`", how)
    assert opened in names
    assert "`pip install jupyterlab torch" in how
    assert how.count("#") == 1, "one section, and no more"


def test_a_tag_is_that_of_the_version_or_refused(monkeypatch):
    assert dist.tag_problem(None, "0.2.0") is None
    assert dist.tag_problem("v0.2.0", "0.2.0") is None
    said = dist.tag_problem("v0.3.0", "0.2.0")
    assert "'v0.3.0' is not that of version 0.2.0: tag v0.2.0" in said
    monkeypatch.setenv("TAG", "v9")
    assert "'v9' is not" in dist.main()


@pytest.mark.full
@each_wheel
def test_a_wheel_holds_its_package_and_licences_and_says_what_it_is(
    name, written
):
    # The trials of homework, inputs and outputs, are as large as all the rest.
    most = 1.5 * 2**20 if name == "classroom" else 2**20
    assert wheel(written, name).stat().st_size < most
    files = inside(wheel(written, name))
    rooms = [name, *BESIDE.get(name, [])]
    every = [x for room in rooms for x in packages.package_files(room).items()]
    code = [x for x in every if x[1].name not in packages.NO_CODE]
    packed = {n: text for n, text in files.items() if "-info/" not in n}
    assert packed == {name: file.read_bytes() for name, file in code}
    assert f"{name}/py.typed" in files
    for licence in LICENCES if name == "tformer_lite" else ["LICENSE"]:
        (file,) = (n for n in files if n.endswith(f"licenses/{licence}"))
        assert LICENCES[licence] in files[file]
    (file,) = (n for n in files if n.endswith(".dist-info/METADATA"))
    about = message_from_string(files[file].decode())
    assert about["Version"] == NUMBER
    assert about["Requires-Python"] == ">=3.11"
    urls = dict(url.split(", ") for url in about.get_all("Project-URL"))
    for place in ("Issues", "Changelog"):
        assert urls[place].startswith(urls["Repository"] + "/")


@pytest.mark.full
def test_installed_far_from_here_all_of_it_answers(written, tmp_path):
    """The lines that `make extras` runs on a clean machine, without the
    extras; torch is lent. Every warning is an error: a letter that has no
    shape would be one."""
    target = tmp_path / "target"
    pip = ("-m", "pip", "-q", "install", "--no-deps", "--no-index")
    wheels = (wheel(written, name) for name in WHEELS)
    run(ROOT, sys.executable, *pip, "--target", target, *wheels)

    def said(*words: str) -> str:
        python = "env", f"PYTHONPATH={target}", "PYTHONUTF8=1", sys.executable
        done = run(tmp_path, *python, "-W", "error", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "\n".join([DRAW, extras.USE])
    module, font, *lines = said("-c", code).splitlines()
    assert Path(module) == target / "tformer_lite"
    assert Path(font) == target / FONT
    assert lines[0].startswith("attention in encoder.blocks.0")
    assert sum("✓ holds" in line for line in lines[1:]) > 15
    assert not [x for x in lines if "✗ broken" in x or "! unusual" in x]
    assert "decoder_mask" in said(*extras.MASK)


# --- extras ---------------------------------------------------------------

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def pins(file: str) -> dict[str, str]:
    """The versions that a file of requirements pins, by name."""
    text = (ROOT / file).read_text("utf8")
    return dict(re.findall(r"^(\w[\w.-]*)==(\S+)", text, re.MULTILINE))


def ranges(*groups: list[str]) -> list[Requirement]:
    """What groups of dependencies ask for, this package itself apart."""
    asked = [Requirement(need) for group in groups for need in group]
    return [need for need in asked if need.name != PROJECT["name"]]


BOOK_PINS = pins("book/requirements.txt")
PINS = BOOK_PINS | pins("requirements.txt")
ASKED = ranges(PROJECT["dependencies"], *EXTRAS.values())


def test_the_extras_for_the_book_and_its_tests_name_all_that_these_need():
    assert {need.name for need in ranges(EXTRAS["book"])} == {*BOOK_PINS}
    (all_of_it,) = (n for n in EXTRAS["test"] if n.startswith(PROJECT["name"]))
    assert {*Requirement(all_of_it).extras, "test"} == {*EXTRAS}
    assert {*PINS} - {need.name for need in ASKED} == set()


def test_what_the_project_pins_is_within_the_ranges():
    versions = pins("book/constraints.txt") | PINS
    pinned = [need for need in ASKED if need.name in versions]
    assert len(pinned) > 20
    for need in pinned:
        assert versions[need.name] in need.specifier, str(need)


def test_every_extra_is_tried_and_every_wheel_alone_too():
    wheels = {"shapewatch", "alone", "classroom"}
    assert set(extras.TRIALS) == {*wheels, "pytest", *EXTRAS}
