"""Set what notebooks and links belong to: a release, or what is on main.

usage: version.py NUMBER | main

A release's number also goes to the packages and to what cites them. Its
notebooks fetch the packages of the release v0.2.0, whatever happens to main;
so make it the last commit before the tag, and set main again in the next.
Needs git and Python, and nothing that has to be installed.
"""

import re
import sys
from pathlib import Path

from repository import ROOT, addresses, project_files, rewrite

NUMBER = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
BRANCH = re.compile(r"(?<=^  branch: )\S+$", re.MULTILINE)
MODULE_VERSION = re.compile(r'(?<=^__version__ = ")[^"]+', re.MULTILINE)


def module_version(root: Path = ROOT) -> str:
    """Read the packages' version where it stands."""
    text = (root / "tformer_lite" / "__init__.py").read_text("utf8")
    return MODULE_VERSION.search(text)[0]


def branch_of(root: Path = ROOT) -> str:
    """Read the branch or tag that links lead to."""
    return BRANCH.search((root / "_config.yml").read_text("utf8"))[0]


def home(branch: str, url: str, site: str) -> str:
    """Give the address that first cells fetch from: of main the site, of a
    release its files."""
    return site if branch == "main" else f"{url}/releases/download/{branch}"


def main(version: str, root: Path = ROOT) -> None:
    """Put the version where the old one stands."""
    if version != "main" and not NUMBER.fullmatch(version):
        sys.exit(f"{version!r} is no version: write 0.2.0, 0.2.0rc1 or main.")
    branch = branch_of(root)
    number = module_version(root)
    tag = version if version == "main" else f"v{version}"
    places = addresses(root)
    changes = dict(
        zip(version_forms(branch, *places), version_forms(tag, *places))
    )
    if version != "main":
        changes |= {
            f"{name}{number}": f"{name}{version}" for name in BEFORE_NUMBER
        }
    changed = [file for file in project_files(root) if rewrite(file, changes)]
    print(f"{tag} now stands in {len(changed)} files.")


# What stands before the packages' version.
BEFORE_NUMBER = (
    '__version__ = "',
    "version: ",
    "shapewatch==",
    "tformer-lite==",
)


def version_forms(branch: str, url: str, site: str) -> list[str]:
    """Write a branch or a tag in each of the ways that files do."""
    cell = f'HOME = "{home(branch, url, site)}'
    in_notebook = cell.replace('"', r"\"")
    return [cell, in_notebook, f"  branch: {branch}", f"/blob/{branch}"]


if __name__ == "__main__":
    main(*sys.argv[1:])
