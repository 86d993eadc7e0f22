"""Time runs that take turns: a row for each, with ratios to the first.

All that is timed is timed here, in CPU time: on one thread and an idle
machine that is what a clock shows, and a busy neighbour adds little to it.
"""

import time
from collections.abc import Callable
from statistics import median

BUDGET = 7  # seconds for a comparison
LEAST, MOST = 5, 300  # rounds
LONG = 0.1  # seconds in which the processor's caches are warm again


def rows_in_turns(
    runs: dict[str, Callable], budget: float = BUDGET
) -> list[dict]:
    """Time named runs that take turns, and give a row for each. A first
    time, in which much is still set up, does not count.

    There are rounds until `budget` seconds have passed, but at least `LEAST`
    and at most `MOST`.
    """
    for run in runs.values():
        run()
    rounds, start = [], time.monotonic()
    while len(rounds) < MOST:
        rounds.append([seconds_warm(run) for run in runs.values()])
        if time.monotonic() - start > budget and len(rounds) >= LEAST:
            break
    firsts = [seconds[0] for seconds in rounds]
    return [row(n, s, firsts) for n, s in zip(runs, zip(*rounds))]


def seconds_warm(run: Callable) -> float:
    """Time a run; a short one again, for what ran before it has left the
    processor's caches cold."""
    first = seconds_of(run)
    return first if first > LONG else seconds_of(run)


def seconds_of(run: Callable) -> float:
    """Time one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def row(name: str, seconds: list[float], firsts: list[float]) -> dict:
    """Sum the rounds of a run up: its seconds, and its ratio to the first,
    round by round."""
    ratios = [mine / first for mine, first in zip(seconds, firsts)]
    return {
        "name": name,
        "rounds": len(seconds),
        "seconds": spread(seconds),
        "ratio": spread(ratios),
    }


def spread(values: list[float]) -> list[float]:
    """Give minimum, median and maximum, in four digits."""
    three = min(values), median(values), max(values)
    return [float(f"{value:.4g}") for value in three]
