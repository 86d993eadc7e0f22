"""An exercise on generation: search for the best sentence."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from classroom.cases import Case, Draw
from classroom.exercise import Exercise, flawless

MORE = 8  # tables, for mistakes that are not known
Row = tuple[float, tuple[int, ...]]


def settings(exercise: Exercise) -> list[dict[str, str]]:
    """List the right setting of the switches, and those with one mistake."""
    right = flawless(exercise.switches)
    faulty = [
        right | {switch: name}
        for switch, positions in exercise.switches.items()
        for name, fault in positions.items()
        if fault
    ]
    return [right, *faulty]


def telling(
    exercise: Exercise, draw: Callable[[], Case], most: int = 400
) -> Iterator[Case]:
    """Draw cases until all known mistakes can be told apart."""
    groups = [settings(exercise)]
    for _ in range(most):
        case = draw()
        split: list[list[dict[str, str]]] = []
        for group in groups:
            found: dict[str, list[dict[str, str]]] = defaultdict(list)
            for choice in group:
                found[repr(exercise.answer(case, **choice))].append(choice)
            split += found.values()
        if len(split) > len(groups):
            yield case
        groups = [group for group in split if len(group) > 1]
        if not groups:
            return


LENGTH_NORMALISED_BEAM = {
    "score": {
        "power": "",
        "sum": "the sentences are compared by their sums: divide by "
        "the length to the power of alpha",
        "times": "the sums are multiplied by the power of the length, "
        "and should be divided by it",
        "start": "the start is counted in the length, and should not be",
        "no end": "the end is not counted in the length, and should be",
        "penalty": "the sums are divided by the chapter's length penalty, "
        "and should be divided by a power of the length itself",
    },
    "prune": {
        "together": "",
        "each": "the best continuations of each beginning are kept: keep "
        "the best of all of them together",
        "one": "the search follows one beginning only, whatever the width",
    },
    "ended": {
        "aside": "",
        "stay": "finished sentences keep their places in the beam, and "
        "should be put aside",
        "first": "the search stops when the first sentence is finished",
        "replaced": "what has ended is replaced by the next best: only "
        "what is left of the best ones goes on",
    },
    "rest": {
        "compared": "",
        "dropped": "beginnings that are unfinished at the greatest "
        "length are compared as well, and were dropped",
    },
    "length": {
        "with start": "",
        "without": "the start counts among the `max_len` tokens",
    },
}


def grown(row: Row, logs: list[list[float]]) -> list[Row]:
    """List all continuations of a beginning."""
    total, ids = row
    return [(total + x, (*ids, i)) for i, x in enumerate(logs[ids[-1]])]


def pruned(
    groups: list[list[Row]], width: int, choice: dict[str, str]
) -> list[Row]:
    """Keep the best of all groups, or of each."""
    width = {"one": 1}.get(choice["prune"], width)
    if choice["prune"] == "each":
        best = [ranked(group, choice)[:width] for group in groups]
        return [row for group in best for row in group]
    rows = ranked([row for group in groups for row in group], choice)
    end = {"replaced": len(rows)}.get(choice["ended"], width)
    return rows[:end]


def winner(
    rows: list[Row], choice: dict[str, str], alpha: float
) -> tuple[int, ...]:
    """Compare what is finished."""
    less = {"start": 0, "no end": 2}.get(choice["score"], 1)
    powers = {"sum": 0.0, "times": -alpha}

    def score(row: Row) -> Row:
        n: float = max(len(row[1]) - less, 1)
        n = (5 + n) / 6 if choice["score"] == "penalty" else n
        return row[0] / n ** powers.get(choice["score"], alpha), row[1]

    return ranked([score(row) for row in rows], choice)[0][1]


class LengthNormalisedBeam(Exercise):
    """Search a table for the sentence with the best mean-like score."""

    chapter, kind, minutes, level = 14, "line", 40, 3
    title = "A beam that is fair to long sentences"
    teaches = "beam search, and scores divided by a power of the length"
    axes = "log_probs: V V, start:, end:, width:, max_len:, alpha: ->"
    assignable = True
    switches = LENGTH_NORMALISED_BEAM

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Tables on which every known mistake tells; at last a wide beam."""
        yield from telling(self, lambda: self.case(draw))
        yield from (self.case(draw) for _ in range(MORE))
        yield self.case(draw, 50, "a width beyond the number of rows fails")

    def case(self, draw: Draw, wide: int = 0, about: str = "") -> Case:
        """Draw a table in which the end is neither rare nor certain."""
        v = (5, 7)[draw.below(2)]
        start, end = draw.tags(v)[:2].tolist()
        logits = draw.numbers(v, v, scale=1.5)
        logits[:, end] += 0.5
        table = logits.log_softmax(-1)
        width, length = wide or 2 + draw.below(2), 4 + draw.below(2)
        args = start, end, width, length, (0.6, 1.0, 1.6)[draw.below(3)]
        case = Case((table, *args), {"V": v}, about)
        judged = settings(self)[: 1 if wide else None]
        tie = any(tied(self, case, choice) for choice in judged)
        return self.case(draw, wide, about) if tie else case

    def answer(self, case: Case, **choice: str) -> tuple[int, ...]:
        """Grow, prune and compare, as switched."""
        table, start, end, width, max_len, alpha = case.args
        logs = table.tolist()
        live: list[Row] = [(0.0, (start,))]
        ended: list[Row] = []
        for _ in range(max_len - (choice["length"] == "with start")):
            more = [grown(row, logs) for row in live]
            held = ended if choice["ended"] == "stay" else []
            best = pruned([*more, held], width, choice)
            most = {"each": len(best), "one": 1}.get(choice["prune"], width)
            new = [row for row in best[:most] if row[1][-1] == end]
            ended = {"stay": new}.get(choice["ended"], ended + new)
            live = [row for row in best if row[1][-1] != end][:most]
            if not live or (ended and choice["ended"] == "first"):
                break
        cut = choice["rest"] == "dropped" or choice["ended"] == "first"
        return winner(ended + live * (not (cut and ended)), choice, alpha)


def tied(exercise: Exercise, case: Case, choice: dict[str, str]) -> bool:
    """Tell whether the order of rows that are nearly alike decides: the same
    steps in another order have the same sum."""
    up, down = choice | {"ties": "up"}, choice | {"ties": "down"}
    return exercise.answer(case, **up) != exercise.answer(case, **down)


def ranked(rows: list[Row], choice: dict[str, str]) -> list[Row]:
    """Sort rows, the best first. Those that are nearly alike stand in the
    order of their ids, up or down, where `ties` tells."""
    match choice.get("ties"):
        case "up":
            return sorted(rows, key=lambda x: (-round(x[0], 3), x[1]))
        case "down":
            rows = sorted(rows, key=lambda x: (round(x[0] + 4e-4, 3), x[1]))
            return rows[::-1]
    return sorted(rows, reverse=True)
