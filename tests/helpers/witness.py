"""A witness of all that a trace or a check may not change."""

import pickle
import random
import sys
import warnings

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.parameter import is_lazy
from torch.overrides import _get_current_function_mode_stack as modes


def surroundings():
    """What all threads share, and what runs are made in."""
    return (
        vars(nn.Module)["_call_impl"],
        vars(functional)["has_torch_function"],
        vars(torch._dynamo.eval_frame)["_callback_from_stance"],
        torch._dynamo.eval_frame._stance,
        sys.stdout,
        sys.stderr,
        list(warnings.filters),
        torch.backends.mha.get_fastpath_enabled(),
        torch.is_grad_enabled(),
        modes(),
    )


def numbers():
    """The random numbers that are ahead, as bytes."""
    states = random.getstate(), np.random.get_state()
    return pickle.dumps((states, torch.get_rng_state().tolist()))


def bits(x):
    """A tensor's numbers, bit for bit, and how it lies in memory."""
    if not isinstance(x, Tensor) or is_lazy(x):
        return x if x is None else "lazy"
    with torch.no_grad():
        if x.layout is not torch.strided:
            return pickle.dumps(x.to_dense().tolist())
        flat = x.detach().contiguous().flatten().view(torch.uint8)
    return flat.numpy().tobytes(), x.shape, x.stride(), x.data_ptr()


def held(part):
    """All that a module has: its attributes by identity, and what lists and
    dictionaries among them hold."""
    inside = {
        name: list(value.items()) if isinstance(value, dict) else list(value)
        for name, value in vars(part).items()
        if isinstance(value, dict | list | set)
    }
    known = {
        name: [(id(x), x if isinstance(x, str | int) else "") for x in values]
        for name, values in inside.items()
        if not any(isinstance(x, tuple) for x in values)
    }
    pairs = {
        name: [(key, id(x)) for key, x in values]
        for name, values in inside.items()
        if any(isinstance(x, tuple) for x in values)
    }
    owned = [(name, id(value)) for name, value in vars(part).items()]
    return type(part), owned, known, pairs, part.training


def witnessed(model):
    """What may not change of a model, and around it."""
    parts = list(model.modules()) if isinstance(model, nn.Module) else []
    owned = [x for part in parts for x in part._parameters.values()]
    owned += [x for part in parts for x in part._buffers.values()]
    tensors = [
        (id(x), type(x), bits(x), x.requires_grad, id(x.grad), bits(x.grad))
        for x in owned
        if x is not None
    ]
    return {
        "tensors": tensors,
        "modules": [held(part) for part in parts],
        "numbers": numbers(),
        "around": surroundings(),
    }


def differences(before, after):
    """Name what is another than before."""
    return [name for name in before if before[name] != after[name]]
