"""Set the addresses of the repository and of the site, or the version that
notebooks and links belong to, wherever they stand.

usage: repository.py URL [SITE] | NUMBER | main

SITE is where the book is published: for a repository on GitHub, its Pages,
unless another is given. A release's NUMBER also goes to the packages and to
what cites them, and its notebooks fetch the packages of that release, whatever
happens to main; so make it the last commit before the tag, and set main again
in the next. Needs git and Python, and nothing that has to be installed.
"""

import re
import subprocess
import sys
from pathlib import Path

from cells import digest, with_new_ids
from packages import ROOT

PROJECT = "pyproject.toml"  # which has the addresses
NUMBER = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?|main")
URL = re.compile(r"https://[\w.-]+/[\w.-]+/[\w.-]+(?<!\.git)", re.ASCII)
SITE = re.compile(r"https://[\w.-]+(/[\w.-]+)*", re.ASCII)
NOBODY = "your_account"  # whose the repository is until it is set
# What stands before the packages' version.
BEFORE_NUMBER = (
    '__version__ = "',
    "version: ",
    "shapewatch==",
    "tformer-lite==",
)
REFUSAL = (
    "is no place: write a repository's address as https://HOST/OWNER/NAME, a "
    "site's as https://HOST/PATH, a version as 0.2.0, 0.2.0rc1 or main."
)


def main(place: str, site: str = "", root: Path = ROOT) -> None:
    """Put new words in the place of the old ones in every file.

    pyproject.toml, which has the addresses, comes last: if anything fails
    before, running it again finishes the work.
    """
    if NUMBER.fullmatch(place):
        changes = version_changes(place, root)
    else:
        site = site or github_site(place)
        for word, form in (place, URL), (site, SITE):
            if not form.fullmatch(word):
                sys.exit(f"{word!r} {REFUSAL}")
        old, new = address_forms(*addresses(root)), address_forms(place, site)
        changes = dict(zip(old, new))
    files = sorted(project_files(root), key=root.joinpath(PROJECT).__eq__)
    changed = [file for file in files if rewrite(file, changes)]
    print(f"{place} now stands in {len(changed)} files.")


def addresses(root: Path) -> tuple[str, str]:
    """Read the repository's address, and the site's, where both are set."""
    text = (root / PROJECT).read_text("utf8")
    url, site = (
        re.search(rf'^{name} = "(.+)"$', text, re.MULTILINE)[1]
        for name in ("Repository", "Homepage")
    )
    return url, site


def github_site(url: str) -> str:
    """Give the site of a repository on GitHub; "" for others."""
    match = re.fullmatch("https://github.com/([^/]+)/(.+)", url)
    return "https://{}.github.io/{}".format(*match.groups()) if match else ""


def address_forms(url: str, site: str) -> list[str]:
    """Write the addresses in each of the ways that files do."""
    return [site, url, f"github/{url.split('/', 3)[3]}"]


def module_version(root: Path = ROOT) -> str:
    """Read the packages' version where it stands."""
    text = (root / "tformer_lite" / "__init__.py").read_text("utf8")
    return re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)[1]


def branch_of(root: Path = ROOT) -> str:
    """Read the branch or tag that links lead to."""
    text = (root / "_config.yml").read_text("utf8")
    return re.search(r"^  branch: (\S+)$", text, re.MULTILINE)[1]


def home(branch: str, url: str, site: str) -> str:
    """Give the address that first cells fetch from: of main the site, of a
    release its files."""
    return site if branch == "main" else f"{url}/releases/download/{branch}"


def version_changes(version: str, root: Path) -> dict[str, str]:
    """Give the words of a new version, by those of the old one."""
    tag = version if version == "main" else f"v{version}"
    old, new = (version_forms(x, root) for x in (branch_of(root), tag))
    changes, number = dict(zip(old, new)), module_version(root)
    if version == "main":
        return changes
    return changes | {f"{x}{number}": f"{x}{version}" for x in BEFORE_NUMBER}


def version_forms(branch: str, root: Path) -> list[str]:
    """Write a branch or a tag in each of the ways that files do."""
    cell = f'HOME = "{home(branch, *addresses(root))}'
    in_notebook = cell.replace('"', r"\"")
    return [cell, in_notebook, f"  branch: {branch}", f"/blob/{branch}"]


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
