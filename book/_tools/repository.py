"""Set the addresses of the repository and of the site, wherever they stand.

usage: repository.py URL [SITE]

They are in pyproject.toml, with copies in chapters, links and papers. SITE is
where the book is published: for a repository on GitHub, its Pages, unless
another is given. Needs git and Python, and nothing that has to be installed.
"""

import re
import subprocess
import sys
from pathlib import Path

from cells import digest, with_new_ids
from packages import ROOT

HOST = r"https://([\w-]+\.)+\w+"
URL = re.compile(rf"{HOST}/[\w.-]+/[\w.-]+", re.ASCII)
SITE = re.compile(rf"{HOST}(/[\w.-]+)*", re.ASCII)
NOBODY = "your_account"  # whose the repository is until it is set
PREVIEW_FILE = (
    "book/_static/preview.png"  # the README's, which PyPI shows, too
)


def main(url: str, site: str = "", root: Path = ROOT) -> None:
    """Replace the old addresses by the new ones in every file.

    pyproject.toml comes last: if anything fails before, the old addresses
    are still known, and running it again finishes the work.
    """
    site = site or pages(url)
    if wrong := problem(url, site):
        sys.exit(wrong)
    pyproject = root / "pyproject.toml"
    changes = dict(
        zip(address_forms(*addresses(root)), address_forms(url, site))
    )
    others = [file for file in project_files(root) if file != pyproject]
    changed = [file for file in others if rewrite(file, changes)]
    rewrite(pyproject, changes)
    print(f"{url} and {site} now stand in {len(changed) + 1} files.")
    if not url.startswith("https://github.com/"):
        print("Colab opens notebooks from github.com alone, not from there.")


def addresses(root: Path) -> tuple[str, str]:
    """Read the repository's address, and the site's, where both are set."""
    text = (root / "pyproject.toml").read_text("utf8")
    url, site = (
        re.search(rf'^{name} = "(.+)"$', text, re.MULTILINE)[1]
        for name in ("Repository", "Homepage")
    )
    return url, site


def pages(url: str) -> str:
    """Give the site of a repository on GitHub; "" for others."""
    owner_and_name = url.removeprefix("https://github.com/")
    owner, _, name = owner_and_name.partition("/")
    return "" if owner_and_name == url else f"https://{owner}.github.io/{name}"


def problem(url: str, site: str) -> str | None:
    """Say what is wrong with an address, or return None."""
    if not URL.fullmatch(url) or url.endswith((".git", ".")):
        return (
            f"{url!r} is not a repository's address: write it as "
            "https://HOST/OWNER/NAME, with no slash and no .git at the end."
        )
    if not SITE.fullmatch(site):
        return (
            f"{site!r} is not a site's address: write SITE=https://HOST/PATH, "
            "with no slash at the end, where the book will be read."
        )
    return None


def address_forms(url: str, site: str) -> list[str]:
    """Write the addresses in each of the ways that files do."""
    is_set = NOBODY not in url
    picture = f"{url}/raw/main/{PREVIEW_FILE}" if is_set else PREVIEW_FILE
    return [site, f"]({picture})", url, f"github/{url.split('/', 3)[3]}"]


def project_files(root: Path) -> list[Path]:
    """List the project's files: those that git knows, or would take."""
    git = ["git", "ls-files", "-coz", "--exclude-standard"]
    listing = subprocess.run(git, cwd=root, capture_output=True, text=True)
    if listing.returncode:
        sys.exit("git does not know this folder: run `git init` here first.")
    names = listing.stdout.split("\0")
    return [root / name for name in names if (root / name).is_file()]


def rewrite(file: Path, changes: dict[str, str]) -> bool:
    """Write the new words where a file has the old ones, and say whether it
    had any. Words that only begin like an old one are others."""
    before = file.read_bytes()
    after = with_changes(before, changes)
    if after == before:
        return False
    if file.suffix == ".ipynb":
        text = file.with_suffix(".md").read_bytes()  # which comes after it
        texts = text.decode(), with_changes(text, changes).decode()
        after = with_new_ids(after.decode()).encode()
        # It says what text it was made from.
        after = after.replace(*(digest(each).encode() for each in texts))
    file.write_bytes(after)
    return True


def with_changes(text: bytes, changes: dict[str, str]) -> bytes:
    """Put the new words in the place of the old ones."""
    table = {old.encode(): new.encode() for old, new in changes.items()}
    either = b"|".join(map(re.escape, table))
    return re.sub(
        rb"(?:" + either + rb")(?![\w-])", lambda m: table[m[0]], text
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
