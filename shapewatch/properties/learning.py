"""Learning: parameters that get a gradient, and no others."""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.finding import (
    BROKEN,
    HOLDS,
    UNUSUAL,
    Verdict,
    check,
)
from shapewatch.properties.gradients import parameter_gradients
from shapewatch.properties.inputs import optional_inputs
from shapewatch.properties.order import POSITION_NAMES
from shapewatch.properties.outputs import FailedError
from shapewatch.properties.perturbation import (
    baseline_output,
    judged_by_position,
    module_calls,
    watch_modules,
)
from shapewatch.properties.structure import blocks, is_norm
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    once,
    with_model,
)
from shapewatch.properties.versions import with_random_weights
from shapewatch.tracing.record.tensors import tensors

TRIES = 3  # how many random weights are tried


def live_names(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient; none, where it fails."""
    with suppress(FailedError):
        sizes = parameter_gradients(with_model(subject, subject.model))
        named = subject.model.named_parameters()
        return {name for name, p in named if sizes.get(p)}
    return set()


@once
def alive_in_time(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient, now or once those have moved
    that do: what others are multiplied with may be 0 at the start."""
    alive, more = set[str](), live_names(subject)
    while more - alive:
        alive |= more
        more = live_names(with_random_weights(subject, 0, *alive))
    return alive


def others_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient with some random weights, and
    those like them: other experts are chosen then, if not all."""
    others = (with_random_weights(subject, seed) for seed in range(TRIES))
    more = set().union(*map(live_names, others)) - alive_in_time(subject)
    return names_like(subject, more)


def names_like(subject: Subject, some: set[str], count: int = 0) -> set[str]:
    """Name the parameters that are called so but for numbers, or for the
    first ones, such as those of other experts, or of other blocks."""
    kind = partial(re.sub, r"\d+", "#", count=count)
    kinds = {kind(name) for name in some}
    every = (name for name, _ in subject.model.named_parameters())
    return {name for name in every if kind(name) in kinds}


def more_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient from one more input."""
    alive: set[str] = set()
    part, tried = innermost_model(subject.model), [*optional_values(subject)]
    for name in optional(part):
        for value in tried:
            part.forward = partial(part.forward, **{name: value})
            alive |= live_names(subject)  # which puts `forward` back
    return alive


def innermost_model(model: Any) -> nn.Module:
    """Find the module with optional inputs: the model, or what it wraps."""
    parts = [*model.children()]
    weights = [*model.parameters(recurse=False)]
    if len(parts) == 1 and not weights and not [*optional(model)]:
        return innermost_model(parts[0])
    return model


def optional(part: nn.Module) -> Iterator[str]:
    """Name the inputs of a module that are None by default."""
    yield from (name for name, x in optional_inputs(part).items() if x is None)


def optional_values(subject: Subject) -> Iterator[Tensor]:
    """Make what an optional input may be: marks (B, T), one position each (B,
    T, T), or vectors (B, T, C) as wide as modules give."""
    for x in subject.inputs:
        marks = torch.zeros(x.shape[:2], dtype=torch.long)
        marks[:, :1] = 1
        yield marks
    b, t = subject.inputs[-1].shape[:2]
    yield torch.eye(t).expand(b, t, t)
    gave = (x for *_, outputs in module_calls(subject) for x in outputs[:1])
    for c in {x.shape[-1] for x in gave if x.ndim == 3}:
        yield torch.ones(b, t, c).cumsum(1)


def partly_alive(subject: Subject) -> set[str]:
    """Name the parameters of a model without a row for each position that get
    a gradient in some block: it may read some positions only."""
    with suppress(NotJudgedError):
        judged_by_position(subject)
        baseline_output(subject)
        return set()
    return names_like(subject, live_names(subject), 1)


EXCEPTIONS = {
    others_alive: "With random weights they do: some are 0 or small.",
    more_alive: "They do where another input is given, which is optional.",
    partly_alive: "Only some positions are read, and these do without them.",
}
IDLE = "They change no output: are they for something else?"
STUCK = (
    "They never will: their own numbers keep it at 0, as in a product of two "
    "factors that are both 0. Let one of the two start with random numbers."
)


def like_layers(model: nn.Module) -> str:
    """Say whose layers start with the same random numbers; or ""."""
    for path, parts in model.named_modules():
        listed: Any = parts if isinstance(parts, nn.ModuleList) else ()
        rows = [[p for p in x.parameters() if p.ndim > 1] for x in listed]
        pairs = [pair for row in rows[1:] for pair in zip(rows[0], row)]
        drawn = any((x != x.flatten()[0]).any() for x, _ in pairs)
        if drawn and all(x is not y and x.equal(y) for x, y in pairs):
            return f" All layers of {path} start with the same numbers."
    return ""


def shared_module(model: nn.Module) -> str:
    """Say which module another one has under two names; or ""."""
    for path, part in model.named_modules():
        names: dict[int, str] = {}
        for name, child in part._modules.items():
            first_name = names.setdefault(id(child), name)
            if first_name != name and child and [*child.parameters()]:
                return (
                    f"In {path or 'the model'}, {first_name} and {name} are "
                    "one module and learn together. Is that intended?"
                )
    return ""


def even_matrix(model: nn.Module) -> str:
    """Say which matrix is of one number; or ""."""
    for name, weight in model.named_parameters():
        if weight.ndim == 2 and min(weight.shape) > 1:
            first, last = weight.detach().flatten()[[0, -1]]
            if first == last != 0 and bool((weight == first).all()):
                says = f"All numbers of {name} are the same: its outputs "
                return f"{says}learn as one. Draw the numbers at random."
    return ""


def unlearnt_word(subject: Subject) -> str:
    """Say which word has a row of an embedding that never learns; or ""."""
    lookups: list[tuple[str, Any, Tensor]] = []

    def note(path: str, part: nn.Module, given: tuple, *_: Any) -> None:
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            lookups.extend((path, part, x) for x in tensors(given))

    parts = subject.model.modules()
    if any(getattr(x, "padding_idx", None) is not None for x in parts):
        with watch_modules(subject.model, note):
            subject.run()
    pairs = zip(subject.inputs, subject.real)
    for (words, real), (path, table, ids) in product(pairs, lookups):
        row = table.padding_idx
        alike = ids.shape == words.shape and (ids == words).float().mean()
        if alike >= 0.5 and (words[real] == row).any():
            says = f"The row of word {row} in {path} never learns: "
            says += f"padding_idx={row}. If it is padding, give "
            return f"{says}pad={row}; if not, leave padding_idx out."
    return ""


POSITION_TABLE = re.compile(r"(^|[._])pos(itions?)?([._]|$)")


@check
def live_parameters(subject: Subject) -> Verdict:
    """Check that every parameter has a gradient, that every tensor with one is
    a parameter, and that each word of the input has a row that learns.

    A layer that is not called, or that no optimizer sees, changes no shape.

    - Changes: nothing at first. Where a gradient is missing, it draws weights
      anew, first those that have one, and gives one optional input more.
    - Looks at: gradients of a random sum of all outputs.
    - Says: which parameters get none, and how many tensors have one and are
      not registered as parameters. Those that get one as soon as others have
      moved are right, as in LoRA, or with an optional input. Unusual: one
      module has two names; all numbers of a matrix are the same; or some
      parameters are frozen.
    """
    model = subject.model
    if not isinstance(model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    named = [(p, name) for name, p in model.named_parameters() if p.numel()]
    learns = {p: name for p, name in named if p.requires_grad}
    reached = parameter_gradients(subject)
    sizes = torch.tensor([[reached.get(p, 0.0)] for p in learns])
    lost = [tuple(p.shape) for p in reached if p not in learns]
    late = [name for p, name in learns.items() if not reached.get(p)]
    dead = [name for name in late if name not in alive_in_time(subject)]
    if lost:
        says = (
            f"{len(lost)} tensors could learn and are no parameters, one of "
            f"shape {lost[0]}. No optimizer sees them: keep parts in an "
            "nn.ModuleList, not in a plain list."
        )
        return False, says, sizes
    if dead:
        says = f"{len(dead)} of {len(learns)} parameters get no gradient"
        why, level = why_dead(subject, dead)
        return level == HOLDS, f"{says}, such as {why}", sizes, level
    alike = shared_module(model) or even_matrix(model)
    if says := unlearnt_word(subject) or alike:
        return False, says, sizes, UNUSUAL
    return whether_frozen(model, len(learns), len(late), sizes)


def whether_frozen(
    model: nn.Module, count: int, late: int, sizes: Tensor
) -> Verdict:
    """Say that all learn; or that some cannot, between others that do."""
    named = [x for x in model.named_parameters() if x[1].is_floating_point()]
    frozen = [n for n, p in named if not p.requires_grad]
    odd = [name for name in frozen if not POSITION_NAMES.search(name)]
    if not odd or len(frozen) * 2 >= len(named):
        says = f"All {count} parameter tensors get a gradient"
        says += f", {late} of them once others have moved" * bool(late)
        return True, f"{says}.{like_layers(model)}", sizes
    says = (
        f"{len(odd)} of {len(named)} parameters cannot learn, such as "
        f"{odd[0]}: requires_grad is False. Is that intended?"
    )
    return False, says, sizes, UNUSUAL


def why_dead(subject: Subject, dead: list[str]) -> tuple[str, str]:
    """Name a parameter without a gradient, why, and of which level it is."""
    if stuck := at_zero(subject, dead).intersection(dead):
        of = subject.model.get_parameter
        named = [(bool(of(x).any()), of(x).ndim < 2, x) for x in stuck]
        return f"{min(named)[-1]}. {STUCK}", BROKEN
    first_name, reasons = dead[0], list[str]()
    for find, says in EXCEPTIONS.items():
        alive = find(subject)
        reasons += [says] * bool(alive.intersection(dead))
        dead = [name for name in dead if name not in alive]
    if not dead and reasons == [EXCEPTIONS[more_alive]]:
        return f"{first_name}. {reasons[0]}", HOLDS
    if not dead or set_aside(subject, dead):
        return f"{first_name}. {[IDLE, *reasons][-1]}", UNUSUAL
    says = (
        "Look for a layer that is not called, whose result is dropped, or "
        "that is detached."
    )
    return f"{dead[0]}. {says}", BROKEN


def at_zero(subject: Subject, dead: list[str]) -> set[str]:
    """Name the parameters that get a gradient once those without one have
    other numbers, and so have those that get one."""
    alive = alive_in_time(subject)
    moved = with_random_weights(subject, 0, *alive) if alive else subject
    return live_names(with_random_weights(moved, 0, *dead))


def set_aside(subject: Subject, dead: list[str]) -> bool:
    """Whether parameters outside of all blocks change no output, as of a
    pooler; but for forgotten norms and embeddings."""
    inside = tuple(f"{path}." for path, _ in blocks(subject.model))
    if not inside or any(
        name.startswith(inside) or is_left_out(subject.model, name, dead)
        for name in dead
    ):
        return False
    other = with_random_weights(subject, 0, *dead)
    return other.run().equal(subject.run())


def is_left_out(model: nn.Module, name: str, dead: list[str]) -> bool:
    """Whether a norm or a table gets no gradient, and parts beside it do."""
    path, last = name.rpartition(".")[::2]
    part, own = model.get_submodule(path), f"{path.rpartition('.')[2]}.{last}"
    table = isinstance(part, nn.Embedding) or POSITION_TABLE.search(own)
    if not is_norm(part) and not table:
        return False
    weights = around = set(part.parameters())
    while path and around == weights:  # it may be all that a module has
        path = path.rpartition(".")[0]
        around = set(model.get_submodule(path).parameters())
    lost = {model.get_parameter(name) for name in dead}
    return bool(around - lost)
