"""What an answer is tried on: cases that a seed draws, what should come of
each, and what comes of each known mistake.

An exercise says in lines of Python how its inputs are drawn. The lines of
`sizes` set sizes by their letters; every other letter is a prime. Inputs with
letters are normal numbers, unless the lines of `draw` set them by their
names. Both can use `draw`, which has below, choice, normal, tags, ids and
flags (see cases.py), the stubs, and what the exercise's notebook imports.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import combinations
from typing import Any

import torch
from torch import Tensor, nn

from classroom import stubs
from classroom.cases import Case, Draw
from classroom.dependence import probes
from classroom.exercise import Exercise
from classroom.outcomes import build_answer, own_seed
from classroom.values import plain_value

ORDINARY = 3  # cases, where anything is drawn
DRAWS = 200  # until the cases of a seed tell enough
HEAD = """\
import math
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""
SCALE = 0.4  # of the parameters of a layer

Names = dict[str, Any]
Spans = list[tuple[int, int, str]]
# Sentences, and what comes of each case: None where that is an error.
Mistake = tuple[tuple[str, ...], tuple[Any, ...]]


@dataclass
class Trial:
    """Cases, probes of what depends on what, and what should come of all of
    them; and the known mistakes that are made alone."""

    exercise: Exercise
    cases: tuple[Case, ...]
    probes: tuple[Case, ...]
    wanted: tuple[Any, ...]
    single: tuple[Mistake, ...]

    @property
    def calls(self) -> list[Case]:
        """What an answer is called with: the cases, the first again, and the
        probes."""
        return [*self.cases, self.cases[0], *self.probes]

    @cached_property
    def double(self) -> tuple[Mistake, ...]:
        """Two known mistakes at a time, where both fit into one answer."""
        return tuple(
            mistake
            for pair in combinations(self.exercise.edits, 2)
            if (mistake := mistake_of(self.exercise, pair, self.cases))
        )

    @property
    def ordinary(self) -> list[int]:
        """The numbers of the cases that are not at an edge."""
        return [i for i, case in enumerate(self.cases) if not case.when]


@lru_cache(64)
def draw_trial(exercise: Exercise, seed: int | str) -> Trial:
    """Draw the trial of a seed, again and again until no size and no number
    is the same in all ordinary cases, and each mistake shows.

    Raises ValueError where an exercise never gets there.
    """
    draw = Draw(f"{exercise.name} {seed}")
    faults: Counter[str] = Counter()
    for _ in range(DRAWS if exercise.inputs else 1):
        cases = tuple(drawn_cases(exercise, draw))
        if not (fault := sameness(cases)):
            trial = make_trial(exercise, cases)
            if not (fault := weakness(trial)):
                return trial
        faults[fault] += 1
    often = "; ".join(fault for fault, _ in faults.most_common(3))
    raise ValueError(
        f"{exercise.name}: no draw of {DRAWS} tells enough ({often}): draw "
        "other inputs, or add one at an edge."
    )


def make_trial(exercise: Exercise, cases: tuple[Case, ...]) -> Trial:
    """Compute what should come of cases, and what comes of each mistake."""
    moved = tuple(probes(exercise, cases[0]))
    answer = answer_of(exercise)
    wanted = tuple(value_of(answer, case) for case in (*cases, *moved))
    single = tuple(
        mistake
        for edit in exercise.edits
        if (mistake := mistake_of(exercise, (edit,), cases))
    )
    return Trial(exercise, cases, moved, wanted, single)


# --- Right answers and mistakes -------------------------------------------


@cache
def base_names(text: str) -> Names:
    """Give what an exercise's code can use: the notebook's imports, and the
    lines that the exercises of its chapter share."""
    names: Names = {"__name__": "exercise"}
    exec(f"{HEAD}\n{text}", names)
    return names


@lru_cache(1024)
def answer_of(exercise: Exercise, edits: tuple = ()) -> Any:
    """Run the code of a right answer, with edits in it, and give the answer.

    Raises ValueError for an edit of what does not stand there once, and for
    code that defines no answer.
    """
    names = dict(base_names(exercise.names))
    exec(edited_code(exercise, edits), names)
    if exercise.name not in names:
        raise ValueError(f"{exercise.name}: the right code defines no such name.")
    return names[exercise.name]


def edited_code(exercise: Exercise, edits: Sequence[tuple[str, ...]]) -> str:
    """Write mistakes into the right code. Raises ValueError where two want
    to change the same place."""
    code, spans = exercise.right, []
    for edit in edits:
        spans += edit_spans(exercise, edit)
    spans.sort()
    for (_, end, _), (start, *_) in zip(spans, spans[1:]):
        if start < end:
            raise ValueError(f"{exercise.name}: two edits of one place.")
    for start, end, text in reversed(spans):
        code = code[:start] + text + code[end:]
    return code


