"""Say what of tformer_lite no cell of a notebook reaches, and no command that
a page shows."""

import json
import os
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from coverage import Coverage
from nbclient import NotebookClient
from packages import ROOT

CORPUS = ROOT / "tformer_lite" / "example" / "texts"
# On short texts that have the names in the commands.
SHORT_TEXTS = {"book.txt": "book.txt", "my.txt": "book.txt"}
COMMAND = re.compile(r"^python( -m tformer_lite .*)", re.MULTILINE)
SETTINGS = "[run]\nsource_pkgs = tformer_lite\nparallel = true\ndata_file = "
WATCH = "import coverage; coverage.process_startup()"  # in each kernel
SAVE = "import coverage; coverage.Coverage.current().save()"


def main() -> None:
    """Run all notebooks and commands, and report."""
    with TemporaryDirectory() as folder:
        settings = Path(folder, "settings")
        settings.write_text(f"{SETTINGS}{folder}/data", "utf8")
        startup = Path(folder, "profile_default", "startup", "first.py")
        startup.parent.mkdir(parents=True)
        startup.write_text(WATCH, "utf8")
        os.environ |= {"IPYTHONDIR": folder, "PYTHONPATH": str(ROOT)}
        os.environ["COVERAGE_PROCESS_START"] = str(settings)
        for file in sorted((ROOT / "chapters").rglob("*.ipynb")):
            run_notebook(file)
        for page in [*ROOT.glob("*.md"), *ROOT.glob("[bc]*/*.md")]:
            run_commands(page.read_text("utf8"), settings)
        report(settings)


def run_notebook(file: Path) -> None:
    """Run all cells; an exercise that nobody has answered may fail."""
    print(f"running {file.relative_to(ROOT)}", flush=True)
    notebook = nbformat.read(file, 4)
    notebook.cells.append(nbformat.v4.new_code_cell(SAVE))
    place = {"metadata": {"path": str(file.parent)}}
    options = {"timeout": None, "allow_errors": True, "resources": place}
    NotebookClient(notebook, **options).execute()


def run_commands(page: str, settings: Path) -> None:
    """Run the commands that a page shows, in an empty folder."""
    watched = f"{sys.executable} -m coverage run --rcfile={settings}"
    with TemporaryDirectory() as folder, chdir(folder):
        for name, source in SHORT_TEXTS.items():
            lines = (CORPUS / source).read_text("utf8").splitlines()[:99]
            Path(name).write_text("\n".join(lines), "utf8")
        for words in COMMAND.findall(page):
            subprocess.run(watched + words, shell=True, check=True)


def report(settings: Path) -> None:
    """Print the functions that were not run, and the share of all lines."""
    measured = Coverage(config_file=str(settings))
    measured.combine()
    measured.json_report(outfile=f"{settings}.json")
    counted = json.loads(Path(f"{settings}.json").read_text("utf8"))
    functions = {
        f"{Path(place).resolve().relative_to(ROOT)}: {name}": part["summary"]
        for place, file in counted["files"].items()
        for name, part in file["functions"].items()
        if name and part["summary"]["num_statements"]
    }
    left = [x for x, part in functions.items() if not part["covered_lines"]]
    share = counted["totals"]["percent_covered_display"]
    print(*left, f"{len(left)} of {len(functions)} functions", sep="\n")
    print(f"are not reached; {share} % of all lines are.")


if __name__ == "__main__":
    main()
