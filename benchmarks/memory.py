"""How much more memory a traced run of paper_base takes than a plain one.

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

import torch

from benchmarks.alone import alone
from benchmarks.models import paper
from benchmarks.rounds import TRYING, spread
from tformer_lite import trace

MB = 1e6
UNIT = 1 if sys.platform == "darwin" else 1024
PAIRS = 2 if TRYING else 5  # of processes
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


def memory_rows() -> list[dict]:
    """Measure what is held after a run, and what is needed at its peak."""
    held, peak = ([side[i] for side in both("python_side")] for i in (0, 1))
    return [
        memory_row("Python's objects, held", [held]),
        memory_row("Python's objects, at the peak", [peak]),
        memory_row("tensors, held", [both("tensor_side")]),
        memory_row(
            "the whole process, at the peak",
            [both("resident") for _ in range(PAIRS)],
        ),
    ]


def memory_row(name: str, pairs: list[list[float]]) -> dict:
    """Sum pairs of a plain run and a traced one up, in MB."""
    return {
        "name": name,
        "rounds": len(pairs),
        "plain": spread([plain for plain, _ in pairs]),
        "extra": spread([traced - plain for plain, traced in pairs]),
    }
