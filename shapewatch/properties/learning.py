"""Learning: parameters that get a gradient, and no others."""

import re
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.excuses import EXCUSES
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.gradients import gradients
from shapewatch.properties.heads import drawn
from shapewatch.properties.norms import is_norm
from shapewatch.properties.order import NAMED
from shapewatch.properties.sharing import learnt_as_one
from shapewatch.properties.slices import unlearnt
from shapewatch.properties.structure import blocks
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.properties.variants import reweighted

POSITIONS = re.compile(r"(^|[._])pos(itions?)?([._]|$)")


@check
def live_parameters(subject: Subject) -> Verdict:
    """See whether every parameter has a gradient, and whether everything
    that has one is among the model's parameters."""
    model = subject.model
    if not isinstance(model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    learns = {p: n for n, p in model.named_parameters() if p.requires_grad}
    reached = sizes_of(subject)
    sizes = torch.tensor([[reached.get(p, 0.0)] for p in learns])
    lost = [tuple(p.shape) for p in reached if p not in learns]
    dead = [n for p, n in learns.items() if not reached.get(p)]
    if lost:
        says = (
            f"{len(lost)} tensors could learn and are no parameters, one of "
            f"shape {lost[0]}. No optimizer sees them: keep parts in an "
            "nn.ModuleList, not in a plain list."
        )
        return False, says, sizes
    if not dead:
        if found := unlearnt(subject):
            return False, found[0], sizes, found[1]
        if found := learnt_as_one(subject):
            return False, found[0], sizes, found[1]
        return whether_frozen(model, learns, sizes)
    says = f"{len(dead)} of {len(learns)} parameters get no gradient"
    one, why, level = why_dead(subject, dead)
    return False, f"{says}, such as {one}. {why}", sizes, level


def sizes_of(subject: Subject) -> dict[Tensor, float]:
    """Give the largest gradient of all that the outputs depend on."""
    with suppress(FailedError):
        return drawn(subject).sizes
    return gradients(subject)


def whether_frozen(model: nn.Module, learns: dict, sizes: Tensor) -> Verdict:
    """Say that all learn, or that some cannot, between others that do: no
    table of positions, and not all but an adapter's."""
    named = [x for x in model.named_parameters() if x[1].is_floating_point()]
    frozen = [n for n, p in named if not p.requires_grad]
    odd = [name for name in frozen if not NAMED.search(name)]
    if not odd or len(frozen) * 2 >= len(named):
        says = f"All {len(learns)} parameter tensors get a gradient."
        return True, says, sizes
    says = (
        f"{len(odd)} of {len(named)} parameters cannot learn, such as "
        f"{odd[0]}: requires_grad is False. Is it meant?"
    )
    return False, says, sizes, UNUSUAL


def why_dead(subject: Subject, dead: list[str]) -> tuple[str, str, str]:
    """Name a parameter without a gradient, and say why it has none, and of
    which level that is: of all, what is wrong comes first."""
    one = dead[0]
    why = "They change no output: are they for something else?"
    for find, says in EXCUSES.items():
        alive = find(subject)
        why = says if alive.intersection(dead) else why
        dead = [name for name in dead if name not in alive]
    if not dead or set_aside(subject, dead):
        return one, why, UNUSUAL
    says = (
        "Look for a layer that is not called, whose result is dropped, or "
        "that is detached."
    )
    return dead[0], says, BROKEN


def set_aside(subject: Subject, dead: list[str]) -> bool:
    """Whether parameters stand outside of all blocks, and change nothing
    that comes out, as a pooler may; but for norms and embeddings that are
    forgotten beside others."""
    inside = tuple(f"{path}." for path, _ in blocks(subject.model))
    model: Any = subject.model
    needed = (n.startswith(inside) or forgotten(model, n, dead) for n in dead)
    if not inside or any(needed):
        return False
    other = reweighted(subject, 0, *dead)
    return other.run().equal(subject.run())


def forgotten(model: nn.Module, name: str, dead: list[str]) -> bool:
    """Whether a parameter is of a norm, an embedding or positions, beside
    parts that have a gradient."""
    path = name.rpartition(".")[0]
    part = model.get_submodule(path)
    table = isinstance(part, nn.Embedding) or POSITIONS.search(name)
    if not is_norm(part) and not table:
        return False
    own = around = set(part.parameters())
    while path and around == own:  # it may be all that a module has
        path = path.rpartition(".")[0]
        around = set(model.get_submodule(path).parameters())
    lost = {model.get_parameter(name) for name in dead}
    return bool(around - lost)
