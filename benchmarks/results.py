"""Train what the chapters show: the longer runs, and the shipped translator.

make results          # all of it, about three hours on one thread
make results RUNS="translator positions"

Writes tformer_lite/example/stored. Trained numbers differ from machine to
machine in their last digits, and so does what is written.
"""

import json
import sys

import torch

from benchmarks.characters import (
    characters,
    overfitting,
    positions,
    samples,
)
from benchmarks.experts import experts
from benchmarks.head_jobs import head_jobs
from benchmarks.left_out import blind, faulty, left_out
from benchmarks.reasons import blocks, hidden, variants
from benchmarks.recurrent import recurrent
from benchmarks.translators import (
    learning,
    schedules,
    starts,
    translator,
    undecayed,
)
from tformer_lite.example.shipped import STORED_FILES

RUNS = {
    run.__name__: run
    for run in (
        translator,
        undecayed,
        learning,
        starts,
        schedules,
        overfitting,
        positions,
        characters,
        samples,
        blocks,
        hidden,
        head_jobs,
        variants,
        left_out,
        blind,
        faulty,
        experts,
        recurrent,
    )
}


def store(name: str, found: dict) -> None:
    """Put the results of one run among those of the others."""
    file = STORED_FILES / "results.json"
    results = json.loads(file.read_text("utf8")) if file.exists() else {}
    results[name] = found
    text = json.dumps(results, indent=1, sort_keys=True, ensure_ascii=False)
    file.write_text(text + "\n", "utf8", newline="\n")


def main(names: list[str]) -> None:
    """Do the runs of these names, or all."""
    torch.set_num_threads(1)
    STORED_FILES.mkdir(exist_ok=True)
    for name in names or RUNS:
        print(f"{name}: {RUNS[name].__doc__}", flush=True)
        store(name, RUNS[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
