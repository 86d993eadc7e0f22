"""Learning: parameters that get a gradient, and no others."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer_lite.properties.finding import BROKEN, UNUSUAL, Verdict, check
from tformer_lite.properties.norms import is_norm
from tformer_lite.properties.structure import blocks
from tformer_lite.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from tformer_lite.properties.variants import InTraining, reweighted
from tformer_lite.tracing.record.tensors import tensors

SEEDS = 3  # how many random weights are tried
POSITIONS = re.compile(r"(^|[._])pos(itions?)?([._]|$)")


@check
def live_parameters(subject: Subject) -> Verdict:
    """See whether every parameter has a gradient, and whether everything
    that has one is among the model's parameters."""
    model = subject.model
    if not isinstance(model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    learns = {p: n for n, p in model.named_parameters() if p.requires_grad}
    reached = gradients(subject)
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
        return True, f"All {len(learns)} parameters get a gradient.", sizes
    says = f"{len(dead)} of {len(learns)} parameters get no gradient"
    why, level = why_dead(subject, dead)
    return False, f"{says}, such as {dead[0]}. {why}", sizes, level


def why_dead(subject: Subject, dead: list[str]) -> tuple[str, str]:
    """Say why parameters get no gradient, and of which level that is."""
    if others_alive(subject).issuperset(dead):
        return "With random weights they do: some are 0 or small.", UNUSUAL
    if set_aside(subject, dead):
        return "They change no output: are they for something else?", UNUSUAL
    says = (
        "Look for a layer that is not called, whose result is dropped, or "
        "that is detached."
    )
    return says, BROKEN


def others_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient with some random weights."""
    alive: set[str] = set()
    for seed in range(SEEDS):
        other = reweighted(subject, seed)
        model: Any = other.model
        reached = gradients(other)
        alive |= {n for n, p in model.named_parameters() if reached.get(p)}
    return alive


def set_aside(subject: Subject, dead: list[str]) -> bool:
    """Whether parameters stand outside of all blocks, and change nothing
    that comes out, as a pooler may; but for norms and embeddings that are
    forgotten beside others."""
    inside = tuple(f"{path}." for path, _ in blocks(subject.model))
    model: Any = subject.model
    if any(n.startswith(inside) or forgotten(model, n, dead) for n in dead):
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


def gradients(subject: Subject) -> dict[Tensor, float]:
    """Find what the outputs depend on and could learn, with the largest size
    of its gradient. What writes in place may have one in training only."""
    try:
        return subject.call(partial(learnt, subject.model), subject.given)
    except FailedError:
        if not isinstance(subject.model, nn.Module):
            raise
        training = InTraining(subject.model)
        return subject.call(partial(learnt, training), subject.given)


def learnt(model: Callable, *inputs: Tensor) -> dict[Tensor, float]:
    """Draw gradients of all that a model gives, and hand them back."""
    with torch.enable_grad():
        result = model(*inputs)
    made = [x for x in tensors(result) if x.grad_fn is not None]
    found, pulls = leaves(made), [torch.randn_like(x) for x in made]
    some = torch.autograd.grad(made, found, pulls) if found else ()
    return {x: g.abs().max().item() for x, g in zip(found, some)}


def leaves(outputs: list[Tensor]) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    seen: dict[Any, None] = {}
    ahead: list[Any] = [x.grad_fn for x in outputs]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in seen:
            seen[node] = None
            ahead += [earlier for earlier, _ in node.next_functions]
    return [node.variable for node in seen if hasattr(node, "variable")]