def edit_spans(exercise: Exercise, edit: tuple[str, ...]) -> Spans:
    """Find what an edit changes: places in the right code and the new text.

    Raises ValueError where the old text stands there twice, or not at all.
    """
    code, spans = exercise.right, []
    for before, after in zip(edit[:-1:2], edit[1:-1:2]):
        if not before:
            spans.append((len(code), len(code), f"\n{after}\n"))
            continue
        if code.count(before) != 1:
            raise ValueError(
                f"{exercise.name}: {before!r} stands {code.count(before)} "
                f"times in the right code, and should once:\n{code}"
            )
        start = code.index(before)
        spans.append((start, start + len(before), after))
    return spans


def mistake_of(
    exercise: Exercise, edits: tuple[tuple[str, ...], ...], cases: Any
) -> Mistake | None:
    """Compute what comes of cases with these mistakes: None where they cannot
    be made together."""
    sentences = tuple(dict.fromkeys(edit[-1] for edit in edits))
    try:
        answer = answer_of(exercise, edits)
    except Exception:
        if len(edits) == 1:
            raise
        return None
    prints = (print_or_none(answer, *pair) for pair in enumerate(cases))
    return sentences, tuple(prints)


def print_or_none(answer: Any, seed: int, case: Case) -> Any:
    """Give the fingerprint of what comes of a case, None for an error."""
    try:
        return fingerprint(value_of(answer, case, seed))
    except Exception:
        return None


def value_of(answer: Any, case: Case, seed: int = 0) -> Any:
    """Call an answer of our own with copies of what a case has, and random
    numbers of a seed."""
    if not callable(answer):
        return plain_value(answer)
    with own_seed(seed):
        built = build_answer(answer, case)
        return plain_value(built(*copy.deepcopy(case.args)))


def fingerprint(value: Any) -> tuple[str, tuple[float, ...]]:
    """Give a value's form, and four sums over all its numbers: two values
    that have both in common are the same, up to rounding."""
    form, numbers = form_of(value)
    if not numbers:
        return form, ()
    x = torch.cat([each.double().flatten() for each in numbers])
    x = x.nan_to_num(1e30, 1e20, -1e20)
    x = x.sign() * x.abs().log1p()
    waves = torch.arange(1.0, len(x) + 1, dtype=torch.float64)
    roots = torch.tensor([2.0, 3.0, 5.0, 7.0]).double().sqrt()
    return form, tuple(((roots[:, None] * waves).cos() @ x).tolist())


def form_of(value: Any) -> tuple[str, list[Tensor]]:
    """Write what a value is, but for its numbers, and list these."""
    if isinstance(value, tuple | dict):
        parts = value.items() if isinstance(value, dict) else value
        pairs = [form_of(part) for part in parts]
        return f"({', '.join(f for f, _ in pairs)})", sum((n for _, n in pairs), [])
    if isinstance(value, Tensor):
        kind = "bool" if value.dtype == torch.bool else "numbers"
        whole = value.ndim and kind != "bool" and not value.is_floating_point()
        return f"{'whole ' * bool(whole)}{kind} {[*value.shape]}", [value]
    if type(value) in (int, float):
        return "numbers []", [torch.tensor(value)]
    return repr(value), []


def same_print(mine: Any, known: Any, tolerance: float) -> bool:
    """Tell whether two fingerprints are the same."""
    if mine is None or known is None or mine[0] != known[0]:
        return False
    return all(abs(a - b) <= 2 * tolerance + 1e-5 * abs(b) for a, b in zip(mine[1], known[1]))


# --- Cases ----------------------------------------------------------------


def drawn_cases(exercise: Exercise, draw: Draw) -> Iterator[Case]:
    """Draw some ordinary cases, and one for each edge."""
    if not exercise.inputs:
        yield Case(without=exercise.without)
        return
    for _ in range(exercise.cases or ORDINARY):
        yield drawn_case(exercise, draw)
    for when, *lines in exercise.edges:
        yield drawn_case(exercise, draw, when, *lines[-2:])


def drawn_case(exercise: Exercise, draw: Draw, when: str = "", *lines: str) -> Case:
    """Draw one case: the sizes, the inputs, what the edge changes, and then
    what a layer is built with."""
    sizing, special = ("", *lines)[-2:] if lines else ("", "")
    letters, names = drawn_sizes(exercise, draw, sizing)
    for name, axes in exercise.inputs.items():
        if axes:
            names[name] = draw.normal(*(size_of(x, letters) for x in axes))
    exec(f"{exercise.draw}\n{special}", names)
    letters |= {x: names[x] for x in letters}
    case = Case(
        tuple(names[name] for name in exercise.inputs if name in names),
        letters,
        when,
        within=names.get("within", ""),
        training=names.get("training", False),
        without=exercise.without,
    )
    if case.within:
        return case_in_model(exercise, draw, case)
    if not exercise.make:
        return case
    case = replace(case, make=eval(f"dict({exercise.make})", names))
    return with_parameters(exercise, draw, case, names.get("state"))


