"""Structure: parameters that learn, blocks that hand on what they got."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.numbers import is_norm, without_gains
from tformer_lite.properties.reach import watch
from tformer_lite.properties.subject import NotJudgedError, Subject, output
from tformer_lite.tracing.record.tensors import tensors


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
    dead = [n for p, n in learns.items() if not reached.get(p, 0)]
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
            outputs = output(subject.model(*inputs))
        found, pull = leaves(outputs), torch.randn_like(outputs)
        some = torch.autograd.grad(outputs, found, pull) if found else ()
        return {x: g.abs().max().item() for x, g in zip(found, some)}

    return subject.call(learnt, subject.inputs)


def leaves(outputs: Tensor) -> list[Tensor]:
    """Find the tensors that a gradient of the outputs flows into."""
    seen, found, ahead = set(), [], [outputs.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        ahead += [earlier for earlier, _ in node.next_functions]
        if hasattr(node, "variable"):
            found.append(node.variable)
    return found


@check
def identity(subject: Subject) -> Verdict:
    """See whether a block whose sublayers give 0 hands its input on; or, in
    post-norm, the norm of its input.

    He et al. (2016), section 3.1; Xiong et al. (2020), figure 1. Blocks are
    the elements of a list of modules that have norms and linear layers.
    """
    if not isinstance(subject.model, nn.Module):
        says = "Blocks are looked for in modules, not in functions."
        raise NotJudgedError(says)
    silence = Silence(subject.model)
    with watch(subject.model, silence):
        subject.run()
    for path, x, first, after in silence.found:
        post = close(first, x) and is_normed(after, x)
        if not (close(after, x) or post):
            says = (
                f"With all its layers giving 0, {path} does not hand its "
                "input on. Look at the residual connections: each adds a "
                "sublayer's result to what went in, once."
            )
            return False, says, (after - x)[0]
    if not silence.found:
        raise NotJudgedError("There is no list of blocks with norms inside.")
    _, x, _, after = silence.found[0]
    says = "With its layers giving 0, a block hands its input on."
    return True, says, (after - x)[0]


class Silence:
    """A hook that lets all layers in blocks give 0, and norms no gains.

    `found` has of each block that ran its path, its input, what its first
    layer read, and its output; `firsts`, of those that still run, the third.
    """

    def __init__(self, model: nn.Module):
        self.inside = {p: [*x.modules()][1:] for p, x in blocks(model)}
        self.firsts: dict[str, Tensor] = {}
        self.found: list[tuple[str, Tensor, Tensor, Tensor]] = []

    def __call__(
        self, path: str, part: nn.Module, args: tuple, kwargs: dict, gave: Any
    ) -> Any:
        given = [x.clone() for x in tensors((args, kwargs))[:1]]
        if path in self.firsts:
            first, after = self.firsts.pop(path), tensors(gave)[0]
            self.found.append((path, given[0], first, after))
        around = [path for path, parts in self.inside.items() if part in parts]
        if around and is_layer(part):
            news = {path: x for path in around for x in given}
            self.firsts = news | self.firsts
            return zeros(gave)
        return without_gains(part, gave) if around and is_norm(part) else gave


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


def zeros(given: Any) -> Any:
    """Put 0 into the tensors of what a layer gave."""
    if isinstance(given, Tensor):
        return torch.zeros_like(given)
    if isinstance(given, (tuple, list)):
        return type(given)(map(zeros, given))
    return given


def close(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors have the same shape and numbers."""
    return x.shape == y.shape and torch.allclose(x, y, atol=1e-5)


def is_normed(after: Tensor, x: Tensor) -> bool:
    """Whether one tensor is the other, normalised."""
    size = after.square().mean(-1)
    centred = x - x.mean(-1, keepdim=True)
    alike = [cosine_similarity(after, y, -1).min() for y in (centred, x)]
    return bool(max(alike) > 0.999 and size.min() > 0.5 and size.max() < 1.1)
