"""When each file was last changed, as git has it."""

import subprocess
from functools import cache
from pathlib import Path


@cache
def changed(root: Path) -> dict[str, str]:
    """Map each file to the day of its last commit, as in 2026-11-23.

    Nothing is known outside a repository, or in a clone without the past.
    """
    if git(root, "rev-parse", "--is-shallow-repository") != "false\n":
        return {}
    log = git(root, "log", "--format=%n%cs", "--name-only", "-z", "--", ".")
    days: dict[str, str] = {}
    day = ""
    for part in log.replace("\n", "\0").split("\0"):
        if len(part) == 10 and part[4::3] == "--":
            day = part
        elif part:
            days.setdefault(part, day)
    return days


def git(root: Path, *command: str) -> str:
    """Ask git about a folder; where it knows nothing it says nothing."""
    said = subprocess.run(
        ["git", *command], cwd=root, capture_output=True, text=True
    )
    return said.stdout
