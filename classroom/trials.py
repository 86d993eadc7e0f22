"""What an answer is tried on: cases that a seed draws, what should come of
each, and what comes of each known mistake.

An exercise says in lines of Python how its inputs are drawn. The lines of
`sizes` set sizes by their letters; every other letter is a prime. Inputs with
letters are normal numbers, unless the lines of `draw` set them by their
names. Both can use `draw`, which has below, choice, turn, normal, tags, ids
and flags (see cases.py), the stubs, and what the exercise's notebook imports.
"""

import ast
import contextlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain, combinations
from typing import Any
from warnings import catch_warnings

import torch
from torch import Tensor, nn

from classroom import stubs
from classroom.cases import Case, Draw, SmallDraw
from classroom.examples import example_text
from classroom.exercise import Exercise, TextRows
from classroom.mistakes import (
    Mistake,
    Namespace,
    answer_of,
    base_names,
    fingerprint,
    mistake_of,
    print_or_none,
    prints_of,
    same_print,
    slips_of,
    value_of,
)
from classroom.outcomes import build_answer

ORDINARY = 3  # cases, where anything is drawn
DRAWS = 200  # until the cases of a seed tell enough
MANY, VALUES = 24, 6  # ordinary cases, which show what never matters
SMALL, SMALL_DRAWS = 4, 16  # cases, and attempts to draw them
SCALE = 0.4  # of the parameters of a layer


@dataclass
class Trial:
    """Cases and what should come of them, last of the small ones, which show
    a fault and decide nothing; and the known mistakes that are made alone."""

    exercise: Exercise
    cases: tuple[Case, ...]
    wanted: tuple[Any, ...]
    single: tuple[Mistake, ...]
    small: tuple[Case, ...] = ()

    @property
    def calls(self) -> list[Case]:
        """What an answer is called with: the cases, the first again, and the
        small ones."""
        return [*self.cases, self.cases[0], *self.small]

    @cached_property
    def double(self) -> tuple[Mistake, ...]:
        """Two known mistakes at a time, where both fit into one answer: none
        where results are True or False, which agree by chance."""
        if type(self.wanted[0]) is bool:
            return ()
        return tuple(
            mistake
            for pair in combinations(self.exercise.edits, 2)
            if (mistake := mistake_of(self.exercise, pair, self.cases))
        )

    @cached_property
    def general(self) -> tuple[Mistake, ...]:
        """Mistakes that no author lists: an argument that is not used, and
        slips in the right code. Few bits agree by chance, and no bug of a
        hunt is named."""
        kinds = {*map(type, self.wanted[: len(self.cases)])}
        if self.exercise.kind == "hunt" or kinds == {bool}:
            return ()
        unused = unused_arguments(self.exercise, self.cases)
        slips = slips_of(self.exercise, self.cases)
        groups: dict[Any, list[Mistake]] = {self.right: []}
        for mistake in chain(unused, slips):
            groups.setdefault(mistake[1], []).append(mistake)
        groups.pop(self.right)
        return tuple(chain(*(group[:2] for group in groups.values())))

    @cached_property
    def right(self) -> tuple[Any, ...]:
        """The fingerprints of what should come of the cases."""
        return tuple(map(fingerprint, self.wanted[: len(self.cases)]))

    @property
    def ordinary(self) -> list[int]:
        """The numbers of the cases that are not at an edge."""
        return [i for i, case in enumerate(self.cases) if not case.when]


@lru_cache(64)
def draw_trial(exercise: Exercise, seed: int | str) -> Trial:
    """Draw the trial of a seed."""
    return telling_trial(exercise, Draw(f"{exercise.name} {seed}"))


def telling_trial(exercise: Exercise, draw: Draw) -> Trial:
    """Draw a trial, again and again until no size and no number is the same
    in all ordinary cases, and each mistake shows.

    Raises ValueError where an exercise never gets there.
    """
    faults: Counter[str] = Counter()
    for _ in range(DRAWS if exercise.inputs else 1):
        cases = tuple(drawn_cases(exercise, draw))
        if not (fault := sameness(exercise, cases)):
            trial = make_trial(exercise, cases)
            if not (fault := weakness(trial)):
                small, more = small_cases(exercise)
                return replace(trial, small=small, wanted=trial.wanted + more)
        faults[fault] += 1
    often = [x for x, _ in faults.most_common() if x.startswith("nothing")]
    why = "; ".join((often or [*faults])[:3])
    raise ValueError(
        f"{exercise.name}: no draw of {DRAWS} tells enough ({why}): draw "
        "other inputs, add one at an edge, or see whether both are the same."
    )


