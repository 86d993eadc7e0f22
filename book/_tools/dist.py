"""Write what a release consists of into _build/dist: `make dist`.

The wheel and the sdist of each package, the chapters as notebooks in a zip,
and the two archives that their first cells fetch. Where TAG is set, to v0.2.0
say, it has to be the tag of the version.
"""

import os
import re
import shutil
import sys

import packages
from build import ProjectBuilder
from packages import ROOT
from repository import module_version

DIST = ROOT / "_build" / "dist"
ARCHIVE_NAME = "transformer-shape-by-shape"
# Where a pyproject.toml stands.
PROJECTS = ROOT, ROOT / "shapewatch", ROOT / "classroom"
# In the README: how to open what is in the zip.
HOW = re.compile(r"^## (Open the notebooks\n.*?)(?=^## )", re.M | re.S)


def main() -> str | None:
    """Write all of it, and say what was written."""
    number = module_version()
    if problem := tag_problem(os.environ.get("TAG"), number):
        return problem
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    for project in PROJECTS:
        for kind in "wheel", "sdist":
            ProjectBuilder(project).build(kind, DIST)
    inside = {
        f"{ARCHIVE_NAME}/{name}": text for name, text in notebooks().items()
    }
    packages.zip_up(inside, DIST / f"{ARCHIVE_NAME}-{number}-notebooks.zip")
    packages.write_archives(DIST)
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1000:7,.0f} kB  {file}")
    return None


def tag_problem(tag: str | None, number: str) -> str | None:
    """Say what is wrong with a tag, or return None."""
    if not tag or tag == f"v{number}":
        return None
    return (
        f"the tag {tag!r} is not that of version {number}: tag v{number}, or "
        "change __version__ in tformer_lite/__init__.py first."
    )


def notebooks() -> dict[str, bytes]:
    """Give the files of the zip: the chapters, and how to open them."""
    how = HOW.search((ROOT / "README.md").read_text("utf8"))[1]
    files = {
        "README.md": f"# {how}".encode(),
        "LICENSE": (ROOT / "book" / "LICENSE").read_bytes(),
    }
    for chapter in sorted((ROOT / "chapters").rglob("*.ipynb")):
        name = chapter.relative_to(ROOT).as_posix()
        files[name] = chapter.read_bytes()
    return files


if __name__ == "__main__":
    sys.exit(main())
