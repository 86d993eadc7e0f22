"""Train what the chapters show: the longer runs, and the shipped translator.

make results          # all of it, about three hours on one thread
make results RUNS="translator positions"

Writes tformer_lite/example/stored. Trained numbers differ from machine to
machine in their last digits, and so does what is written.
"""

import json
import sys
from importlib import import_module

import torch

from tformer_lite.example.shipped import STORED_FILES

MODULES = {
    "translators": "translator learning starts schedules",
    "characters": "overfitting positions characters rivals",
    "reasons": "blocks variants",
    "head_jobs": "head_jobs",
    "left_out": "left_out blind faulty",
    "experts": "experts experts_at_work",
    "recurrent": "recurrent",
}
RUNS = {
    name: getattr(import_module(f"benchmarks.{module}"), name)
    for module, names in MODULES.items()
    for name in names.split()
}


def main(names: list[str]) -> None:
    """Do the runs of these names, or all, and put what each finds among the
    results of the others."""
    torch.set_num_threads(1)
    file = STORED_FILES / "results.json"
    for name in names or RUNS:
        print(f"{name}: {RUNS[name].__doc__}", flush=True)
        result = RUNS[name]()
        results = json.loads(file.read_text("utf8")) | {name: result}
        text = json.dumps(
            results, indent=1, sort_keys=True, ensure_ascii=False
        )
        file.write_text(text + "\n", "utf8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