def drawn_sizes(
    exercise: Exercise, draw: Draw, special: str
) -> tuple[dict[str, int], Names]:
    """Draw a size for each letter, and give the names that lines can use."""
    texts = f"{exercise.draw}\n{exercise.sizes}\n{special}\nd({exercise.make})"
    used = {n.id: n.ctx for n in ast.walk(ast.parse(texts)) if isinstance(n, ast.Name)}
    given = {t.id for n in ast.walk(ast.parse(f"{exercise.sizes}\n{special}")) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)}
    axes = {x for letters in exercise.inputs.values() for x in letters} | {*exercise.output}
    letters = {x for x in axes | {*used} if len(x) == 1 and x.isupper()}
    names = base_names(exercise.names) | vars(stubs)
    names |= {"draw": draw} | draw.sizes(letters - given)
    exec(f"{exercise.sizes}\n{special}", names)
    return {x: names[x] for x in sorted(letters)}, names


def size_of(axis: str, sizes: Mapping[str, int]) -> int:
    """Give the size of an axis: a letter's, or the number it is."""
    return int(axis) if axis.isdigit() else sizes[axis]


def with_parameters(
    exercise: Exercise, draw: Draw, case: Case, state: Any
) -> Case:
    """Give a layer parameters that are drawn, unless they are given."""
    built = build_answer(answer_of(exercise), case)
    if state is None and isinstance(built, nn.Module):
        shapes = {n: x.shape for n, x in built.state_dict().items()}
        state = {n: draw.normal(*s, scale=SCALE) for n, s in shapes.items()}
    return replace(case, state=state)


def case_in_model(exercise: Exercise, draw: Draw, case: Case) -> Case:
    """Put an answer into a small translator with drawn sizes, parameters and
    sentences."""
    sizes = draw.sizes("BSTVHDF")
    sizes["C"] = sizes["H"] * sizes["D"]
    make = {"vocab_size": sizes["V"], "d_model": sizes["C"], "max_len": 20 + draw.below(9)}
    make |= {"n_heads": sizes["H"], "d_ff": sizes["F"]}
    ids = [draw.ids(sizes["B"], sizes[x], below=sizes["V"]) for x in "ST"]
    for each in ids:
        each[:, 0] = 2  # nobody has only padding to attend to
    case = replace(case, args=tuple(ids), sizes=sizes, make=make)
    return with_parameters(exercise, draw, case, None)


# --- Whether they tell enough ---------------------------------------------


def sameness(cases: Sequence[Case]) -> str:
    """Name a size or a number that is the same in all ordinary cases, or
    return ""."""
    ordinary = [case for case in cases if not case.when]
    if not ordinary[0].args and not ordinary[0].make:
        return ""
    rows = [dict(scalars(case)) for case in ordinary]
    for name in set.intersection(*({*row} for row in rows)):
        if len({repr(row[name]) for row in rows}) == 1:
            return f"{name} is {rows[0][name]} in all ordinary cases"
    return ""


def scalars(case: Case) -> Iterator[tuple[str, Any]]:
    """List the sizes and numbers of a case by name."""
    yield from case.sizes.items()
    for i, value in enumerate(case.args):
        if isinstance(value, bool | int | float | str):
            yield f"input {i}", value
    for name, value in (case.make or {}).items():
        if isinstance(value, bool | int | float | str):
            yield name, value


def weakness(trial: Trial) -> str:
    """Say which mistake, or constant, the cases do not tell from a right
    answer, or which mistakes not from each other; or return ""."""
    right = tuple(fingerprint(x) for x in trial.wanted[: len(trial.cases)])
    told: list[Mistake] = [(("a right answer",), right), *trial.single]
    for one, other in combinations(told, 2):
        pairs = zip(one[1], other[1])
        tolerance = trial.exercise.tolerance
        if one[0] != other[0] and all(
            a == b is None or same_print(a, b, tolerance) for a, b in pairs
        ):
            return f"nothing tells {other[0][0]!r} from {one[0][0]!r}"
    if trial.exercise.inputs and same_for_all(trial):
        return "what should come is the same in all ordinary cases"
    return ""


def same_for_all(trial: Trial) -> bool:
    """Tell whether one number, or one value, would do for all cases."""
    values = [trial.wanted[i] for i in trial.ordinary]
    if all(isinstance(value, Tensor) for value in values):
        flat = torch.cat([x.double().flatten() for x in values])
        return len(flat.nan_to_num(0.5).unique()) < 2
    return len({repr(value) for value in values}) < 2
