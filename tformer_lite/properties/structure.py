"""Structure: parameters that learn, blocks that hand on what they got."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity
from torch.utils._pytree import tree_map_only

from tformer_lite.properties.agreement import close
from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.norms import (
    is_norm,
    without_gains,
)
from tformer_lite.properties.reach import calls, watch
from tformer_lite.properties.subject import NotJudgedError, Subject, output

Run = tuple[str, Tensor, Tensor, Tensor]


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
    elif dead:
        says = (
            f"{len(dead)} of {len(learns)} parameters get no gradient, such "
            f"as {dead[0]}. Look for a layer that is not called, whose "
            "result is dropped, or that is detached."
        )
    else:
        says = f"All {len(learns)} parameters get a gradient."
    return not (lost or dead), says, sizes


def gradients(subject: Subject) -> dict[Tensor, float]:
    """Find what the outputs depend on and could learn, with the largest
    size of its gradient."""

    def learnt(*inputs: Tensor) -> dict[Tensor, float]:
        with torch.enable_grad():
            outputs = output(subject.model(*inputs), subject.inputs[-1])
        found, pull = leaves(outputs), torch.randn_like(outputs)
        some = torch.autograd.grad(outputs, found, pull) if found else ()
        return {x: g.abs().max().item() for x, g in zip(found, some)}

    return subject.call(learnt, subject.given)


def leaves(outputs: Tensor) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    seen: dict[Any, None] = {}
    ahead = [outputs.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in seen:
            seen[node] = None
            ahead += [earlier for earlier, _ in node.next_functions]
    return [node.variable for node in seen if hasattr(node, "variable")]


@check
def identity(subject: Subject) -> Verdict:
    """See whether a block whose sublayers give 0 hands its input on; or, in
    post-norm, the norm of its input.

    He et al. (2016), section 3.1; Xiong et al. (2020), figure 1. Blocks are
    the elements of a list of modules that have norms and linear layers.
    """
    runs = list(silent_runs(subject))
    for path, x, first, after in runs:
        post = close(first, x) and is_normed(after, x)
        if not (close(after, x) or post):
            says = (
                f"With all its layers giving 0, {path} does not hand its "
                "input on. Look at the residual connections: each adds a "
                "sublayer's result to what went in, once."
            )
            return False, says, (after - x)[0]
    if not runs:
        raise NotJudgedError("There is no list of blocks with norms inside.")
    _, x, _, after = runs[0]
    says = "With its layers giving 0, a block hands its input on."
    return True, says, (after - x)[0]


def silent_runs(subject: Subject) -> Iterator[Run]:
    """Run with all layers in blocks giving 0, and norms without gains: each
    block's path, its input, what its first layer read, and its output."""
    model = subject.model
    if not isinstance(model, nn.Module):
        says = "Blocks are looked for in modules, not in functions."
        raise NotJudgedError(says)
    inside = {path: [*x.modules()][1:] for path, x in blocks(model)}
    parts = [part for inner in inside.values() for part in inner]

    def silence(_: str, part: nn.Module, *given: Any) -> Any:
        if part in parts and is_layer(part):
            return tree_map_only(Tensor, torch.zeros_like, given[-1])
        plain = part in parts and is_norm(part)
        return without_gains(part, given[-1]) if plain else given[-1]

    with watch(model, silence):
        found = calls(subject)
    firsts: dict[str, Tensor] = {}  # of the blocks that still run
    for path, part, given, gave in found:
        if path in firsts and given:  # it read vectors, and not ids alone
            yield path, given[0], firsts.pop(path), gave[0]
        if is_layer(part):
            around = (p for p, inner in inside.items() if part in inner)
            firsts = {p: x for p in around for x in given[:1]} | firsts


def blocks(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Find the blocks and their paths: modules in a list, with norms and
    several layers inside. A list in a list is no list of blocks."""
    for path, parts in model.named_modules():
        listed = isinstance(parts, (nn.ModuleList, nn.Sequential))
        if listed and not path.rpartition(".")[2].isdigit():
            for name, part in parts.named_children():
                inner = list(part.modules())
                if any(map(is_norm, inner)) and sum(map(is_layer, inner)) > 1:
                    yield f"{path}.{name}".strip("."), part


def is_layer(part: nn.Module) -> bool:
    """Whether a module has a matrix of its own."""
    return any(p.ndim > 1 for p in part.parameters(recurse=False))


def is_normed(after: Tensor, x: Tensor) -> bool:
    """Whether one tensor is the other, normalised."""
    size = after.square().mean(-1)
    centred = x - x.mean(-1, keepdim=True)
    alike = [cosine_similarity(after, y, -1).min() for y in (centred, x)]
    return bool(max(alike) > 0.999 and size.min() > 0.5 and size.max() < 1.1)
