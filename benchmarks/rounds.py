"""Time runs that take turns, and say how much the times differ."""

import time
from collections.abc import Callable
from statistics import quantiles


def lasting(run: Callable, clock: Callable = time.perf_counter) -> float:
    """Time one run, in seconds."""
    start = clock()
    run()
    return clock() - start


def warm(run: Callable, clock: Callable = time.perf_counter) -> float:
    """Time a run after another one of its kind: what ran in between has
    left the processor's caches cold."""
    run()
    return lasting(run, clock)


def in_turns(
    *runs: Callable,
    budget: float = 15,
    least: int = 7,
    most: int = 300,
    clock: Callable = time.perf_counter,
) -> list[list[float]]:
    """Time runs that take turns: for each round, the seconds of each.

    There are rounds until `budget` seconds have passed, but at least and at
    most so many.
    """
    rounds, start = [], time.monotonic()
    while len(rounds) < most:
        rounds.append([warm(run, clock) for run in runs])
        if time.monotonic() - start > budget and len(rounds) >= least:
            break
    return rounds


def spread(values: list[float], digits: int = 2) -> str:
    """Write the median of values and, in brackets, their quartiles."""
    cut = quantiles(values, n=4, method="inclusive")
    low, middle, high = (f"{value:.{digits}f}" for value in cut)
    return f"{middle} ({low}–{high})"
