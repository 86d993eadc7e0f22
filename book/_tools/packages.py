"""Our packages, where each stands, the archives that notebooks fetch, and the
reader's own Transformer to download."""

import re
import shutil
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
# The folder above a package: where Python has to look for it.
PACKAGES = {
    "tformer_lite": ROOT,
    "explorer": ROOT,
    "gallery": ROOT,
    "shapewatch": ROOT,
    "classroom": ROOT,
    "pictures": ROOT / "chapters",
}
# The parts that readers build, one below the other (chapters/one_file.py).
MY_TRANSFORMER = ROOT / "chapters" / "my_transformer.py"
MY_GPT = ROOT / "chapters" / "my_gpt.py"
MY_NUMBERS = ROOT / "chapters" / "translator.pt"
# What the first cell of a chapter fetches, and that of its exercises.
ARCHIVES = {
    "chapters.zip": (
        "tformer_lite",
        "explorer",
        "gallery",
        "shapewatch",
        "pictures",
    ),
    "exercises.zip": ("tformer_lite", "gallery", "shapewatch", "classroom"),
}
# What the first page gives away: the files that readers build, the numbers of
# the book's translator as the first of them keeps its own, and what it learns.
PAIRS = ROOT / "tformer_lite" / "example" / "texts" / "pairs.tsv"
DOWNLOADS = MY_TRANSFORMER, MY_GPT, MY_NUMBERS, PAIRS
# These have rooms of their own; the others are one room each.
WITH_ROOMS = "tformer_lite", "shapewatch"
# What stands beside a package's code for those who build or read it.
NO_CODE = {"README.md", "LICENSE", "pyproject.toml", "hatch_build.py"}
NO_PART = {"__pycache__", ".ipynb_checkpoints"}
# What no exercise asks for: what chapters alone show, and what hands exercises
# out and grades, in a copy of the repository.
NOT_ASKED_FOR = re.compile(
    r"tformer_lite/example/stored/(lookup\.pt|results\.json)|classroom/(pages/.*"
    r"|(assignment|cells|commands|gradescope|grading|job|packing|pages"
    r"|rehearsal|sandbox|sheets|submissions|__main__)\.py)"
)
# What `check` needs of a notebook with exercises, which the reader has.
CHECK_PARTS = re.compile(
    r"^## [^\n]*\n|^```\{code-cell\}.*?^```\n|<summary>A solution.*?^```\n",
    re.MULTILINE | re.DOTALL,
)


def package_files(package: str) -> dict[str, Path]:
    """List the files of a package, by the names that Python knows them by."""
    above = PACKAGES[package]
    paths = sorted(f for f in (above / package).rglob("*") if f.is_file())
    files = {
        file.relative_to(above).as_posix(): file
        for file in paths
        if not NO_PART & {*file.parts}
    }
    return files | (exercise_files() if package == "classroom" else {})


def exercise_files() -> dict[str, Path]:
    """List the exercises as the package has them: statements, data, and what
    is stored of homework, without its sources."""
    return {
        f"classroom/exercises/{file.name}": file
        for folder in ("exercises", "assignments")
        for file in sorted((ROOT / "chapters" / folder).glob("*.*"))
        if file.suffix in {".md", ".toml", ".xz"}
    }


def write_archives(folder: Path) -> list[Path]:
    """Write the archives into a folder, and list them."""
    for name, packages in ARCHIVES.items():
        files = {n: f for x in packages for n, f in package_files(x).items()}
        own = DOWNLOADS if "pictures" in packages else (MY_TRANSFORMER,)
        files |= {file.name: file for file in own}
        if "classroom" in packages:
            left_out = NOT_ASKED_FOR.fullmatch
            files = {n: f for n, f in files.items() if not left_out(n)}
        zip_up({n: archive_bytes(f) for n, f in files.items()}, folder / name)
    return [folder / name for name in ARCHIVES]


def archive_bytes(file: Path) -> bytes:
    """Read a file; of a statement of exercises its headings, its code and its
    solutions."""
    if file.suffix == ".md" and file.parents[1] == ROOT / "chapters":
        return "".join(CHECK_PARTS.findall(file.read_text("utf8"))).encode()
    return file.read_bytes()


def copy_downloads(folder: Path) -> None:
    """Copy the files of the first page, those that there are, to a folder."""
    for file in filter(Path.exists, DOWNLOADS):
        shutil.copy(file, folder)


def zip_up(contents: dict[str, bytes], target: Path) -> None:
    """Write contents into a zip by their names; the same ones, the same
    zip."""
    with ZipFile(target, "w") as packed:
        for name, content in contents.items():
            packed.writestr(ZipInfo(name), content, ZIP_DEFLATED, 9)


if __name__ == "__main__":
    write_archives(Path(sys.argv[1]))
    copy_downloads(Path(sys.argv[1]))
