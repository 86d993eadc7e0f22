"""Call a function in a process of its own: `alone("module:function", ...)`.

A tool then cannot change what is measured after it, and a tool that fails
takes nothing else with it.
"""

import json
import subprocess
import sys
import warnings
from pkgutil import resolve_name

import torch

PATIENCE = 900  # seconds


def alone(name: str, *given):
    """Call a function in a fresh process, and give what it gave.

    All that goes in or out must be JSON. Raises RuntimeError with the last
    line that a process wrote before it failed, or if it does not end.
    """
    what = [name, json.dumps(given)]
    command = [sys.executable, "-m", "benchmarks.alone", *what]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no end after {PATIENCE} seconds") from None
    if done.returncode:
        last = done.stderr.strip().split("\n")[-1]
        raise RuntimeError(last or f"stopped with {done.returncode}")
    return json.loads(done.stdout.split("\n")[-2])


def main(name: str, given: str) -> None:
    """Call a function: on one thread, without gradients or warnings."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        print(json.dumps(resolve_name(name)(*json.loads(given))))


if __name__ == "__main__":
    main(*sys.argv[1:])
