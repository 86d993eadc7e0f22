"""Structure: norms, and blocks in lists."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress

import torch
from torch import Tensor, nn

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import module_calls
from shapewatch.properties.subject import NotJudgedError, Subject

NORM_HINT = (
    "Look at the axis of its mean and variance, and at the square root."
)
# Their statistics are meant to run over other axes than the last.
OTHERS = nn.modules.batchnorm._NormBase, nn.GroupNorm
# As NoNorm, which scales only; statistics over other axes, or fixed ones.
NO_NORM = re.compile("^no(n|ne)?_?norm|(batch|group|instance|weight)_?norm")
OFFSET_NAMES, GAINS = ("bias", "beta"), ("weight", "gamma")


@check
def norm_statistics(subject: Subject) -> Verdict:
    """Check that each norm gives each position a mean square of 1, apart
    from its own gains and offsets.

    That keeps the numbers of a deep model at one size: Ba et al. (2016),
    equation 4. Norms are known by the name of their class, or by what they
    make of rows of several sizes: rows of one.

    - Changes: nothing at first. A norm that seems wrong is run alone, on rows
      of all sizes, to find gains that are not called weight; and it is none
      if it changes each number alone, or cannot be run so.
    - Looks at: what each norm gives, without its gains and offsets.
    - Says: after which norm which position has which mean square. Unusual: the
      norm has gains that are not a parameter.
    """
    sizes, unusual = [], ""
    for path, squares, wrong, gain in norms_of_run(subject):
        sizes.append(squares)
        if not wrong.any():
            continue
        b, t, *_ = wrong.nonzero()[0].tolist()
        says = f"After {path}, position {t} of sequence {b} has a mean square "
        says += f"of {squares[wrong][0].item():.2f}, not 1."
        if gain is None:
            return False, f"{says} {NORM_HINT}", squares
        unusual = unusual or f"{says} It has gains that are no parameter."
    if not sizes and any(map(is_norm, modules_of(subject))):
        raise NotJudgedError("No norm of this run can be judged alone.")
    if not sizes:
        raise NotJudgedError("No module's class has the name of a norm.")
    if unusual:
        return False, unusual, sizes[0], UNUSUAL
    says = "After each norm, each position has a mean square of 1."
    return True, says, sizes[0]


def norms_of_run(
    subject: Subject,
) -> Iterator[tuple[str, Tensor, Tensor, Tensor | None]]:
    """Give each norm's path, the mean squares after it, which are wrong, and
    the gains that it has alone, if they are: of its own, none is wrong."""
    norms = {*filter(is_norm, modules_of(subject))}
    calls = module_calls(subject, of=norms.__contains__)
    for path, norm, given, gave in calls:
        alike = given and gave and given[0].shape == gave[0].shape
        if not alike or gave[0].ndim < 3:
            continue
        squares, gain = without_gains(norm, gave[0]).square().mean(-1), None
        least = 0.9 * (1 - 1 / gave[0].shape[-1])  # below 1 if it is unbiased
        wrong = ~((squares > least) & (squares < 1.1))
        if wrong.any():
            try:
                gain = subject.call(gain_of, (norm, given[0]))
            except FailedError:  # it is no norm, or reads more than rows
                continue
        own = gain is not None and is_own(norm, gain)
        yield path, squares, wrong & (not own), gain


def modules_of(subject: Subject) -> Iterator[nn.Module]:
    """Give the modules of a model; of a function, none."""
    yield from getattr(subject.model, "modules", list)()


def is_norm(part: nn.Module) -> bool:
    """Whether a module is a norm of positions, by its name or alone, and does
    not only hold one."""
    kind = type(part)
    name, (_, *inner) = kind.__name__.lower(), part.modules()
    if isinstance(part, OTHERS) or NO_NORM.search(name):
        return False
    if kind.__module__.startswith("torch.nn.utils"):
        return False
    if any(
        "norm" in type(x).__name__.lower() or [*x.parameters()] for x in inner
    ):
        return False
    return "norm" in name or normalises(part)


def normalises(part: nn.Module) -> bool:
    """Whether a module with gains (C) brings rows of all sizes to one."""
    shapes = {p.shape for p in part.parameters()}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 1 or shape[0] < 2:
        return False
    like = torch.zeros(1, 6, *shape).to(next(part.parameters()))
    with suppress(Exception), torch.no_grad():
        return gain_along(part, like, -1) is not None
    return False


def without_gains(norm: nn.Module, x: Tensor) -> Tensor:
    """Take a norm's own offsets and gains, by name, out of what it gave."""
    for name in OFFSET_NAMES + GAINS:
        gain = getattr(norm, name, None)
        if isinstance(gain, Tensor) and has_channels(gain, x):
            gain = gain.detach()
            x = x - gain if name in OFFSET_NAMES else x / gain
    return x