def make_trial(exercise: Exercise, cases: tuple[Case, ...]) -> Trial:
    """Compute what should come of cases, and what comes of each mistake."""
    answer = answer_of(exercise)
    wanted = tuple(value_of(answer, case) for case in cases)
    single = tuple(
        mistake
        for edit in exercise.edits
        if (mistake := mistake_of(exercise, (edit,), cases))
    )
    return Trial(exercise, cases, wanted, single)


@cache
def small_cases(exercise: Exercise) -> tuple[tuple[Case, ...], tuple]:
    """Draw a few small cases that an example can show, the smallest first,
    with what should come of each: the same ones whatever the seed."""
    found: dict[str, tuple[Case, Any]] = {}
    for n in range(SMALL_DRAWS * bool(exercise.inputs)):
        with contextlib.suppress(Exception), catch_warnings(action="ignore"):
            draw = SmallDraw(f"{exercise.name} {n}", 2 + n % 4)
            case = drawn_case(exercise, draw)
            wanted = value_of(answer_of(exercise), case, n)
            text = example_text(exercise, case, None, wanted)
            found[text * (not case.within)] = case, wanted
    found.pop("", None)
    texts = sorted(found, key=len)[:: max(1, len(found) // SMALL)][:SMALL]
    return tuple(found[x][0] for x in texts), tuple(found[x][1] for x in texts)


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


def drawn_case(
    exercise: Exercise, draw: Draw, when: str = "", *lines: str
) -> Case:
    """Draw one case: the sizes, the inputs, what the edge changes, and then
    what a layer is built with."""
    draw.case += 1
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
        changes = names.get("config", {})
        return case_in_model(exercise, draw, case, changes)
    if not exercise.make:
        return case
    case = replace(case, make=eval(f"dict({exercise.make})", names))
    return with_parameters(exercise, draw, case, names.get("state"))


def drawn_sizes(
    exercise: Exercise, draw: Draw, special: str
) -> tuple[dict[str, int], Namespace]:
    """Draw a size for each letter, and give the names that lines can use."""
    sizing = f"{exercise.sizes}\n{special}"
    lines = f"{exercise.draw}\n{sizing}\ndict({exercise.make})"
    axes = {*exercise.inputs, *exercise.output}
    axes = axes.union(*exercise.inputs.values())
    single = {x for x in axes if len(x) == 1} | used_letters(lines)
    letters = {x for x in single if x.isupper()}
    names = base_names(exercise.names) | vars(stubs) | {"draw": draw}
    names |= draw.sizes(letters - used_letters(exercise.sizes, ast.Store))
    exec(sizing, names)
    return {x: names[x] for x in sorted(letters)}, names


def used_letters(lines: str, how: type = ast.expr_context) -> set[str]:
    """List the names of one letter in lines of Python."""
    names = (x for x in ast.walk(ast.parse(lines)) if isinstance(x, ast.Name))
    return {x.id for x in names if len(x.id) == 1 and isinstance(x.ctx, how)}


def size_of(axis: str, sizes: Mapping[str, int]) -> int:
    """Give the size of an axis: a letter's, a number, or a product: 2*C."""
    words = axis.split("*")
    return math.prod(sizes[x] if x in sizes else int(x) for x in words)


def with_parameters(
    exercise: Exercise, draw: Draw, case: Case, state: Any
) -> Case:
    """Give a layer parameters that are drawn, unless they are given."""
    built = build_answer(answer_of(exercise), case)
    if state is None and isinstance(built, nn.Module):
        shapes = {n: x.shape for n, x in built.state_dict().items()}
        state = {n: draw.normal(*s, scale=SCALE) for n, s in shapes.items()}
    return replace(case, state=state)


def case_in_model(
    exercise: Exercise, draw: Draw, case: Case, config: Mapping[str, Any]
) -> Case:
    """Put an answer into a small translator with drawn sizes, parameters and
    sentences."""
    sizes = draw.sizes("BSTVHDF")
    sizes["C"] = sizes["H"] * sizes["D"]
    make = {
        "vocab_size": sizes["V"],
        "d_model": sizes["C"],
        "max_len": 20 + draw.below(9),
    }
    make |= {"n_heads": sizes["H"], "d_ff": sizes["F"]}
    ids = [draw.ids(sizes["B"], sizes[x], below=sizes["V"]) for x in "ST"]
    for each in ids:
        each[:, 0] = 2  # nobody has only padding to attend to
    make |= config
    case = replace(case, args=tuple(ids), sizes=sizes, make=make)
    return with_parameters(exercise, draw, case, None)


# --- Whether they tell enough ---------------------------------------------


def sameness(exercise: Exercise, cases: Sequence[Case]) -> str:
    """Name a size or a number that is the same in all ordinary cases, or
    return ""."""
    ordinary = [case for case in cases if not case.when]
    rows = [{**x.sizes, **scalars(exercise, x)} for x in ordinary]
    for name in set.intersection(*({*row} for row in rows)):
        if len({repr(row[name]) for row in rows}) == 1:
            return f"{name} is {rows[0][name]} in all ordinary cases"
    return ""


def scalars(exercise: Exercise, case: Case) -> dict[str, Any]:
    """List by name the arguments that are no tensors."""
    args = {**dict(zip(exercise.inputs, case.args)), **(case.make or {})}
    kinds = bool, int, float, *(() if case.within else (str, type(None)))
    return {name: x for name, x in args.items() if isinstance(x, kinds)}


def held_values(
    exercise: Exercise, cases: Iterable[Case]
) -> Iterable[tuple[str, Any]]:
    """List what each argument may be taken to be in all cases; but not those
    of a translator, whose parameters show them."""
    own = [case for case in cases if not case.within]
    return {x: 0 for case in own for x in scalars(exercise, case).items()}


def held(exercise: Exercise, case: Case, name: str, value: Any) -> Case:
    """Give a case in which an argument has another value."""
    given = {name: value}
    args = tuple(given.get(n, x) for n, x in zip(exercise.inputs, case.args))
    make = case.make and {n: given.get(n, x) for n, x in case.make.items()}
    return replace(case, args=args, make=make)


def unused_arguments(
    exercise: Exercise, cases: Sequence[Case]
) -> Iterator[Mistake]:
    """Compute what comes where an argument is not used."""
    answer = answer_of(exercise)
    for name, value in held_values(exercise, cases):
        says = f"in which `{name}` is the same in every call"
        held_cases = [held(exercise, x, name, value) for x in cases]
        yield (says,), prints_of(answer, held_cases)


@lru_cache(64)
def many_cases(exercise: Exercise) -> list[tuple[Case, Any]]:
    """Draw many ordinary cases, with the right fingerprints."""
    draw = Draw(f"{exercise.name} many")
    cases = [drawn_case(exercise, draw) for _ in range(MANY)]
    return [*zip(cases, prints_of(answer_of(exercise), cases))]


def hidden_mistake(trial: Trial) -> str:
    """Name a mistake that shows on ordinary cases, but on none of these: the
    seed would decide about points. Or return ""."""
    each, many = trial.exercise, many_cases(trial.exercise)
    here = [(trial.cases[i], trial.right[i]) for i in trial.ordinary]
    cases = *trial.cases, *(case for case, _ in many[:VALUES])
    ways: list[Any] = [((edit,), ("", edit[-1])) for edit in each.edits]
    ways += [((), pair) for pair in held_values(each, cases)]
    for edits, pair in ways:
        way = each, edits, pair
        if hides(*way, here) and not hides(*way, many):
            says = " = ".join(map(str, pair)).removeprefix(" = ")
            return f"nothing tells {says!r} from 'a right answer'"
    return ""


def hides(
    exercise: Exercise, edits: TextRows, pair: Any, cases: Iterable[Any]
) -> bool:
    """Tell whether a mistake shows on none of some cases."""
    answer = answer_of(exercise, edits)
    held_cases = ((held(exercise, x, *pair), right) for x, right in cases)
    prints = ((print_or_none(answer, 0, x), right) for x, right in held_cases)
    return all(same_print(*both, exercise.tolerance) for both in prints)


def weakness(trial: Trial) -> str:
    """Say which mistake, or constant, the cases do not tell from a right
    answer, or which mistakes not from each other; or return ""."""
    rivals = [(("a right answer",), trial.right), *trial.single]
    for mine, other in combinations(rivals, 2):
        pairs = zip(mine[1], other[1])
        tolerance = trial.exercise.tolerance
        if mine[0] != other[0] and all(
            a == b is None or same_print(a, b, tolerance) for a, b in pairs
        ):
            return f"nothing tells {other[0][0]!r} from {mine[0][0]!r}"
    axes, first = trial.exercise.output, trial.wanted[0]
    if axes and isinstance(first, Tensor) and first.ndim != len(axes):
        return f"expected {axes}, but the right code gives {[*first.shape]}"
    if not trial.exercise.inputs:
        return ""
    if same_for_all(trial):
        return "the right result is the same in all ordinary cases"
    return hidden_mistake(trial)


def same_for_all(trial: Trial) -> bool:
    """Tell whether one number, or one value, would do for all cases."""
    values = [trial.wanted[i] for i in trial.ordinary]
    if all(isinstance(value, Tensor) for value in values):
        flat = torch.cat([x.double().flatten() for x in values])
        return len(flat.nan_to_num(0.5).unique()) < 2
    return len({repr(value) for value in values}) < 2
