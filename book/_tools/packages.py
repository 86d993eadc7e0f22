"""Our packages, where each stands, and the archives that notebooks fetch."""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

ROOT = Path(__file__).parents[2]
# The folder above a package: where Python has to look for it.
PACKAGES = {
    "tformer_lite": ROOT,
    "shapewatch": ROOT,
    "classroom": ROOT,
    "pictures": ROOT / "chapters",
}
# What the first cell of a chapter fetches, and that of its exercises.
ARCHIVES = {
    "chapters.zip": ("tformer_lite", "shapewatch", "pictures"),
    "exercises.zip": ("tformer_lite", "shapewatch", "classroom"),
}
NO_PART = {"__pycache__", ".ipynb_checkpoints"}


def files(package: str) -> dict[str, Path]:
    """List the files of a package, by the names that Python knows them by."""
    above = PACKAGES[package]
    found = sorted(f for f in (above / package).rglob("*") if f.is_file())
    return {
        file.relative_to(above).as_posix(): file
        for file in found
        if not NO_PART & {*file.parts}
    }


def write(folder: Path) -> list[Path]:
    """Write the archives into a folder; the same files, the same bytes."""
    written = []
    for name, packages in ARCHIVES.items():
        with ZipFile(folder / name, "w", ZIP_DEFLATED) as archive:
            for package in packages:
                for place, file in files(package).items():
                    info = ZipInfo(place)
                    archive.writestr(info, file.read_bytes(), ZIP_DEFLATED)
        written.append(folder / name)
    return written


if __name__ == "__main__":
    write(Path(sys.argv[1]))
