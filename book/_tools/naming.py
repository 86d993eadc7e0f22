"""What a library's names stand for: each traced at sizes that are all
different, so that every axis has its letter by proof."""

import inspect
import re
from collections.abc import Callable
from functools import cache, cached_property, partial
from types import CodeType
from typing import NamedTuple
from unittest.mock import patch

import torch
from libraries import BUILDS, unpacked
from torch import Tensor, nn
from torch.nn import functional

from shapewatch.tracing import Trace
from shapewatch.tracing.axes.names import Axis, ShapeNamer
from shapewatch.tracing.calls import names_of, receiver, shapes_at
from shapewatch.tracing.probing import dims_for
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.source.expressions import expression
from tformer_lite import trace

# N is the number of places, G the number of heads that keys and values have
# where they have fewer, and R how many heads share one of them.
LETTERS = {"B": 2, "S": 7, "T": 5, "H": 3, "D": 4, "C": "H*D"}
LETTERS |= {"F": 20, "V": 37, "N": 16}
SHARED = LETTERS | {"G": 2, "R": 3, "H": "G*R"}
WHOLE = functional.multi_head_attention_forward
ADDRESS = re.compile(r"([\w.]*)(?:\((\w+)\)|:(.+?))?(?:@(\d+))?")


class Found(NamedTuple):
    """A tensor: its axes, its value, the function or class that has it, and
    which of the tensors that its variable held it is, from 1, of how many."""

    axes: tuple[Axis, ...]
    value: Tensor
    where: str = ""
    nth: int = 1
    times: int = 1


class Library:
    """A library's traced run, and what its names stand for there.

    A name is a module's path, for what the module gives; "path(argument)";
    a parameter's path; or "path:variable" or "path:expression", the first
    tensor that it was unless @2 or another number follows.
    """

    def __init__(self, name: str):
        self.build = BUILDS[name]
        dims = SHARED if name == "Llama" else LETTERS
        torch.manual_seed(0)
        with patch(f"{WHOLE.__module__}.{WHOLE.__name__}", unpacked(WHOLE)):
            self.seen = traced(self.build, dims)

    def __getitem__(self, name: str) -> Found:
        """Find what a name stands for; KeyError if there is no such name."""
        path, argument, variable, nth = ADDRESS.fullmatch(name).groups()
        if variable:
            return self.step(f"{path}:{variable}", int(nth or 1))
        if argument:
            return self.argument(path, argument)
        if path in self.parameters:
            return self.parameters[path]
        return self.made(path)

    def step(self, name: str, nth: int) -> Found:
        """Find what a line made. A variable of that name may be in several
        functions: the one where it comes first is meant."""
        found = []
        for i, step in enumerate(self.seen.steps):
            own, received = names_of(step)
            if name in (own, written(step)):
                found.append((plain(step.code), i))
            elif name == received:
                _, ((code, _), *_) = receiver(step)
                found.append((plain(code), i))
        found = [one for one in found if one[0] == found[0][0]]
        if len(found) < nth:
            raise KeyError(f"{name}@{nth}")
        where, at = found[nth - 1]
        value = self.seen.runs[0].values.kept[at][0]
        axes = self.seen.axes[at][1][0]
        return Found(axes, value, where, nth, len(found))

    def visit(self, path: str) -> Visit:
        """Find the run of a module."""
        visits = {v.path: v for v in self.seen.runs[0].visits}
        return visits[path]

    def argument(self, path: str, name: str) -> Found:
        """Find what a module was given."""
        visit, given = self.visit(path), self.given[path][0]
        names = list(inspect.signature(self.module(path).forward).parameters)
        reads = {
            names[key] if isinstance(key, int) else key: marks
            for key, marks in visit.reads.items()
        }
        (axes,) = shapes_at(self.seen, reads[name], visit.start)
        return Found(axes, given[name], visit.kind)

    def made(self, path: str) -> Found:
        """Find what a module gave, the first of several tensors."""
        visit = self.visit(path)
        axes, *_ = shapes_at(self.seen, visit.makes, visit.end)
        return Found(axes, self.given[path][1])

    def module(self, path: str) -> nn.Module:
        return self.seen.model.get_submodule(path)

    @cached_property
    def given(self) -> dict[str, tuple[dict, Tensor]]:
        """What each module is given, by name, and what it gives: the same
        run again, for the tracer keeps what lines make."""
        found, hooks = {}, []

        def note(path: str, module: nn.Module, args, kwargs, made) -> None:
            bind = inspect.signature(module.forward).bind
            found[path] = bind(*args, **kwargs).arguments, first(made)

        for path, module in self.seen.model.named_modules():
            hook = partial(note, path)
            hooks.append(module.register_forward_hook(hook, with_kwargs=True))
        with torch.no_grad():
            self.seen.model(*self.seen.inputs)
        for hook in hooks:
            hook.remove()
        return found

    @cached_property
    def parameters(self) -> dict[str, Found]:
        """The parameters by path, and buffers: their shapes at the sizes of
        all runs, for which the model is built anew."""
        sizes = [run.sizes for run in self.seen.runs]
        others = [self.build(**dims_for(self.build, s))[0] for s in sizes[1:]]
        states = [m.state_dict() for m in (self.seen.model, *others)]
        dims = ShapeNamer(sizes, self.seen.given)
        return {
            path: Found(dims.shape(*(s[path].shape for s in states)), value)
            for path, value in states[0].items()
        }


def traced(build: Callable, dims: dict) -> Trace:
    """Trace a library; nothing may have been refused."""
    taken = dims_for(build, dims)
    dims = {n: d for n, d in dims.items() if n in taken or type(d) is str}
    with torch.no_grad():
        seen = trace(build=build, dims=dims, keep=True)
    assert seen.notes == []
    return seen


def plain(code: CodeType) -> str:
    """Name a function; a module's forward by its class."""
    return code.co_qualname.removesuffix(".forward")


def written(step: Step) -> str:
    """Write a step as "path:expression"."""
    return f"{step.visit.path}:{expression(*step.place[0])}"


def first(made) -> Tensor:
    """Take the first tensor of what a module gave."""
    while not isinstance(made, Tensor):
        made = made[0]
    return made


@cache
def library(name: str) -> Library:
    """Trace a library, once."""
    return Library(name)
