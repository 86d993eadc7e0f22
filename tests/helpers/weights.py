"""Two models with the same weights: how many, and what their parts make."""

import re
from collections.abc import Callable, Iterator

import torch
from torch import nn

Rules = dict[str, str]


def in_doubles() -> Iterator[None]:
    """Seed, and compute in double precision: made to be a fixture."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        yield
    torch.set_default_dtype(torch.float32)


def shaken(module: nn.Module) -> nn.Module:
    """Draw every parameter anew: no gain stays 1, no offset 0."""
    for p in module.parameters():
        nn.init.normal_(p, std=0.5 if p.ndim == 1 else p.shape[-1] ** -0.5)
    return module


def renamed(name: str, rules: Rules) -> str:
    """Rewrite the parts of a name, pattern by pattern."""
    for pattern, new in rules.items():
        name = re.sub(pattern, new, name)
    return name


def copied(
    mine: nn.Module,
    theirs: nn.Module,
    rules: Rules | None = None,
    form: Callable = lambda name, weight: weight,
) -> nn.Module:
    """Give `theirs` our weights: every one, under names by the rules, and in
    another form where it has one."""
    weights = mine.state_dict().items()
    weights = {
        renamed(name, rules or {}): form(name, w) for name, w in weights
    }
    theirs.load_state_dict(weights, assign=True)
    return theirs


def count(module: nn.Module) -> int:
    """The parameters of a module."""
    return sum(p.numel() for p in module.parameters())


def outputs(
    module: nn.Module, *inputs, kind: type = nn.Module
) -> list[tuple[str, tuple[int, ...]]]:
    """The name and output shape of each submodule of a kind, as they end."""
    names = {part: name for name, part in module.named_modules()}
    found, hooks = [], []

    def note(part, args, result):
        found.append((names[part], tuple(result.shape)))

    for part in names:
        if isinstance(part, kind):
            hooks.append(part.register_forward_hook(note))
    module(*inputs)
    for hook in hooks:
        hook.remove()
    return found
