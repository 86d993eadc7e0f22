"""Build the virtual environment, or say in one sentence why that failed.

usage: environment.py FOLDER REQUIREMENTS GIGABYTES

Runs on whatever Python a machine has, old ones too, so that the message
about a wrong version is a message and not a syntax error.
"""

import os
import shutil
import subprocess
import sys

OLD = (
    "this is Python %d.%d, and the book needs 3.11 or newer: install one, "
    "then run for example `make book PYTHON=python3.12`."
)
FULL = "%.1f GB are free on this disk, and %.0f GB are needed."
NO_VENV = (
    "this Python cannot make a virtual environment: install its venv module "
    "(Debian and Ubuntu: apt install python3-venv)."
)
NO_PACKAGES = (
    "above, pip says what it lacks: a network, disk space, Python 3.11 to "
    "3.14, a C compiler, or a certificate that a network of its own asks for "
    "(PIP_CERT=/path/to/file.crt make book). Then run make again."
)


def fail(sentence):
    """Leave with one sentence."""
    sys.exit("Cannot set up: " + sentence)


def main(folder, requirements, gigabytes):
    if sys.version_info < (3, 11):
        fail(OLD % sys.version_info[:2])
    free = shutil.disk_usage(os.curdir).free / 1e9
    if free < float(gigabytes):
        fail(FULL % (free, float(gigabytes)))
    # Without pip, a failed attempt left it behind; without python (a link
    # that leads nowhere), the Python that it was made with is gone.
    python, pip = (os.path.join(folder, "bin", x) for x in ("python", "pip"))
    if not (os.path.exists(python) and os.path.exists(pip)):
        make = [sys.executable, "-m", "venv", "--clear", folder]
        if subprocess.call(make, stdout=subprocess.DEVNULL):
            fail(NO_VENV)
    print("Installing %s into %s ..." % (requirements, folder))
    sys.stdout.flush()
    install = [python, "-m", "pip", "-q", "install", "-r", requirements]
    # Python compiles what it imports: most files here never are imported.
    install += ["--no-compile", "-c", os.path.join("book", "constraints.txt")]
    if subprocess.call(install + ["--disable-pip-version-check"]):
        fail(NO_PACKAGES)


if __name__ == "__main__":
    main(*sys.argv[1:])
