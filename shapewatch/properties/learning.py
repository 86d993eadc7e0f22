"""Learning: parameters that get a gradient, and no others."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from shapewatch.properties.attention import AttentionParts, all_attentions
from shapewatch.properties.finding import BROKEN, UNUSUAL, Verdict, check
from shapewatch.properties.gradients import (
    graph_nodes,
    largest_size,
    output_gradients,
    own_backward,
    parameter_gradients,
)
from shapewatch.properties.perturbation import (
    baseline_output,
    judged_by_position,
    module_calls,
    watch_modules,
)
from shapewatch.properties.positions import POSITION_NAMES
from shapewatch.properties.structure import blocks, is_norm
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
    once,
    optional_inputs,
    with_random_weights,
)
from shapewatch.tracing.record.shared import following

PICKS = "SliceBackward", "SelectBackward", "Split"  # and SplitWithSizes
SEEDS = 3  # how many random weights are tried


def others_alive(subject: Subject) -> set[str]:
    """Name the parameters that get a gradient with some random weights."""
    others = (with_random_weights(subject, seed) for seed in range(SEEDS))
    return {
        name
        for reached, other in ((parameter_gradients(x), x) for x in others)
        for name, p in other.model.named_parameters()
        if reached.get(p)
    }


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
    own = [*model.parameters(recurse=False)]
    if len(parts) == 1 and not own and not [*optional(model)]:
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
    gave = (x for *_, made in module_calls(subject) for x in made[:1])
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


def live_names(subject: Subject, change: Callable = list) -> set[str]:
    """Name the parameters that get a gradient; none, where it fails."""
    ask = partial(output_gradients, subject.model, change=change)
    try:
        found = subject.call(ask, subject.given)
    except FailedError:
        return set()
    return {n for n, p in subject.model.named_parameters() if found.get(p)}


def partly_alive(subject: Subject) -> set[str]:
    """Name the parameters that would get a gradient if all positions were
    read, of a model that reads some, as others like them do."""
    with suppress(NotJudgedError):
        judged_by_position(subject)
        baseline_output(subject)
        return set()
    # The output has no row for each position.
    opened = live_names(subject, open_picks)
    like = {name_in_any_block(name) for name in live_names(subject)}
    return {name for name in opened if name_in_any_block(name) in like}


def open_picks(outputs: list[Tensor]) -> None:
    """Let a gradient flow into all positions where some were picked."""
    for node in graph_nodes(outputs):
        if picks_positions(node):
            node.register_hook(everywhere)


def picks_positions(node: Any) -> bool:
    """Whether a step gave some of what stood along axis 1."""
    name, listed = node.name(), [*getattr(node, "_saved_indices", [])]
    if name.startswith("IndexBackward"):
        return len(listed) > 1 and listed[1] is not None
    return name.startswith(PICKS) and node._saved_dim == 1


def everywhere(given: tuple, _: tuple) -> tuple:
    """Draw a gradient for all that was there to pick from."""
    return tuple(x if x is None else torch.randn_like(x) for x in given)


def name_in_any_block(name: str) -> str:
    """Give a parameter's name in any block."""
    return re.sub(r"\d+", "#", name, count=1)


EXCEPTIONS = {
    others_alive: "With random weights they do: some are 0 or small.",
    more_alive: "They do where another input is given, which is optional.",
    partly_alive: "Only some positions are read, and these do without them.",
}


def by_head(
    subject: Subject, one: AttentionParts, x: Tensor | None = None
) -> Tensor:
    """Put heads first, of weights or others: (..., T, D) -> (H, N, T, D)."""
    x = one.weights if x is None else x
    rows = len(subject.inputs[-1])
    if x.ndim == 3 and len(x) % rows == 0:
        x = x.unflatten(0, (rows, -1))
    return x[(None,) * (4 - x.ndim)].flatten(1, -3).transpose(0, 1)