def has_channels(gain: Tensor, x: Tensor) -> bool:
    """Whether a gain or an offset has all channels of x (..., C)."""
    pairs = [*zip(gain.shape[::-1], x.shape[::-1])]
    same = all(n in (1, m) for n, m in pairs) and gain.ndim <= x.ndim
    return same and gain.shape[-1:] == x.shape[-1:]


def gain_of(norm: nn.Module, like: Tensor) -> Tensor | None:
    """Ask a norm alone for its gains (C), along the last axis, or along the
    one where images have channels; None where it has no such."""
    draw = torch.Generator().manual_seed(0)
    x, noise = (torch.randn(like.shape, generator=draw).to(like) for _ in "ab")
    other = x.where(noise > 0, 10 * noise)
    if norm(x)[noise > 0].allclose(norm(other)[noise > 0], 1e-3, 1e-3):
        raise NotJudgedError("It changes each number alone.")
    widths = {n for p in norm.parameters(False) for n in p.shape}
    last = like.ndim == 3 and like.shape[-1] in widths
    axes = (-1, 1) if like.shape[1] in widths and not last else (-1,)
    gains = (gain_along(norm, like, axis) for axis in axes)
    return next((gain for gain in gains if gain is not None), None)


def gain_along(norm: nn.Module, like: Tensor, axis: int) -> Tensor | None:
    """Find gains (C): of rows with mean 0 and mean square 1, and of several
    sizes, a norm makes gain * row + offset. None where not."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(like.movedim(axis, -1).shape, generator=draw).to(like)
    rows = rows - rows.mean(-1, keepdim=True)
    rows = rows / rows.square().mean(-1, keepdim=True).sqrt()
    sizes = torch.arange(rows[..., 0].numel()).view(rows[..., :1].shape) % 3
    loud = (rows * 10.0**sizes).movedim(-1, axis).to(like)
    plain, turned = (norm(x).movedim(axis, -1) for x in (loud, -loud))
    odd, even = (plain - turned) / 2, (plain + turned) / 2
    flat = (x.flatten(0, -2) for x in (odd / rows, even))
    gain, offset = (x.median(0).values for x in flat)
    right = torch.allclose(gain * rows + offset, plain, 0.02, 0.02)
    return gain if right else None


def is_own(norm: nn.Module, gain: Tensor) -> bool:
    """Whether gains are the norm's own parameters, or those and 1, or 1."""
    parameters = [p.detach() for p in norm.parameters(recurse=False)]
    sums = [1 + p for p in parameters]
    return any(
        torch.allclose(gain, x.expand_as(gain), 0.05, 1e-3)
        for x in (torch.ones_like(gain), *parameters, *sums)
        if x.ndim == 0 or x.shape in ((1,), gain.shape)
    )


def blocks(model: Callable) -> Iterator[tuple[str, nn.Module]]:
    """Find blocks and their paths: modules in a list, with norms and several
    layers inside that have no norm of their own."""
    if not isinstance(model, nn.Module):
        says = "Blocks are looked for in modules, not in functions."
        raise NotJudgedError(says)
    for path, parts in model.named_modules():
        listed = isinstance(parts, (nn.ModuleList, nn.Sequential))
        if listed and not path.rpartition(".")[2].isdigit():
            for name, part in parts.named_children():
                inner = list(part.modules())
                layers = [x for x in inner if is_layer(x)]
                deep = (x for layer in layers for x in layer.modules())
                plain = len(layers) > 1 and not any(map(is_norm, deep))
                if plain and any(map(is_norm, inner)):
                    yield f"{path}.{name}".strip("."), part


def is_layer(part: nn.Module) -> bool:
    """Whether a module has a matrix of its own."""
    return any(p.ndim > 1 for p in part.parameters(recurse=False))
