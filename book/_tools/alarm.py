"""Say in an issue that the nightly run has failed: `make alarm`.

The first failure opens an issue; while it is open, later ones are comments
on it. Needs gh, GitHub's command line, and a token for it in GH_TOKEN.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping

TITLE = "The nightly run fails"
BODY = """\
This run failed: {run}

Its log says which of `make nightly`, `make cpus` and `make weblinks` it was.
Each can be run by hand. Close this issue when all is well again: the next
failure will open a new one.
"""


def main() -> None:
    """Comment on the issue that is open, or open one."""
    if "GITHUB_RUN_ID" not in os.environ:
        sys.exit("make alarm tells of a run on GitHub, and this is none.")
    said = ["--body", BODY.format(run=run_address(os.environ))]
    number = open_issue()
    if number is None:
        print(gh("create", "--title", TITLE, *said))
    else:
        print(gh("comment", number, *said))


def run_address(names: Mapping[str, str]) -> str:
    """Put together the address of the run, of what GitHub says of it."""
    parts = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (names[part] for part in parts)
    return f"{server}/{repository}/actions/runs/{run}"


def open_issue() -> str | None:
    """Find the number of the open issue of this title, if there is one."""
    fields = ("--json", "number,title", "--limit", "1000")
    issues = json.loads(gh("list", "--state", "open", *fields))
    numbers = [str(i["number"]) for i in issues if i["title"] == TITLE]
    return numbers[0] if numbers else None


def gh(*words: str) -> str:
    """Ask gh about issues, and give its answer."""
    command = ["gh", "issue", *words]
    return subprocess.check_output(command, text=True)


if __name__ == "__main__":
    main()