class ParameterGradient(NamedTuple):
    """What is taken of the gradient of a parameter: its largest number; of a
    matrix, which rows have any; of what stands in attentions, all of it."""

    size: float
    rows: Any
    whole: Any


@once
def run_gradients(subject: Subject) -> dict[Tensor, ParameterGradient]:
    """Draw gradients for all that outputs depend on."""
    try:
        paths = tuple(f"{one.path}." for one in all_attentions(subject))
    except NotJudgedError:
        paths = ()
    every: Any = getattr(subject.model, "named_parameters", list)()
    inner = {p for name, p in every if name.startswith(paths) or p.ndim == 3}

    def take(x: Tensor, g: Tensor) -> ParameterGradient:
        rows = g.any(1) if g.ndim == 2 else None
        return ParameterGradient(
            largest_size(x, g), rows, g if x in inner else None
        )

    made = parameter_gradients(subject, take)
    return {x: g for x, g in made.items() if x.numel()}


Slices = list[tuple[str, Tensor]]


def faulty_slices(subject: Subject) -> tuple[str, str] | None:
    """Say which head's part of a matrix gets no gradient, or the same as all
    others, with random weights, too; and of which level that is."""
    for judge, level in (
        (slices_without_gradient, BROKEN),
        (slices_with_one_gradient, UNUSUAL),
    ):
        for says in lasting_findings(subject, judge):
            if lonely(subject):
                says += " In some heads, each position attends to one alone."
                level = UNUSUAL
            return says, level
    return None


def lasting_findings(
    subject: Subject, judge: Callable[[Subject], dict]
) -> list[str]:
    """Say what is found with random weights, too."""
    found = judge(subject)
    for seed in range(2 if found else 0):
        other = judge(with_random_weights(subject, seed)).items()
        found = dict(x for x in found.items() if x in other)
    return [*found.values()]


def lonely(subject: Subject) -> bool:
    """Whether there is a head in which each position attends to one alone, as
    it may where steps are longer than the inputs: no score of it counts."""
    every = [by_head(subject, one) for one in all_attentions(subject)]
    return any(
        bool(((x > 0).sum(-1) < 2).flatten(1).all(1).any()) for x in every
    )


def slices_without_gradient(subject: Subject) -> dict[str, str]:
    """Find matrices of which only some heads' parts have a gradient."""
    found = {}
    for name, g in gradient_slices(subject):
        alive = (g != 0).flatten(1)
        some = alive.any(1)
        if some.any() and not some.all() and alive[some].all():
            dead = (~some).nonzero()[:, 0].tolist()
            found[name] = (
                f"Of {name}, {len(dead)} of {len(g)} parts of the size of a "
                f"head get no gradient, such as part {dead[0]}. Look for "
                "heads that are left out, and for one that stands for all."
            )
    return found


def slices_with_one_gradient(subject: Subject) -> dict[str, str]:
    """Find matrices whose heads' parts have one gradient."""
    return {
        name: f"Of {name}, all {len(g)} heads get the same gradient: only "
        "their sum counts. Look for an axis that is summed over."
        for name, g in gradient_slices(subject)
        if g.any() and (g - g[:1]).abs().max() <= 1e-5 * g.abs().max()
    }


@once
def gradient_slices(subject: Subject) -> Slices:
    """Cut gradients of matrices in attentions to heads: (N, ...)."""
    try:
        kinds = {
            (
                one.path,
                x.matrix.shape[-1],
                len(by_head(subject, one, x.matrix)),
            )
            for one in all_attentions(subject)
            for x in (one.q, one.k, one.v)
            if min(one.weights.shape[-2:]) > 1
        }
        pulls = attention_gradients(subject)
    except (NotJudgedError, FailedError):
        return []
    return [
        (name, part)
        for name, g in pulls.items()
        for kind in sorted(kinds)
        for part in split_by_head(name, g, *kind)
    ]


