"""How much more memory a traced run of paper_base takes than a plain one.

python -m benchmarks.memory

Nothing is kept (no `keep`). Python's objects are counted by tracemalloc.
Tensors are not, so there are also the bytes of all tensors still alive, and
the highest resident memory of fresh processes, which counts everything.
"""

import gc
import os
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from resource import RUSAGE_SELF, getrusage
from statistics import median

import torch

from benchmarks.alone import alone
from benchmarks.models import paper
from tformer_lite import trace

MB = 1e6
UNIT = 1 if sys.platform == "darwin" else 1024
PROCESSES = 7
# The C library then hands freed tensors back at once: less noise.
os.environ["MALLOC_MMAP_THRESHOLD_"] = str(2**16)
os.environ["MALLOC_TRIM_THRESHOLD_"] = str(2**16)


def runs() -> tuple[Callable, Callable]:
    """Make a plain run and a traced one, after one that does not count."""
    model, inputs = paper()
    model(*inputs)
    return partial(model, *inputs), partial(trace, model, *inputs)


def resident(traced: bool) -> float:
    """Measure the highest resident memory of this process, in MB."""
    held = runs()[traced]()
    del held
    return getrusage(RUSAGE_SELF).ru_maxrss * UNIT / MB


def python_side(traced: bool) -> tuple[float, float]:
    """Measure what Python's objects hold on to and need at most, in MB."""
    run = runs()[traced]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    held = run()
    gc.collect()
    now, most = tracemalloc.get_traced_memory()
    del held
    return (now - before) / MB, (most - before) / MB


def tensor_side(traced: bool) -> float:
    """Measure the tensors that stay alive after a run, in MB."""
    run = runs()[traced]
    before = alive()
    held = run()
    now = alive()
    del held
    return (now - before) / MB


def alive() -> int:
    """Count the bytes of all tensors that Python can reach."""
    gc.collect()
    found = (x for x in gc.get_objects() if isinstance(x, torch.Tensor))
    storages = [x.untyped_storage() for x in found]
    return sum({s.data_ptr(): s.nbytes() for s in storages}.values())


def both(measure: str) -> list:
    """Measure a plain run and a traced one, each in a fresh process."""
    name = f"benchmarks.memory:{measure}"
    return [alone(name, traced) for traced in (False, True)]


def report(what: str, plain: float, traced: float) -> None:
    """Print one row."""
    print(f"{what:17} {plain:7.2f}  {traced:7.2f}  {traced - plain:7.2f}")


def main() -> None:
    """Print what is held, and what is needed at the peak."""
    print("in MB               plain   traced    extra")
    held, peak = zip(*both("python_side"))
    report("Python, held", *held)
    report("Python, at peak", *peak)
    report("tensors, held", *both("tensor_side"))
    pairs = [both("resident") for _ in range(PROCESSES)]
    report("resident, at peak", *map(median, zip(*pairs)))
    extra = sorted(traced - plain for plain, traced in pairs)
    print(f"resident, in {PROCESSES} pairs of processes: ", end="")
    print(f"{extra[0]:.2f} to {extra[-1]:.2f} extra")


if __name__ == "__main__":
    main()
