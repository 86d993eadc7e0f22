"""The project's files, copied, and its notebooks."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))
EXERCISES = sorted((ROOT / "chapters" / "exercises").glob("*.ipynb"))


def run(folder: Path, *command) -> subprocess.CompletedProcess:
    """Run a command in a folder, and let git find no repository but its own:
    in a hook, GIT_DIR would be set, to the repository that is tested."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True
    )


def printed(cells: list) -> str:
    """All that cells of a notebook print, and show as text."""
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join(
        o.get("text") or o["data"].get("text/plain", "") for o in outputs
    )


def project_files(root: Path) -> list[Path]:
    """The files that git has, or would take; all, in an unpacked sdist."""
    if not (root / ".git").exists():
        return unpacked_files(root)
    listing = run(root, "git", "ls-files", "-coz", "--exclude-standard")
    names = listing.stdout.split("\0")
    return [root / name for name in names if (root / name).is_file()]


def unpacked_files(root: Path) -> list[Path]:
    """The files of a folder that .gitignore does not name."""
    lines = (root / ".gitignore").read_text("utf8").split()
    made = {line.strip("/") for line in lines}
    files = [file for file in root.rglob("*") if file.is_file()]
    return [f for f in files if not made & {*f.relative_to(root).parts}]


def copy_project(folder: Path) -> Path:
    """Copy the working tree, as it is now, into an empty repository."""
    for file in project_files(ROOT):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    run(folder, "git", "init", "-q").check_returncode()
    return folder


def archive(checkout: Path) -> str:
    """Write the archives of a repository's packages as `make book` does, and
    give the address that the first cell finds them at."""
    place = checkout.parent / f"{checkout.name}-published"
    place.mkdir()
    write = [sys.executable, "book/_tools/packages.py", place]
    run(checkout, *write).check_returncode()
    return place.as_uri()
