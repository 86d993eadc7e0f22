"""Versions of a model that are asked the same: in training, in double
precision, with other weights, of one word."""

from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map_only

from shapewatch.properties.outputs import FailedError
from shapewatch.properties.subject import (
    NotJudgedError,
    Subject,
    once,
    with_model,
    with_sequences,
)


class TrainingModel(nn.Module):
    """A model that is in training whenever it runs, without dropout: of some
    layers, such as experts, what drops out depends on the words. It has the
    parameters of the other one, and buffers of its own."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = module_copy(model, {id(p): p for p in model.parameters()})
        for part in self.model.modules():
            if isinstance(part, nn.modules.dropout._DropoutNd):
                part.p = 0.0

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run in training: what the model makes of its inputs."""
        self.model.train()
        return self.model(*inputs, **named)


def module_copy(model: nn.Module, shared: dict[int, Any]) -> nn.Module:
    """Copy a module, but for what is shared by its id, or NotJudgedError."""
    try:
        return deepcopy(model, shared)
    except Exception as error:
        raise NotJudgedError("The model cannot be copied.") from error


@once
def same_word(subject: Subject, n: int) -> Subject:
    """Ask the same with one word, or vector, of the first row everywhere."""
    alike = []
    for x, real in zip(subject.inputs, subject.real):
        vectors = x[0][real[0]]
        if vectors.ndim > 2 or not len(vectors):
            raise NotJudgedError("The inputs are not rows of words.")
        words = vectors if x.is_floating_point() else vectors.unique()
        alike.append(words[-1 - n % len(words)].expand_as(x).clone())
    return with_model(subject, subject.model, with_sequences(subject, alike))


SMALLER = torch.float32, torch.float16, torch.bfloat16, torch.complex64
DOUBLES = dict(zip(SMALLER, (*[torch.float64] * 3, torch.complex128)))
CASTS = {"float", "half", "bfloat16"}


class DoubleNumbers(TorchFunctionMode):
    """Reckon in double precision, also where another one is asked for, or is
    the usual one; in this thread alone."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if getattr(function, "__name__", "") in CASTS and args:
            return args[0].double()
        more = {k: double_type(x) for k, x in (kwargs or {}).items()}
        result = function(*map(double_type, args), **more)
        if isinstance(result, Tensor):  # faster than to look for tensors in it
            return in_double_type(result)
        return tree_map_only(Tensor, in_double_type, result)


def in_double_type(x: Tensor) -> Tensor:
    """Give decimals in double precision."""
    return x.to(DOUBLES[x.dtype]) if x.dtype in DOUBLES else x


def double_type(x: Any) -> Any:
    """Give the double type for another type of decimals."""
    return DOUBLES.get(x, x) if isinstance(x, torch.dtype) else x


def in_double(subject: Subject) -> Subject:
    """Ask a copy of the model that reckons in double precision.

    NotJudgedError where it does not run so, or gives NaN that the model does
    not: what the cast does is no fault of the model.
    """
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no precision of its own.")
    doubles = {
        id(p): nn.Parameter(p.to(torch.float64, copy=True), p.requires_grad)
        for p in subject.model.parameters()
        if type(p) is nn.Parameter and p.is_floating_point()
    }
    model = module_copy(subject.model, doubles).double()
    given = tree_map_only(Tensor, in_double_type, subject.given)
    double = with_model(subject, model, given, free=model.parameters())
    double.numbers = DoubleNumbers
    try:
        outputs = double.call(double.outputs_of, given)
    except FailedError as error:
        says = f"It does not run in double precision: {error}"
        raise NotJudgedError(says) from error
    if (kind := outputs.dtype) in DOUBLES:
        raise NotJudgedError(f"In every precision, it gives {kind}.")
    if not outputs.isfinite().all() and subject.run().isfinite().all():
        raise NotJudgedError("In double precision it gives NaN or infinity.")
    double.remembered["raw_output",] = outputs
    return double


@once
def with_random_weights(subject: Subject, seed: int, *names: str) -> Subject:
    """Give the model random weights of a healthy size, all or some: matrices
    that keep the variance, gains and offsets that are not 0."""
    if not isinstance(subject.model, nn.Module):
        raise NotJudgedError("A function has no weights.")
    model = module_copy(subject.model, {})
    draw = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if names and name not in names:
            continue
        noise = torch.randn(p.shape, generator=draw).to(p)
        size = p.shape[-1] ** -0.5 if p.ndim > 1 else 0.5
        p.data = noise * size + (p.data if p.ndim < 2 else 0)
    return with_model(subject, model)


def with_moved_weights(double: Subject, share: float, seed: int) -> Subject:
    """Move all weights of a copy, and the vectors that it reads, at random,
    by a share of their size: where none is 0, each by a share of its own."""
    draw = torch.Generator().manual_seed(seed)

    def moved(x: Tensor) -> Tensor:
        if not x.is_floating_point():
            return x
        size = x.abs().where(x != 0, x.square().mean().sqrt())
        noise = torch.randn(x.shape, generator=draw).to(x)
        return x + share * noise * size.where(size > 0, 0.1)

    model = module_copy(double.model, {})
    for p in model.parameters():
        p.data = moved(p.data)
    given = tree_map_only(Tensor, moved, double.given)
    return with_model(double, model, given, free=model.parameters())