def attention_gradients(subject: Subject) -> dict[str, Tensor]:
    """Give the gradients of all matrices in attentions but tables."""
    model = subject.model
    tables = {
        id(part.weight)
        for part in model.modules()
        if isinstance(part, (nn.Embedding, nn.EmbeddingBag))
    }
    made = run_gradients(subject)
    return {
        name: made[p].whole
        for name, p in model.named_parameters()
        if p in made and made[p].whole is not None
        if id(p) not in tables and not POSITION_NAMES.search(name)
    }


def split_by_head(
    name: str, g: Tensor, path: str, size: int, several: int
) -> Iterator[Tensor]:
    """Cut the gradient of a matrix in an attention's module along axes that
    hold several heads of a size: of (N D, C), (C, N D), and (C, N, D)."""
    inside = path == "the model" or name.startswith(f"{path}.")
    if g.ndim == 2 and inside:
        for axis in range(2):
            count, rest = divmod(g.shape[axis], size)
            if not rest and count > 1 and g.shape[1 - axis] >= 2 * size:
                parts = g.unflatten(axis, (count, size))
                yield parts.movedim(axis, 0)
    if g.ndim == 3 and several > 1 and (inside or path == "the model"):
        for axis in range(2):
            if g.shape[axis : axis + 2] == (several, size):
                yield g.movedim(axis, 0)


def learnt_as_one(subject: Subject) -> tuple[str, str] | None:
    """Say what learns as one, or which part of a matrix learns nothing."""
    model = subject.model
    for path, one, other in named_twice(model):
        says = (
            f"In {path or 'the model'}, {one} and {other} are one module: "
            "they learn as one. Is that meant?"
        )
        return says, UNUSUAL
    for name, rows in equal_rows(model):
        says = f"All numbers of {name} are the same: what it makes learns as "
        if rows:
            says = f"Rows {rows[0]} and {rows[1]} of {name} are the same: "
            says += "what they make learns as "
        return f"{says}one. Draw them at random.", UNUSUAL
    dead = lasting_findings(subject, dead_parts)
    return (dead[0], UNUSUAL) if dead else None


def named_twice(model: nn.Module) -> Iterator[tuple[str, str, str]]:
    """Find modules that a module has under two names."""
    for path, part in model.named_modules():
        seen: dict[int, str] = {}
        for name, child in part._modules.items():
            if child is None or not any(True for _ in child.parameters()):
                continue
            if id(child) in seen:
                yield path, seen[id(child)], name
            seen[id(child)] = name


def equal_rows(model: nn.Module) -> Iterator[tuple[str, list[int]]]:
    """Name matrices of one number, or of two rows alike, and these rows."""
    for path, part in model.named_modules():
        weight = getattr(part, "weight", None)
        layer = isinstance(part, (nn.Linear, nn.Embedding))
        if not layer or not isinstance(weight, Tensor) or weight.ndim != 2:
            continue
        weight = weight.detach()
        first = weight.flatten()[:1]
        if min(weight.shape) > 1 and first != 0 and (weight == first).all():
            yield f"{path}.weight", []
        rows = (weight != weight[:, :1]).any(1).nonzero()[:, 0]
        if isinstance(part, nn.Linear) and len(rows):
            factors = torch.linspace(1, 2, weight.shape[1]).to(weight)
            sums = (weight[rows] * factors).sum(1)  # quicker than by rows
            kinds = sums.unique(return_inverse=True)[1]
            again = rows[kinds.bincount()[kinds] > 1].tolist()
            same = [n for n in again if weight[n].equal(weight[again[0]])]
            if len(same) > 1:
                yield f"{path}.weight", same[:2]


