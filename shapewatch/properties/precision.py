"""Precision: what a model loses in its own number format."""

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.numbers import between_two, flat_rows, unpadded_rows
from shapewatch.properties.perturbation import (
    FAINT,
    coarsest,
    module_calls,
    raw_output,
    watch_modules,
)
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.versions import in_double, with_moved_weights
from shapewatch.tracing.questions.flow import PRODUCTS

WORTH_A_WORD = 1e-3  # of the outputs' size
MOVES_ALLOWED = 4  # as far off as rounded weights move them; right: to 1.6
RANDOM_CALL = re.compile("(rand|normal|uniform|bernoulli|exponential)(?!int)")
ROUNDINGS = 3  # at random
MASK_SIZE = 1e30  # what hides scores is larger
LAYERS = PRODUCTS | {"linear", "addmm", "scaled_dot_product_attention"}
LAYERS |= {"conv1d", "conv2d", "conv3d"}


class NumberFormats(TorchFunctionMode):
    """Note the coarsest format of a run, those of its products, and whether
    it draws numbers; and the largest number of each module, when that ends."""

    def __init__(self) -> None:
        super().__init__()
        self.coarsest, self.largest = torch.float64, dict[str, float]()
        self.now, self.draws, self.products = 0.0, False, list[float]()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        self.draws = self.draws or bool(RANDOM_CALL.match(name))
        result = function(*args, **(kwargs or {}))
        plain = isinstance(result, Tensor) and result.is_floating_point()
        if plain and result.layout is torch.strided and result.numel():
            kinds = self.coarsest, result.dtype
            self.coarsest = max(kinds, key=lambda x: torch.finfo(x).eps)
            if name.strip("_") in LAYERS:
                self.products.append(torch.finfo(result.dtype).eps)
            sizes = result.detach().abs()
            most = sizes.where(sizes < MASK_SIZE, 0).max().item()
            self.now = max(self.now, most)
        return result

    def end(self, path: str, *_: Any) -> None:
        """Say of which module the numbers are since another one ended."""
        self.largest[path] = max(self.now, self.largest.get(path, 0.0))
        self.now = 0.0

    def allowed(self, eps: float, moves: Tensor | None = None) -> float:
        """Say how far a right model may be off, from how far rounding moves
        it: by nothing more where steps between products alone are coarser."""
        just_steps = eps < torch.finfo(self.coarsest).eps
        far = 0.0 if moves is None else MOVES_ALLOWED * moves.max().item()
        return max(FAINT if just_steps else WORTH_A_WORD, 2 * eps, far)


@check
def precision(subject: Subject) -> Verdict:
    """Check that a model's outputs in its own number format are as close to
    those in double precision as any model's could be.

    Digits are lost where a large number is added and subtracted again. Higham
    (2002), section 1.5.

    - Changes: the number format, to float64; and there, weights and vectors,
      which are rounded at random to the format of the model.
    - Looks at: how far outputs are from those in float64, in the model, and
      with such rounding.
    - Says: how far off they are, as a share of their size, and in which module
      first. Unusual: the model, or a step of it, is in half precision.
    """
    if between_two(subject).any():
        raise NotJudgedError("Two runs differ: see `repeatable`.")
    double, notes = in_double(subject), NumberFormats()
    with watch_modules(subject.model, notes.end), notes:
        outputs = subject.run()
    fine = outputs[unpadded_rows(subject, outputs)].isfinite().all()
    if not fine or notes.draws or notes.coarsest == torch.float64:
        raise NotJudgedError(why_not_compared(notes, bool(fine)))
    exact, eps = raw_output(double), usual_step(subject, notes)
    off, allowed = rows_off(subject, outputs, exact), notes.allowed(eps)
    share, seed = off.quantile(0.9).item(), 0
    while share > allowed and seed < ROUNDINGS:
        moved = with_moved_weights(double, eps, seed).run()
        far = notes.allowed(eps, rows_off(subject, moved, exact))
        allowed, seed = max(allowed, far), seed + 1
    name = str(notes.coarsest).removeprefix("torch.")
    few = "With steps in" if eps < torch.finfo(notes.coarsest).eps else "In"
    says = f"{few} {name} the outputs are "
    if share <= allowed:
        return True, f"{says}those of float64, but for rounding.", off[None]
    lost = where_lost(subject, double, notes, eps)
    says += f"off by {100 * share:.2g}% of their size from what float64 gives"
    says += f"{lost} {HINT}"
    level = BROKEN if notes.coarsest == torch.float32 else UNUSUAL
    return False, says, off[None], level


def usual_step(subject: Subject, notes: NumberFormats) -> float:
    """How far the numbers next to 1 are from it in the format of a model: the
    coarsest of its weights, outputs and products. Other steps may lose more.
    """
    own = max(coarsest(subject), *notes.products, 0.0)
    return min(own, torch.finfo(notes.coarsest).eps)


def why_not_compared(notes: NumberFormats, fine: bool) -> str:
    """Say why a run cannot be held against one in double precision."""
    if not fine:
        return "The outputs are not finite: see `finite`."
    if notes.draws:
        return "It draws random numbers, which differ in float64."
    return "It computes in float64: nothing here is more precise."


def rows_off(subject: Subject, x: Tensor, exact: Tensor) -> Tensor:
    """How far rows of vectors are from the exact ones, as a share of these
    numbers' spread: (N), without padding. Masks count as exact."""
    mine, right = (flat_rows(y.double()) for y in (x, exact))
    for real in subject.real:
        if real.shape == right.shape[:2]:
            mine, right = mine[real], right[real]
            break
    off = (mine - right).square().mean(-1).sqrt().flatten() / right.std()
    return off.nan_to_num(0.0) * bool(right.abs().max() < MASK_SIZE)


def where_lost(
    subject: Subject, double: Subject, notes: NumberFormats, eps: float
) -> str:
    """Name the first module that loses digits, and its largest numbers."""
    moved = with_moved_weights(double, eps, 0)

    def is_off(*vectors: Sequence[Tensor]) -> bool:
        """Whether any vectors are off by more than rounding."""
        alike = (x for x in zip(*vectors) if len({y.shape for y in x}) == 1)
        return any(
            rows_off(subject, x, y).quantile(0.9).item()
            > notes.allowed(eps, rows_off(subject, z, y))
            for x, y, z in alike
            if x.numel()
        )

    path = ""
    for calls in zip(*map(module_calls, (subject, double, moved))):
        read, gave = (is_off(*(x[i] for x in calls)) for i in (2, 3))
        if gave and not read:
            path = calls[0][0]
            break
    says = f", first in {path}." if path else "."
    most = max(n for x, n in notes.largest.items() if x.startswith(path))
    digits = round(-math.log10(torch.finfo(notes.coarsest).resolution))
    kept = f" Numbers there grow to {most:.0e}, of which {digits} digits are "
    return says + (f"{kept}kept." if most > 100 else "")


HINT = (
    "Look for a large number that is added and taken away again, such as −1e9 "
    "on all scores or E[x²] − E[x]²; for 1 − p where p is nearly 1; and for "
    "positions, sums or a softmax in half precision."
)
