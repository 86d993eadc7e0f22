"""Measure everything that the book's page of benchmarks shows.

make bench                   # about twelve minutes on one thread
NANOGPT=folder make bench    # with a checkout of nanoGPT to compare with
QUICK=1 make bench           # a minute or two, only to see that all works

Writes book/benchmarks.json, and book/benchmarks.md from it, after each
measurement. What fails has its reason in place of its figures.
"""

import json
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import tformer_lite
from benchmarks import page
from benchmarks.alone import alone
from benchmarks.caching import LENGTHS
from benchmarks.models import MODELS
from benchmarks.rounds import TRYING
from benchmarks.tools import TOOLS

PACKAGES = (
    "torch",
    "torchlens",
    "torchinfo",
    "TorchSnooper",
    "PySnooper",
    "setuptools",
)


class Job(NamedTuple):
    """A comparison: its section of the page, what is compared, and the
    function that measures it with what it is given."""

    section: str
    what: str
    function: str
    given: tuple = ()

    @property
    def label(self) -> str:
        """Name what is measured, for who waits and where it fails."""
        return ", ".join([self.what, *self.given[1:]])


JOBS = (
    *(
        Job("recording", model, "recording:tool_rows", (model, tool))
        for model in MODELS
        for tool in TOOLS
    ),
    Job("checking", "the running example", "checking:example_rows"),
    Job("checking", "all bugs of the gallery", "checking:gallery_rows"),
    Job("attention", "attention, a step", "training:attention_rows"),
    Job("attention", "nanoGPT, a step", "training:nanogpt_rows"),
    Job("attention", "two recipes, a step", "training:recipe_rows"),
    Job("attention", "a page by heart, a step", "training:small_rows"),
    Job("translator", "the whole training", "training:translator_rows"),
    *(
        Job("cache", f"{n} new tokens", "caching:writing_rows", (n,))
        for n in LENGTHS
    ),
)


def rows_of(job: Job) -> list[dict]:
    """Measure in a fresh process; a failure gives a row that says why."""
    try:
        return alone(f"benchmarks.{job.function}", *job.given)
    except RuntimeError as error:
        problem = str(error).replace(f"{Path.cwd()}/", "")
        return [{"name": job.label, "problem": f"fails: {problem}"}]


def circumstances() -> dict:
    """Say when, where and with what is measured."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "trial": TRYING,
        "versions": {
            "Python": platform.python_version(),
            "tformer_lite": tformer_lite.__version__,
        }
        | {name: version_of(name) for name in PACKAGES},
    }


def processor() -> str:
    """Give the processor's name, as the system knows it."""
    file = Path("/proc/cpuinfo")
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def version_of(package: str) -> str:
    """Give the version of a package, if it is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main() -> None:
    """Do all jobs, and store and show what is known after each."""
    figures: dict = {"made": circumstances()}
    start = time.monotonic()
    for i, job in enumerate(JOBS, 1):
        print(f"{i}/{len(JOBS)} {job.section}: {job.label}", flush=True)
        rows = rows_of(job)
        groups = figures.setdefault(job.section, {})
        groups.setdefault(job.what, []).extend(rows)
        for problem in (r["problem"] for r in rows if "problem" in r):
            print(f"  {problem}", flush=True)
        figures["made"]["minutes"] = round((time.monotonic() - start) / 60, 1)
        store(figures)


def store(figures: dict) -> None:
    """Write the figures, and the page from them."""
    text = json.dumps(figures, indent=1, ensure_ascii=False)
    page.FIGURES.write_text(text + "\n", "utf8", newline="\n")
    page.main()


if __name__ == "__main__":
    main()