def dead_parts(subject: Subject) -> dict[tuple[str, int, int], str]:
    """Say which of a few parts of a matrix has no gradient, by that."""
    found, made = set(), run_gradients(subject)
    for path, layer in subject.model.named_modules():
        if not isinstance(layer, nn.Linear) or layer.weight not in made:
            continue
        rows = made[layer.weight].rows
        for count in (2, 3, 4):
            if len(rows) % count or len(rows) < 4 * count:
                continue
            parts = rows.view(count, -1)
            dead = (~parts.any(1)).nonzero()[:, 0].tolist()
            if parts.all(1).sum() + len(dead) == count:
                found |= {(f"{path}.weight", part, count) for part in dead}
    says = (
        "Part {1} of {2} of what {0} makes gets no gradient, and the others "
        "do. Is it read anywhere?"
    )
    return {one: says.format(*one) for one in sorted(found)}


def wrong_lookup(subject: Subject) -> str:
    """Say which word is looked up in a row of an embedding that never learns,
    or in that of another word, though most are not; or ""."""
    (pad, unknown), found = subject.ids, list[tuple[str, Any, Tensor]]()

    def note(path: str, part: nn.Module, given: tuple, *_: Any) -> None:
        ids = given[0] if given else None
        if isinstance(part, nn.Embedding) and isinstance(ids, Tensor):
            found.append((path, part, ids))

    with watch_modules(subject.model, note):
        subject.run()
    sides = zip(subject.inputs, subject.real)
    for (x, real), (path, table, ids) in product(sides, found):
        if ids.shape != x.shape or (ids == x).float().mean() < 0.5:
            continue  # these are no words
        rows: dict[int, int] = {}
        for word, row in zip(x[real].tolist(), ids[real].tolist()):
            if word == row == table.padding_idx != pad:
                says = f"Word {row} is one whose row of {path} never learns: "
                says += f"padding_idx={row}. If it is padding, give "
                return f"{says}pad={row}; if not, leave padding_idx out."
            other = rows.setdefault(row, word)
            if other != word and len(table.weight) > word and row != unknown:
                says = f"Words {other} and {word} are both looked up in one "
                return f"{says}row of {path}: look at what is done to ids."
    return ""


POSITION_TABLE = re.compile(r"(^|[._])pos(itions?)?([._]|$)")


@check
def live_parameters(subject: Subject) -> Verdict:
    """See whether every parameter has a gradient, all that has one is among
    the parameters, and each word that is given has a row that learns."""
    model = subject.model
    if not isinstance(model, nn.Module):
        raise NotJudgedError("A function has no parameters.")
    some = [(p, n) for n, p in model.named_parameters() if p.numel()]
    learns = {p: n for p, n in some if p.requires_grad}
    reached = {x: g.size for x, g in run_gradients(subject).items()}
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
        if says := wrong_lookup(subject):
            return False, says, sizes, UNUSUAL
        if found := faulty_slices(subject) or learnt_as_one(subject):
            return False, found[0], sizes, found[1]
        return whether_frozen(model, learns, sizes)
    says = f"{len(dead)} of {len(learns)} parameters get no gradient"
    one, why, level = why_dead(subject, dead)
    return False, f"{says}, such as {one}. {why}", sizes, level


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
        f"{odd[0]}: requires_grad is False. Is it meant?"
    )
    return False, says, sizes, UNUSUAL


def why_dead(subject: Subject, dead: list[str]) -> tuple[str, str, str]:
    """Name a parameter without a gradient, why, and of which level it is."""
    one = dead[0]
    why = "They change no output: are they for something else?"
    for find, says in EXCEPTIONS.items():
        alive = find(subject)
        why = says if alive.intersection(dead) else why
        dead = [name for name in dead if name not in alive]
    if not dead or set_aside(subject, dead):
        return one, why, UNUSUAL
    if own := subject.call(own_backward, (subject.model, subject.given, {})):
        return one, own, UNUSUAL
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
    own = around = set(part.parameters())
    while path and around == own:  # it may be all that a module has
        path = path.rpartition(".")[0]
        around = set(model.get_submodule(path).parameters())
    lost = {model.get_parameter(name) for name in dead}
    return bool(around - lost)
