"""Build the virtual environment, or say in one sentence why that failed.

usage: environment.py FOLDER REQUIREMENTS GIGABYTES

Runs on whatever Python a machine has, old ones too, so that the message
about a wrong version is a message and not a syntax error.
"""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
REASONS = (
    (
        ("No space left on device", "Disk quota exceeded"),
        "the disk is full: free some space and run make again.",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        "this machine does not trust the certificate that the package index "
        "shows; a network that looks into what passes has one of its own. "
        "Name its file, PIP_CERT=/path/to/file.crt make book, and run again.",
    ),
    (
        (
            "Temporary failure in name resolution",
            "Failed to establish a new connection",
            "Name or service not known",
            "nodename nor servname",
            "Network is unreachable",
            "Read timed out",
        ),
        "the package index cannot be reached: connect to the network and "
        "run make again.",
    ),
    (
        (
            "Failed to build",
            "Failed building wheel",
            "error: command 'gcc'",
            "error: command 'cc'",
            "error: command 'clang'",
            "xcrun: error",
        ),
        "a package has no ready-made wheel for this machine, and there is no "
        "working C compiler: use Python 3.11 to 3.14, or install gcc (on "
        "macOS: xcode-select --install).",
    ),
    (
        ("No matching distribution found", "Requires-Python"),
        "pip finds no package that fits: check the network, and use Python "
        "3.11 to 3.14 on Linux or macOS.",
    ),
)


def version_problem(version):
    """Say what is wrong with a Python version, or return None."""
    if tuple(version[:2]) >= OLDEST:
        return None
    return (
        "this is Python %d.%d, and the book needs 3.11 or newer: install one, "
        "then run for example `make book PYTHON=python3.12`." % version[:2]
    )


def space_problem(folder, gigabytes):
    """Say how much disk space is missing, or return None."""
    free = shutil.disk_usage(folder).free / 1e9
    if free >= gigabytes:
        return None
    return "%.1f GB are free on this disk, and %.0f GB are needed." % (
        free,
        gigabytes,
    )


def pip_problem(log):
    """Find the cause in what pip printed."""
    for signs, sentence in REASONS:
        if any(sign in log for sign in signs):
            return sentence
    errors = [line for line in log.splitlines() if line.startswith("ERROR")]
    return errors[-1] if errors else "pip failed."


def venv_problem(log):
    """Find the cause in what the venv module printed."""
    if "No space left" in log:
        return pip_problem(log)
    return (
        "this Python cannot make a virtual environment: install its venv "
        "module (Debian and Ubuntu: apt install python3-venv)."
    )


def run(command, problem):
    """Run a command quietly; on failure keep its output and say why."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    log = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode:
        try:
            with open("install.log", "w") as file:
                file.write(log)
        except (OSError, UnicodeError):
            pass
        fail(problem(log) + " (All that was printed: install.log)")


def fail(sentence):
    """Leave with one sentence."""
    sys.exit("Cannot set up: " + sentence)


def main(folder, requirements, gigabytes):
    problem = version_problem(sys.version_info)
    if problem is None:
        problem = space_problem(os.curdir, float(gigabytes))
    if problem:
        fail(problem)
    python = os.path.join(folder, "bin", "python")
    # Without pip, a failed attempt left it behind; without python (a link
    # that leads nowhere), the Python that it was made with is gone.
    pip = os.path.join(folder, "bin", "pip")
    if not (os.path.exists(python) and os.path.exists(pip)):
        run([sys.executable, "-m", "venv", "--clear", folder], venv_problem)
    print("Installing %s into %s ..." % (requirements, folder))
    sys.stdout.flush()
    constraints = os.path.join("book", "constraints.txt")
    run(
        [python, "-m", "pip", "install", "--disable-pip-version-check"]
        + ["-r", requirements, "-c", constraints],
        pip_problem,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
