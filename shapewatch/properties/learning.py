"""Learning: parameters that get a gradient, and no others."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.gradients import (
    output_gradients,
    parameter_gradients,
)
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
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.versions import with_random_weights
from shapewatch.tracing.record.shared import following
from shapewatch.tracing.record.tensors import tensors

SEEDS = 3  # how many random weights are tried


def others_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient with some random weights."""
    others = (with_random_weights(subject, seed) for seed in range(SEEDS))
    pairs = ((x.model, parameter_gradients(x)) for x in others)
    return {name for pair in pairs for name in names_alive(*pair)}


def names_alive(model: nn.Module, sizes: dict[Tensor, float]) -> set[str]:
    """Name the parameters whose gradient is not 0."""
    return {name for name, p in model.named_parameters() if sizes.get(p)}


def more_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient from one more input."""
    alive: set[str] = set()
    part, tried = innermost_model(subject.model), [*optional_values(subject)]
    for name in optional(part):
        for value in tried:
            with following(More(part, name, value)):
                alive |= live_names(subject)
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


class More:
    """Give a module one more input by name, unless it has it."""

    def __init__(self, part: nn.Module, name: str, value: Tensor):
        self.part, self.more = part, {name: value}

    def run(
        self, call: Callable, part: nn.Module, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a module."""
        more = self.more if part is self.part else {}
        return call(part, *args, **{**more, **kwargs})


def live_names(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient; none, where it fails."""
    ask = partial(output_gradients, subject.answer)
    try:
        return names_alive(subject.model, subject.call(ask, subject.given))
    except FailedError:
        return set()


def partly_alive(subject: Subject) -> set[str]:
    """Name the parameters of a model without a row for each position that get
    a gradient in some block: it may read some positions only."""
    with suppress(NotJudgedError):
        judged_by_position(subject)
        baseline_output(subject)
        return set()
    alive = {name_in_any_block(name) for name in live_names(subject)}
    every = (name for name, _ in subject.model.named_parameters())
    return {name for name in every if name_in_any_block(name) in alive}


def name_in_any_block(name: str) -> str:
    """Give a parameter's name in any block."""
    return re.sub(r"\d+", "#", name, count=1)


EXCEPTIONS = {
    others_alive: "With random weights they do: some are 0 or small.",
    more_alive: "They do where another input is given, which is optional.",
    partly_alive: "Only some positions are read, and these do without them.",
}


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
            first = weight.detach().flatten()[0]
            if first != 0 and bool((weight == first).all()):
                says = f"All numbers of {name} are the same: its outputs "
                return f"{says}learn as one. Draw the numbers at random."
    return ""


def unlearnt_word(subject: Subject) -> str:
    """Say which word has a row of an embedding that never learns; or ""."""
    lookups: list[tuple[str, Any, Tensor]] = []

    def note(path: str, part: nn.Module, given: tuple, *_: Any) -> None:
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            lookups.extend((path, part, x) for x in tensors(given))

    with watch_modules(subject.model, note):
        subject.run()
    for words, (path, table, ids) in product(subject.inputs, lookups):
        row = table.padding_idx
        alike = ids.shape == words.shape and (ids == words).float().mean()
        if alike >= 0.5 and row != subject.ids[0] and (words == row).any():
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
      anew, and gives one optional input more.
    - Looks at: gradients of a random sum of all outputs.
    - Says: which parameters get none, and how many tensors have one and are
      not registered as parameters. Unusual: an optional input would give them
      one; one module has two names; all numbers of a matrix are the same; or
      some parameters are frozen.
    """
    model = subject.model
    if not isinstance(model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    named = [(p, name) for name, p in model.named_parameters() if p.numel()]
    learns = {p: name for p, name in named if p.requires_grad}
    reached = parameter_gradients(subject)
    sizes = torch.tensor([[reached.get(p, 0.0)] for p in learns])
    lost = [tuple(p.shape) for p in reached if p not in learns]
    dead = [name for p, name in learns.items() if not reached.get(p)]
    if lost:
        says = (
            f"{len(lost)} tensors could learn and are no parameters, one of "
            f"shape {lost[0]}. No optimizer sees them: keep parts in an "
            "nn.ModuleList, not in a plain list."
        )
        return False, says, sizes
    if dead:
        says = f"{len(dead)} of {len(learns)} parameters get no gradient"
        name, why, level = why_dead(subject, dead)
        return False, f"{says}, such as {name}. {why}", sizes, level
    alike = shared_module(model) or even_matrix(model)
    if says := unlearnt_word(subject) or alike:
        return False, says, sizes, UNUSUAL
    return whether_frozen(model, learns, sizes)


def whether_frozen(model: nn.Module, learns: dict, sizes: Tensor) -> Verdict:
    """Say that all learn; or that some cannot, between others that do."""
    named = [x for x in model.named_parameters() if x[1].is_floating_point()]
    frozen = [n for n, p in named if not p.requires_grad]
    odd = [name for name in frozen if not POSITION_NAMES.search(name)]
    if not odd or len(frozen) * 2 >= len(named):
        says = f"All {len(learns)} parameter tensors get a gradient."
        return True, says, sizes
    says = (
        f"{len(odd)} of {len(named)} parameters cannot learn, such as "
        f"{odd[0]}: requires_grad is False. Is that intended?"
    )
    return False, says, sizes, UNUSUAL


def why_dead(subject: Subject, dead: list[str]) -> tuple[str, str, str]:
    """Name a parameter without a gradient, why, and of which level it is."""
    first_name = dead[0]
    why = "They change no output: are they for something else?"
    for find, says in EXCEPTIONS.items():
        alive = find(subject)
        why = says if alive.intersection(dead) else why
        dead = [name for name in dead if name not in alive]
    if not dead or set_aside(subject, dead):
        return first_name, why, UNUSUAL
    says = (
        "Look for a layer that is not called, whose result is dropped, or "
        "that is detached."
    )
    return dead[0], says, BROKEN


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
    path = name.rpartition(".")[0]
    part = model.get_submodule(path)
    table = isinstance(part, nn.Embedding) or POSITION_TABLE.search(name)
    if not is_norm(part) and not table:
        return False
    weights = around = set(part.parameters())
    while path and around == weights:  # it may be all that a module has
        path = path.rpartition(".")[0]
        around = set(model.get_submodule(path).parameters())
    lost = {model.get_parameter(name) for name in dead}
    return bool(around - lost)
