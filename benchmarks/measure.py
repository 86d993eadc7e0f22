"""Measure everything that the book's page of benchmarks shows.

make bench                   # about twelve minutes on one thread
NANOGPT=folder make bench    # with a checkout of nanoGPT to compare with

Each measurement has a process of its own, in which no tool changes what is
measured after it. Writes book/benchmarks.json, and book/benchmarks.md from
it, after each. A tool that fails is left out.
"""

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import torch

import tformer_lite
from benchmarks import page
from benchmarks.recording import MODELS, TOOLS

PATIENCE = 900  # seconds
PACKAGES = "torch torchlens torchinfo TorchSnooper PySnooper setuptools"


class Job(NamedTuple):
    """A comparison: its section of the page, what is compared, and the
    function that measures it with what it is given."""

    section: str
    what: str
    function: str
    given: tuple[str, ...] = ()


JOBS = (
    *(
        Job("recording", model, "recording:tool_rows", (model, tool))
        for model in MODELS
        for tool in TOOLS
    ),
    Job("checking", "the running example", "recording:example_rows"),
    Job("checking", "all bugs of the gallery", "recording:gallery_rows"),
    Job("attention", "attention, a step", "training:attention_rows"),
    *(
        Job("attention", "nanoGPT, a step", "training:nanogpt_rows", (folder,))
        for folder in filter(None, [os.environ.get("NANOGPT")])
    ),
    Job("attention", "two recipes, a step", "training:recipe_rows"),
    Job("attention", "a page by heart, a step", "training:small_rows"),
    Job("translator", "the whole training", "training:translator_rows"),
    *(
        Job("cache", f"{n} new tokens", "training:writing_rows", (n,))
        for n in ("64", "128", "256", "512")
    ),
)


def rows_of(job: Job) -> list[dict]:
    """Measure in a fresh process; no row where it fails, or does not end."""
    words = [sys.executable, "-m", "benchmarks.measure", job.function]
    streams = {"stdout": subprocess.PIPE, "text": True, "timeout": PATIENCE}
    try:
        done = subprocess.run([*words, *job.given], check=True, **streams)
    except subprocess.SubprocessError as error:
        print(f"  left out: {error}", flush=True)
        return []
    return json.loads(done.stdout.split("\n")[-2])


def measure_here(function: str, *given: str) -> None:
    """Measure on one thread, without gradients or warnings, and print."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        print(json.dumps(resolve_name(f"benchmarks.{function}")(*given)))


def circumstances() -> dict:
    """Say when, where and with what is measured."""
    installed = {package.name: package.version for package in distributions()}
    versions = {x: installed.get(x, "not installed") for x in PACKAGES.split()}
    ours = {"tformer_lite": tformer_lite.__version__}
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | ours | versions,
    }


def processor() -> str:
    """Give the processor's name, as the system knows it."""
    file = Path("/proc/cpuinfo")
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("model name"):
            return line.partition(": ")[2]
    return platform.processor() or platform.machine()


def main() -> None:
    """Do all jobs, and store and show what is known after each."""
    figures: dict = {"made": circumstances()}
    start = time.monotonic()
    for i, job in enumerate(JOBS, 1):
        print(f"{i}/{len(JOBS)} {job.what}", *job.given[1:], flush=True)
        groups = figures.setdefault(job.section, {})
        groups.setdefault(job.what, []).extend(rows_of(job))
        figures["made"]["minutes"] = round((time.monotonic() - start) / 60, 1)
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        page.FIGURES.write_text(text + "\n", "utf8", newline="\n")
        page.main()


if __name__ == "__main__":
    measure_here(*sys.argv[1:]) if sys.argv[1:] else main()
