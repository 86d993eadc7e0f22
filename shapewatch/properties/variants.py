"""The same model otherwise: in training, or with other weights. Each is a
copy, and the model stays as it is."""

from collections.abc import Callable
from copy import deepcopy
from functools import wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from shapewatch.properties.finding import UNUSUAL, Verdict
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    like,
    once,
    whole,
)

Judge = Callable[[Subject], Verdict]


class InTraining(nn.Module):
    """A model that is in training whenever it runs, without dropout: of some
    layers, such as experts, what drops out depends on the words. It has the
    parameters of the other one, and buffers of its own."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = copied(model, {id(p): p for p in model.parameters()})
        for part in self.model.modules():
            if isinstance(part, nn.modules.dropout._DropoutNd):
                part.p = 0.0

    def forward(self, *inputs: Tensor) -> Tensor:
        """Run in training: what the model makes of its inputs."""
        self.model.train()
        return self.model(*inputs)


def copied(model: nn.Module, shared: dict[int, Any]) -> nn.Module:
    """Copy a module, but for what is shared by its id; NotJudgedError when
    it cannot be copied."""
    try:
        return deepcopy(model, shared)
    except Exception as error:
        raise NotJudgedError("The model cannot be copied.") from error


@once
def same_word(subject: Subject, n: int) -> Subject:
    """Ask the same of inputs that have one word at all positions, or one
    vector: one of two words that stand in the first row."""
    alike = []
    for x, real in zip(subject.inputs, subject.real):
        known = x[0][real[0]]
        if known.ndim > 2 or not len(known):
            raise NotJudgedError("The inputs are not rows of words.")
        words = known if x.is_floating_point() else known.unique()
        alike.append(words[-1 - n % len(words)].expand_as(x).clone())
    return like(subject, subject.model, whole(subject, tuple(alike)))


def in_double(subject: Subject) -> Subject:
    """Ask a copy of the model that reckons in double precision."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no precision of its own.")
    doubles = {
        id(p): nn.Parameter(p.to(torch.float64, copy=True), p.requires_grad)
        for p in subject.model.parameters()
        if type(p) is nn.Parameter and p.is_floating_point()
    }
    model = copied(subject.model, doubles).double()
    given = tree_map_only(Tensor, doubled, subject.given)
    return like(subject, model, given, free=model.parameters())


def doubled(x: Tensor) -> Tensor:
    """Give a tensor in double precision, unless its numbers are whole."""
    return x.double() if x.is_floating_point() else x


@once
def reweighted(subject: Subject, seed: int, *names: str) -> Subject:
    """Give the model random weights of a healthy size, all or some: matrices
    that keep the variance, gains and offsets that are not 0."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no weights.")
    model = copied(subject.model, {})
    draw = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if names and name not in names:
            continue
        noise = torch.randn(p.shape, generator=draw).to(p)
        size = p.shape[-1] ** -0.5 if p.ndim > 1 else 0.5
        p.data = noise * size + (p.data if p.ndim < 2 else 0)
    return like(subject, model)


def whatever_weights(judge: Judge) -> Judge:
    """Let a finding be unusual, and not a bug, that other weights would not
    have: those of this model are small, or 0 at the start."""

    @wraps(judge)
    def ask(subject: Subject) -> Verdict:
        verdict = judge(subject)
        holds, says, seen, *level = verdict
        if holds or level:
            return verdict
        try:
            held = any(judge(reweighted(subject, n))[0] for n in range(2))
        except NotJudgedError:
            held = False
        if held:
            says += (
                " (With random weights this is not so: some are too small.)"
            )
            return holds, says, seen, UNUSUAL
        return holds, says, seen

    return ask
