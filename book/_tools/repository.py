"""Set the repository's address: in pyproject.toml and wherever it is copied.

usage: repository.py URL

Needs git and Python, and nothing that has to be installed.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from cells import condensed, ids

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"https://([\w-]+\.)+\w+/[\w.-]+/[\w.-]+", re.ASCII)
PLACE = re.compile(r'^Repository = "(.+)"$', re.MULTILINE)


def main(url: str, root: Path = ROOT) -> None:
    """Replace the old address by the new one in every file of the project.

    pyproject.toml comes last: if anything fails before, the old address is
    still known, and running it again finishes the work.
    """
    if problem := address_problem(url):
        sys.exit(problem)
    pyproject = root / "pyproject.toml"
    old = PLACE.search(pyproject.read_text("utf8"))[1]
    changed = [f for f in files(root) if f != pyproject and move(f, old, url)]
    move(pyproject, old, url)
    print(f"{url} now stands in pyproject.toml and {len(changed)} more files.")
    if not url.startswith("https://github.com/"):
        print("Colab opens notebooks from github.com alone, not from there.")


def address_problem(url: str) -> str | None:
    """Say what is wrong with an address, or return None."""
    if ADDRESS.fullmatch(url) and not url.endswith((".git", ".")):
        return None
    return (
        f"{url!r} is not a repository's address: write it as "
        "https://HOST/OWNER/NAME, with no slash and no .git at the end."
    )


def files(root: Path) -> list[Path]:
    """List the project's files: those that git knows, or would take."""
    git = ["git", "ls-files", "-coz", "--exclude-standard"]
    listing = subprocess.run(git, cwd=root, capture_output=True, text=True)
    if listing.returncode:
        sys.exit("git does not know this folder: run `git init` here first.")
    names = listing.stdout.split("\0")
    return [root / name for name in names if (root / name).is_file()]


def move(file: Path, old: str, new: str) -> bool:
    """Write the new address where a file has the old one, if it has it."""
    before = file.read_bytes()
    after = moved(before, old, new)
    if after != before and file.suffix == ".ipynb":
        after = renamed(after.decode()).encode()
        # It says what text it was made from.
        text = file.with_suffix(".md").read_bytes()
        texts = moved(text, new, old), moved(text, old, new)
        after = after.replace(*(condensed(t.decode()).encode() for t in texts))
    if after != before:
        file.write_bytes(after)
    return after != before


def moved(text: bytes, old: str, new: str) -> bytes:
    """Give a text in which the new address stands where the old one stood."""
    for form in str, colab:
        whole = re.escape(form(old).encode()) + rb"(?![\w-])"
        text = re.sub(whole, form(new).encode(), text)
    return text


def colab(url: str) -> str:
    """Shorten an address as Colab's links do: github/OWNER/NAME."""
    return "github/" + url.split("/", 3)[3]


def renamed(notebook: str) -> str:
    """Give the cells of a notebook's text the ids that their sources ask."""
    cells = json.loads(notebook)["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    for cell, word in zip(cells, ids(sources), strict=True):
        notebook = notebook.replace(f'"id": "{cell["id"]}"', f'"id": "{word}"')
    return notebook


if __name__ == "__main__":
    main(*sys.argv[1:])
