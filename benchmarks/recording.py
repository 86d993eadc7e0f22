"""What recording costs: traced runs against plain ones, side by side.

python benchmarks/recording.py
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from tformer_lite import (
    EncoderDecoder,
    paper_base,
    running_example,
    tiny_translator,
    trace,
)


def seconds(run: Callable) -> float:
    """Time one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def ratio(mine: Callable, plain: Callable, rounds: int) -> float:
    """Compare the medians of runs that take turns."""
    pairs = [(seconds(mine), seconds(plain)) for _ in range(rounds)]
    return median(a for a, _ in pairs) / median(b for _, b in pairs)


def main() -> None:
    """Print a ratio for each model, on one thread."""
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    example = running_example()
    ids = torch.randint(2, 100, (1, 200))
    cases = {
        "running example": (tiny_translator, (example.src, example.tgt), 300),
        "paper_base": (paper_base, (ids, ids), 15),
    }
    for name, (config, inputs, rounds) in cases.items():
        model = EncoderDecoder(config).eval()
        mine, plain = partial(trace, model, *inputs), partial(model, *inputs)
        mine(), plain()
        print(f"{name}: {ratio(mine, plain, rounds):.2f} times a plain run")


if __name__ == "__main__":
    main()
