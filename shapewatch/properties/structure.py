"""Structure: norms, and blocks in lists."""

import re
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.perturbation import module_calls
from shapewatch.properties.subject import NotJudgedError, Subject

NORM_HINT = (
    "Look at the axis of its mean and variance, and at the square root."
)
# Their statistics are meant to run over other axes than the last.
OTHERS = nn.modules.batchnorm._NormBase, nn.GroupNorm
NO_NORM = re.compile("No(n|ne)?(?=[A-Z_])")  # as NoNorm, which scales only
EPSILONS = "eps", "epsilon", "variance_epsilon", "layer_norm_eps"
OFFSET_NAMES, GAINS = ("bias", "beta"), ("weight", "gamma")


@check
def norm_statistics(subject: Subject) -> Verdict:
    """Check that each norm gives each position a mean square of 1, apart
    from its own gains and offsets.

    That keeps the numbers of a deep model at one size: Ba et al. (2016),
    equation 4. Norms are known by the name of their class.

    - Changes: nothing at first. A norm that seems wrong is run alone, on rows
      of all sizes, to find gains that are not called weight.
    - Looks at: what each norm gives, without its gains and offsets. Rows that
      hardly vary are left out: there its epsilon counts.
    - Says: after which norm which position has which mean square. Unusual: the
      norm has gains that are not a parameter.
    """
    sizes, unusual = [], ""
    for path, norm, given, gave in module_calls(subject, of=is_norm):
        if not gave or gave[0].ndim < 3:
            continue
        x = without_gains(norm, gave[0])
        sizes.append(squares := x.square().mean(-1))
        least = 0.9 * (1 - 1 / x.shape[-1])  # an unbiased norm's is below 1
        wrong = ~((squares > least) & (squares < 1.1))
        if given and given[0].shape == x.shape:
            wrong &= ~are_faint(norm, given[0])
        gain = subject.call(gain_of, (norm, given)) if wrong.any() else None
        if not wrong.any() or (gain is not None and is_own(norm, gain)):
            continue
        b, t, *_ = wrong.nonzero()[0].tolist()
        says = f"After {path}, position {t} of sequence {b} has a mean square "
        says += f"of {squares[wrong][0].item():.2f}, not 1."
        if gain is None:
            return False, f"{says} {NORM_HINT}", squares
        unusual = unusual or f"{says} It has gains that are no parameter."
    if not sizes:
        raise NotJudgedError("No module's class has the name of a norm.")
    if unusual:
        return False, unusual, sizes[0], UNUSUAL
    says = "After each norm, each position has a mean square of 1."
    return True, says, sizes[0]


def are_faint(norm: nn.Module, x: Tensor) -> Tensor:
    """Tell which rows vary so little that a norm's epsilon counts: (...)."""
    named = (getattr(norm, name, None) for name in EPSILONS)
    epsilon = next((x for x in named if isinstance(x, float)), 1e-5)
    return x.float().var(-1, unbiased=False) < 20 * epsilon


def is_norm(part: nn.Module) -> bool:
    """Whether a module is a norm of positions, and does not only hold one."""
    kind = type(part)
    if isinstance(part, OTHERS) or NO_NORM.match(kind.__name__):
        return False
    if kind.__module__.startswith("torch.nn.utils"):
        return False
    inner = [type(p).__name__.lower() for p in part.modules()]
    return "norm" in inner[0] and not any("norm" in x for x in inner[1:])


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


def gain_of(norm: nn.Module, given: list[Tensor]) -> Tensor | None:
    """Ask a norm alone for its gains (C): of rows with mean 0 and mean square
    1, and of several sizes, it makes gain * row + offset. None where not."""
    if not given:
        return None
    like, widths = given[0], {len(p) for p in norm.parameters(False)}
    last = like.ndim == 3 and like.shape[-1] in widths
    axis = 1 if like.shape[1] in widths and not last else -1
    rows = standard_rows(like.movedim(axis, -1))
    sizes = torch.arange(rows[..., 0].numel()).view(rows[..., :1].shape) % 3
    loud = (rows * 10.0**sizes).movedim(-1, axis).to(like)
    try:
        plain, turned = (norm(x).movedim(axis, -1) for x in (loud, -loud))
        odd, even = (plain - turned) / 2, (plain + turned) / 2
        flat = (x.flatten(0, -2) for x in (odd / rows, even))
        gain, offset = (x.median(0).values for x in flat)
        right = torch.allclose(gain * rows + offset, plain, 0.02, 0.02)
    except Exception:  # it is of another kind
        return None
    return gain if right else None


def standard_rows(like: Tensor) -> Tensor:
    """Draw rows with mean 0 and mean square 1: (..., C)."""
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(like.shape, generator=draw).to(like)
    rows = rows - rows.mean(-1, keepdim=True)
    return rows / rows.square().mean(-1, keepdim=True).sqrt()


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
