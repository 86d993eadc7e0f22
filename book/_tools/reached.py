"""Say what of tformer_lite no cell of a notebook reaches, and no command that
a page shows: `make reached`, in ten minutes."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import coverage
import nbformat
from nbclient import NotebookClient
from packages import ROOT

PACKAGE = ROOT / "tformer_lite"
TEXTS = PACKAGE / "example" / "texts"
COMMAND = re.compile(
    r"^python -m tformer_lite (.*?)(?:  +#.*)?$", re.MULTILINE
)
SETTINGS = """[run]
source_pkgs = tformer_lite
data_file = {0}/data
parallel = true
[json]
output = {0}/report.json
"""
ANEW = "import coverage; coverage.process_startup()"  # in every kernel


def main(names: list[str]) -> None:
    """Run the notebooks of some names, or all, and all commands; report."""
    with TemporaryDirectory() as folder:
        settings = Path(folder, "settings")
        settings.write_text(SETTINGS.format(folder), "utf8")
        startup = Path(folder, "profile_default", "startup", "first.py")
        startup.parent.mkdir(parents=True)
        startup.write_text(ANEW, "utf8")
        os.environ |= {"IPYTHONDIR": folder, "PYTHONPATH": str(ROOT)}
        os.environ["COVERAGE_PROCESS_START"] = str(settings)
        for file in sorted((ROOT / "chapters").rglob("*.ipynb")):
            if not names or file.stem in names:
                run_notebook(file)
        for page in [*ROOT.glob("*.md"), *ROOT.glob("[bc]*/*.md")]:
            run_commands(page.read_text("utf8"))
        report(settings)


def run_notebook(file: Path) -> None:
    """Run all cells; an exercise that nobody has answered may fail."""
    print(f"running {file.relative_to(ROOT)}", flush=True)
    place = {"metadata": {"path": str(file.parent)}}
    options = {"timeout": None, "allow_errors": True, "resources": place}
    NotebookClient(nbformat.read(file, 4), **options).execute()


def run_commands(page: str) -> None:
    """Run what a page shows, on short texts that have the names there."""
    python = [sys.executable, "-m", "coverage", "run", "-m", "tformer_lite"]
    settings = f"--rcfile={os.environ['COVERAGE_PROCESS_START']}"
    with TemporaryDirectory() as folder, chdir(folder):
        for line in COMMAND.findall(page):
            for name in re.findall(r"\w+\.(?:tsv|txt)", line):
                source = "train.tsv" if "tsv" in name else "book.txt"
                text = (TEXTS / source).read_text("utf8")[:5000]
                Path(name).write_text(text.rpartition("\n")[0], "utf8")
            words = [*python[:4], settings, *python[4:], *shlex.split(line)]
            subprocess.run(words, check=True)


def report(settings: Path) -> None:
    """Print the functions that were not run, and the share of the lines."""
    measured = coverage.Coverage(config_file=str(settings))
    measured.combine()
    measured.json_report()
    found = json.loads(settings.with_name("report.json").read_text("utf8"))
    functions = {
        f"{Path(file).relative_to(ROOT)}: {name}": part["executed_lines"]
        for file, one in found["files"].items()
        for name, part in one["functions"].items()
        if name
    }
    print(*(name for name, lines in functions.items() if not lines), sep="\n")
    run = sum(map(bool, functions.values()))
    lines = found["totals"]["percent_covered_display"]
    print(f"{run} of {len(functions)} functions, and {lines} % of all lines")


if __name__ == "__main__":
    main(sys.argv[1:])
