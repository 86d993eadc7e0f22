"""Models as tensors and words, and back: weights, tables, what is tied."""

import re
from collections.abc import Collection, Iterable
from copy import deepcopy
from dataclasses import asdict
from functools import partial
from typing import Any, get_type_hints

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly, EncoderDecoder

MODELS = {kind.__name__: kind for kind in (DecoderOnly, EncoderDecoder)}
Model = DecoderOnly | EncoderDecoder
Groups = list[list[str]]  # names of one weight


def pack_model(model: Model) -> dict[str, Any]:
    """List what a model is made of: its weights, its tables, which of the
    names are one weight, and its config.

    Raises ValueError for a model, or a part, of the reader's own.
    """
    kind, fields = known_class(model, MODELS), plain_fields(model.config)
    check_parts(model)
    weights = model.state_dict()
    tables = dict(model.named_buffers())
    named: dict[int, list[str]] = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        named.setdefault(id(weight), []).append(name)
    return {
        "model_state_dict": weights,
        "buffers": {n: x for n, x in tables.items() if n not in weights},
        "tied": [names for names in named.values() if len(names) > 1],
        "model": kind,
        "model_config": fields,
    }


def unpack_model(packed: dict[str, Any]) -> Model:
    """Build a model again, each number in its own type.

    What contradicts itself raises one of many errors. A size that is typed
    into a file takes no memory: the tensors are those of the file.
    """
    if packed.get("format", 3) < 3:
        packed = with_new_names(packed)
    weights = packed["model_state_dict"]
    model = outline_of(packed["model"], packed["model_config"], weights)
    tables = packed.get("buffers")
    if tables is None:  # a file of format 1
        tables = built_tables(model, next(iter(weights.values())).dtype)
    for name, table in tables.items():
        put_tensor(model, name, table.clone())
    check_real(model.buffers())
    model.load_state_dict(deepcopy(weights), assign=True)
    for first, *others in packed.get("tied", one_place(weights)):
        for name in others:
            put_tensor(model, name, model.get_parameter(first))
    check_real(model.parameters())
    return model.eval()


# What formats 1 and 2 called by a word, and what says it now.
OLD_CHOICES: dict[tuple[str, Any], dict[str, Any]] = {
    ("attention", "rotary"): {"attention": "split", "positions": "rotary"},
    ("attention", "grouped"): {"attention": "split", "n_kv_heads": 1},
    ("attention", "rotary_grouped"): {
        "attention": "split",
        "positions": "rotary",
        "n_kv_heads": 1,
    },
    ("mask", "causal"): {"mask": None},
    ("mask", "sliding"): {"mask": None, "window": 4},
    ("norm", "written"): {"norm": "layer"},
    ("activation", "gelu_written"): {"activation": "gelu"},
    ("activation", "gelu_tanh_written"): {"activation": "gelu_tanh"},
}


def with_new_names(packed: dict[str, Any]) -> dict[str, Any]:
    """Give what a file of format 1 or 2 has in today's names.

    Raises ValueError for what no config says any more: rotary positions
    beside added ones, and cross-attention that shares other heads.
    """
    old = packed["model_config"]
    turns = "rotary" in str(old.get("attention"))
    shares = "grouped" in str(old.get("cross_attention"))
    if (turns and old.get("positions") != "none") or shares:
        raise ValueError("a model that no config describes any more")
    fields = dict(old)
    for choice in old.items():
        fields |= OLD_CHOICES.get(choice, {})
    new = partial(re.sub, r"\bresiduals\.(\d+)\.norm\b", r"norms.\1")
    weights = packed["model_state_dict"]
    found: dict[str, Any] = {"model_config": fields}
    found["model_state_dict"] = {new(n): x for n, x in weights.items()}
    if tied := packed.get("tied"):
        found["tied"] = [[*map(new, names)] for names in tied]
    return packed | found


def outline_of(kind: str, fields: dict, weights: Collection) -> Model:
    """Outline a model that a file describes; TypeError or ValueError for
    fields that are no config's."""
    hints = get_type_hints(Config)
    for name, value in fields.items():
        plain = isinstance(value, str | int | float | None)
        whole = isinstance(value, int) and hints[name] is float
        if not (plain and (whole or isinstance(value, hints[name]))):
            raise TypeError(f"{name}={value!r}")
    config = Config(**fields)
    if config.n_layers > len(weights):
        raise ValueError(f"{config.n_layers=}, and {len(weights)} weights")
    return outline(kind, config)


class Undrawn(TorchFunctionMode):
    """Where it is on, no first weights are drawn."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: Any = None
    ) -> Any:
        """Give back what would be drawn into, and call all else."""
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in ("normal_", "uniform_"):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def outline(kind: str, config: Config) -> Model:
    """Build a model whose tensors have shapes, and take no memory.

    Nothing is drawn, and no wave is computed.
    """
    with torch.device("meta"), Undrawn():
        return MODELS[kind](config)


def built_tables(model: Model, dtype: torch.dtype) -> dict[str, Tensor]:
    """Compute a model's tables, as when it was new."""
    with torch.random.fork_rng(devices=[]):  # its weights are drawn, too
        new = type(model)(model.config).to(dtype)
    return dict(new.named_buffers())


def one_place(weights: dict[str, Tensor]) -> Groups:
    """Group the names of weights that lie in one place of the memory."""
    named: dict[tuple, list[str]] = {}
    for name, x in weights.items():
        if x.numel():
            key = x.data_ptr(), x.shape, x.stride(), x.dtype
            named.setdefault(key, []).append(name)
    return list(named.values())


def put_tensor(model: nn.Module, name: str, tensor: Tensor) -> None:
    """Let a model have this tensor, of the shape that it had, by a name."""
    path, _, own = name.rpartition(".")
    part = model.get_submodule(path)
    if getattr(part, own).shape != tensor.shape:
        raise ValueError(f"{name} has another shape")
    setattr(part, own, tensor)


def check_real(tensors: Iterable[Tensor]) -> None:
    """Raise ValueError for a tensor that takes no memory yet."""
    if any(x.is_meta for x in tensors):
        raise ValueError("a tensor is not there")


def check_parts(model: Model) -> None:
    """Raise ValueError for a part that the config does not describe."""
    planned = outline(type(model).__name__, model.config)
    parts = dict(planned.named_modules())
    for name, part in model.named_modules(remove_duplicate=False):
        if type(part) is not type(parts.get(name)):
            raise ValueError(
                f"{name or 'the model'} is a {type(part).__name__} of your "
                "own, and a file keeps no code: save model.state_dict(), and "
                "build the model yourself."
            )
    shapes = {name: x.shape for name, x in planned.state_dict().items()}
    for name, x in model.state_dict().items():
        if x.shape != shapes.get(name):
            raise ValueError(
                f"{name} has shape {tuple(x.shape)}, which is not what the "
                "model's config says: save model.state_dict(), and build the "
                "model yourself."
            )


def known_class(thing: object, known: Collection[str]) -> str:
    """Name the class of a thing; ValueError for a class of one's own."""
    name = type(thing).__name__
    if name not in known:
        raise ValueError(
            f"{name} is no class that a checkpoint keeps, and a file keeps no "
            f"code: use {', '.join(known)}, or save model.state_dict()."
        )
    return name


def plain_fields(config: Config) -> dict[str, Any]:
    """List a config's fields; ValueError for a part of one's own."""
    fields = asdict(config)
    for name, value in fields.items():
        if callable(value):
            raise ValueError(
                f"{name}={value!r} is a part of your own, and a file keeps no "
                "code: save model.state_dict(), and build the model yourself."
            )
    return fields
