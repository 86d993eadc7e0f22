"""Look for mistakes in .github/workflows with actionlint: for `make lint`.

actionlint comes from .github/requirements.txt, whose installation fetches it
from github.com. Where that cannot be reached, the workflows stay unchecked;
on GitHub itself, that is an error.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEED = ROOT / ".github" / "requirements.txt"
UNCHECKED = "actionlint cannot be fetched: the workflows are not checked."


def main() -> int | str:
    """Give actionlint's exit code, after it has said what it has to say."""
    program = found() or fetched()
    if program:
        return subprocess.run([program], cwd=ROOT).returncode
    if os.environ.get("GITHUB_ACTIONS"):
        return UNCHECKED
    print(UNCHECKED)
    return 0


def found() -> str | None:
    """Find actionlint beside this Python, or elsewhere on the machine."""
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return shutil.which("actionlint", path=os.pathsep.join(places))


def fetched() -> str | None:
    """Fetch actionlint, and give its place where that went well."""
    pip = [sys.executable, "-m", "pip", "-q", "install", "-r", NEED]
    subprocess.run(pip, capture_output=True)
    return found()


if __name__ == "__main__":
    sys.exit(main())
