"""Writing: how a model's own method that writes words is called."""

import re
from collections.abc import Mapping
from inspect import Parameter, getsourcefile, signature, unwrap
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from shapewatch.properties.caching import first_words
from shapewatch.properties.subject import (
    FailedError,
    NotJudgedError,
    Subject,
)
from shapewatch.tracing.record.state import SITE_PACKAGES
from shapewatch.tracing.record.tensors import tensors

METHODS = (
    "generate",
    "generate_greedy",
    "greedy",
    "greedy_decode",
    "greedy_search",
    "decode_greedy",
    "sample",
    "translate",
    "complete",
)
COUNT = re.compile("max_?(new|len|gen|out|tok|step)|(n|num)_(new|tok|step)")
SHORT = re.compile("^(n|num|steps?|length|count|new_tokens)$")
START = re.compile("^(bos|sos|start|begin)(_?(id|idx|tok|sym|word)[a-z_]*)?$")
END = re.compile("^(eos|end|stop)(_?(id|idx|tok|sym|word)[a-z_]*)?$")
RANDOM = re.compile("^(do_)?sampl(e|ing)$")
NEW = 4  # words that are asked for


class Likeliest(TorchFunctionMode):
    """Take the likeliest word where one is drawn; keep what it is of."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[Tensor] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if args and name in ("multinomial", "argmax"):
            self.drawn.append(args[0].detach().clone())
        if args and name == "multinomial":
            return args[0].argmax(-1, keepdim=True)
        return function(*args, **(kwargs or {}))


class Text(NamedTuple):
    """What was written: the words of its row, (L), and the numbers that each
    new one was chosen by."""

    words: Tensor
    drawn: list[Tensor]


class Way(NamedTuple):
    """How a method is called: with which sequences, and what else; its
    parameters, its prompt (1, T), and the ids that end a text."""

    name: str
    given: tuple[Tensor, ...]
    more: dict[str, Any]
    asked: Mapping[str, Parameter]
    prompt: Tensor
    ends: set[int]

    def new(self, words: Tensor) -> list[int]:
        """List the new words, without the prompt, up to an end."""
        prompt = self.prompt[0].cpu()
        kept = words[: len(prompt)].equal(prompt)
        new = words[len(prompt) :] if kept else words
        ended = [n for n, x in enumerate(new.tolist(), 1) if x in self.ends]
        return new.tolist()[: ended[0] if ended else None]


def way_of(subject: Subject) -> Way:
    """Find the method that writes, and how to call it; NotJudgedError."""
    kind = type(subject.model)
    for name in METHODS:
        method = getattr(kind, name, None)
        if callable(method) and not isinstance(method, nn.Module):
            if SITE_PACKAGES in str(getsourcefile(unwrap(method))):
                raise NotJudgedError(f"Its {name} is a library's.")
            return called(subject, name, signature(method).parameters)
    raise NotJudgedError("The model has no method that writes words.")


def called(subject: Subject, name: str, every: Mapping[str, Parameter]) -> Way:
    """Say how to call a method, which begins with its sequences."""
    rows = first_words(subject)
    if any(x.is_floating_point() for x in rows):
        raise NotJudgedError("The inputs are no words.")
    last, alone = rows[-1], len(rows) == 1
    prompt = last[:, : max(last.shape[1] // 2, 1)] if alone else last[:, :1]
    sequences, given = [*rows[:-1], prompt], list[Tensor]()
    more = dict[str, Any]()
    for key, one in [*every.items()][1:]:
        value = known(key, prompt)
        needed = one.default is Parameter.empty and one.kind < 2
        if value is not None and (needed or not END.search(key)):
            more[key] = value
        elif needed and sequences and not more:
            given.append(sequences.pop(0))
        elif needed:
            raise NotJudgedError(f"{name} asks for {key}.")
    if not given or not any(COUNT.search(x) or SHORT.search(x) for x in more):
        raise NotJudgedError(f"Nobody knows how to call {name}.")
    ends = ends_of(subject.model, every)
    return Way(name, tuple(given), more, every, prompt, ends)


def known(key: str, prompt: Tensor) -> Any:
    """Say what a parameter should be, by its name; None for nothing."""
    if COUNT.search(key) or SHORT.search(key):
        total = "len" in key and "new" not in key
        return NEW + prompt.shape[1] * total
    if START.search(key):
        return int(prompt[0, 0])
    values = {"greedy": True, "temperature": 1.0, "temp": 1.0}
    if "beam" in key:
        return 1
    if END.search(key):
        return -1
    return False if RANDOM.search(key) else values.get(key)


def ends_of(model: Any, every: Mapping[str, Parameter]) -> set[int]:
    """Find the ids that end a text: defaults, and what the model has."""
    config = getattr(model, "config", None)
    names = {key: one.default for key, one in every.items()}
    for held in (getattr(config, "__dict__", {}), vars(model)):
        names |= held
    found = (x for name, x in names.items() if END.search(name))
    return {x for x in found if isinstance(x, int)}


def drawn(subject: Subject, way: Way, **other: Any) -> Tensor | None:
    """Give what the first new word is drawn from, at random: (V); None where
    it is not drawn, or not from probabilities."""
    random = {x: True for x in way.more if RANDOM.search(x)}
    random |= {"greedy": False} if "greedy" in way.more else {}
    found = written(subject, way, **random, **other).drawn[:1]
    known = [x.flatten() for x in found if (x >= 0).all()]
    return known[0] if known else None


def written(subject: Subject, way: Way, **other: Any) -> Text:
    """Let a method write, after another text; NotJudgedError if it fails."""
    mode, before = Likeliest(), [x.flip(1) for x in way.given]

    def ask(*given: Any) -> Any:
        method: Any = getattr(subject.model, way.name)
        with mode:
            method(*before, **{**way.more, **other})
            mode.drawn.clear()
            return method(*given, **{**way.more, **other})

    try:
        result = subject.call(ask, tuple(x.clone() for x in way.given))
    except FailedError as error:
        says = f"{way.name} fails, as it is called here: {error}"
        raise NotJudgedError(says) from error
    numbers = isinstance(result, list) and all(
        isinstance(x, int) for x in result
    )
    found = [torch.tensor(result)] if numbers else tensors(result)
    if not found or found[0].is_floating_point() or found[0].ndim > 2:
        raise NotJudgedError(f"{way.name} gives no ids.")
    row = found[0].reshape(-1, *found[0].shape[-1:])[0].cpu()
    if not len(row):
        raise NotJudgedError(f"{way.name} gives no ids.")
    return Text(row, mode.drawn)
