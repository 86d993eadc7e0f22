"""Run the tests with the newest of what readers have: `make nightly`.

What NEWEST names is not held to its pin, nor to constraints; all else that
requirements.txt names is. The environment is made anew in _build/newest.
"""

import re
import shutil

from extras import ROOT, new_python, run

FOLDER = ROOT / "_build" / "newest"
NEWEST = ["torch", "matplotlib", "seaborn", "transformers", "tokenizers"]
PINS = re.compile(rf"^({'|'.join(NEWEST)})==.*$", re.MULTILINE)
QUICK = ["tests", "chapters", "--nbval", "--nbval-current-env"]
QUICK += ["-m", "not full", "-n", "2", "--dist", "loadfile", "-q"]


def main() -> None:
    """Install, say what came, and run the quick tests and the notebooks."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    python = new_python(FOLDER)
    run(python, "-m", "pip", "-q", "install", *wanted(), cwd=ROOT)
    run(python, "-m", "pip", "list", cwd=ROOT)
    run(python, "-m", "pytest", *QUICK, cwd=ROOT)


def wanted() -> list[str]:
    """List what is to be installed: the book's packages, and the others as
    requirements.txt has them, with no pin where the newest is wanted."""
    text = (ROOT / "requirements.txt").read_text("utf8")
    lines = PINS.sub(r"\1", text).splitlines()
    names = [line for line in lines if re.match(r"\w", line)]
    return ["-r", "book/requirements.txt", *names]


if __name__ == "__main__":
    main()
