"""Models of transformers from their configurations: which sizes these have,
and how a model is built at others, without weights."""

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model_cards import SIZES
from shapewatch.tracing.axes.sizes import Dims

# What is no size, or would ask for weights or code.
LEFT_OUT = "quantization_config", "auto_map", "architectures", "model_type"
Model = tuple[Callable, tuple[Tensor | None, ...]]
Config = dict[str, Any]
Keys = dict[str, list[str]]


def load_transformers() -> Any:
    """Import transformers; ImportError says what to install."""
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise ImportError(
            "transformers is not installed: pip install transformers"
        ) from error
    transformers.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


@dataclass(frozen=True)
class Plan:
    """A model of transformers, and what its configuration is given."""

    kind: Any
    data: Config

    @cached_property
    def config(self) -> Any:
        """The configuration, at its own sizes."""
        return self.kind.config_class(**self.data)

    @cached_property
    def keys(self) -> Keys:
        """Which keys of the configuration each size has."""
        return size_keys(self.config)

    @property
    def dims(self) -> Dims:
        """The sizes of the model, and of what it reads: T words where each
        sees those before it, and S where each sees all."""
        dims = model_dims(self.config, self.keys)
        if "side" in dims:
            return {"B": 2} | dims
        alone = "S" if self.kind.__name__.endswith("MaskedLM") else "T"
        words = "ST" if self.config.is_encoder_decoder else alone
        return {"B": 2} | dict.fromkeys(words, 8) | dims

    def build(self, **sizes: int) -> Model:
        """Build the model without weights, and what it reads."""
        if "side" in sizes:
            sizes["image"] = sizes["side"] * self.config.patch_size
        resized = {x: sizes[n] for n, keys in self.keys.items() for x in keys}
        if getattr(self.config, "pad_token_id", 0):
            resized["pad_token_id"] = 0
        alias = self.config.attribute_map
        data = {alias.get(key, key): x for key, x in self.data.items()}
        config = self.kind.config_class(**data | resized)
        config.use_cache = True
        config._attn_implementation = "eager"  # others hide the scores
        config._experts_implementation = "batched_mm"  # for all sizes
        with torch.device("meta"):
            model = self.kind._from_config(config, dtype=torch.bfloat16)
            return model.eval(), inputs_of(model, **sizes)


def size_keys(config: Any) -> Keys:
    """Find which keys of a configuration each size has."""
    values, alias = config.to_dict(), config.attribute_map
    keys: Keys = {}
    for name, size in SIZES.items():
        words = size.get("keys", "").split()
        there = dict.fromkeys(alias.get(word, word) for word in words)
        counts = [key for key in there if type(values.get(key)) is int]
        if counts:
            first = values[counts[0]]
            keys[name] = [key for key in counts if values[key] == first]
    sizes = {name: values[first] for name, (first, *_) in keys.items()}
    if "plain_D" not in keys:  # then it is a share of a head
        keys.pop("rope_D", None)
    for name, same in ("kv_heads", "H"), ("D", "rope_D"), ("F", "expert_F"):
        both = {name, same} <= keys.keys() and sizes[name] == sizes[same]
        if both and (name != "F" or keys[name] == keys[same]):
            keys[same] += keys.pop(name)
    return keys


def model_dims(config: Any, keys: Keys) -> Dims:
    """Give the sizes in a configuration; some follow from others."""
    values = config.to_dict()
    dims: Dims = {name: values[first] for name, (first, *_) in keys.items()}
    H, C = (int(dims.get(name, 0)) for name in "HC")
    if not {"D", "rope_D"} & {*dims} and H and C % H == 0:
        dims |= {"D": C // H, "C": "H*D"}
    if "kv_heads" in dims:  # how many queries share a key
        dims |= {"group": H // int(dims["kv_heads"]), "H": "kv_heads*group"}
    if {"top_k", "experts"} <= {*dims} and "n_group" not in values:
        idle = int(dims["experts"]) - int(dims["top_k"])
        dims |= {"idle": idle, "experts": "top_k+idle"}
    for name, parts in ("qk_D", "rope_D"), ("kv_D", "value_D"):
        if {"plain_D", parts} <= {*dims}:  # a head's part without places
            dims[name] = f"plain_D+{parts}"
    if "image" in dims:  # a square of patches, and one more for all
        side = int(dims.pop("image")) // config.patch_size
        return {"side": side, "S": "side*side+1"} | dims
    return dims


def inputs_of(
    model: Any, B: int, T: int = 0, S: int = 0, image: int = 0, **sizes: int
) -> tuple[Tensor | None, ...]:
    """Make what a model reads: one or two texts, a picture, or a sound."""
    config = model.config
    if image:
        picture = torch.zeros(B, config.num_channels, image, image)
        return (picture.bfloat16(),)
    ids, source = torch.zeros(B, T).long(), torch.zeros(B, S).long()
    if not config.is_encoder_decoder:
        return (ids if T else source,)
    if model.main_input_name == "input_features":
        source = torch.zeros(B, config.num_mel_bins, 2 * S).bfloat16()
    return source, None, ids


def read_plan(file: str) -> Plan:
    """Find the model of a config.json: of one that sees and reads, the part
    that reads. ValueError says what is wrong with it."""
    data = json.loads(Path(file).read_bytes())
    if not isinstance(data, dict):
        raise ValueError(f"{file} is no configuration: it has no keys.")
    data = data.get("text_config", data)
    library, family = load_transformers(), data.get("model_type")
    config = {key: x for key, x in data.items() if key not in LEFT_OUT}
    for name in data.get("architectures") or ():
        if kind := getattr(library, name, None):
            return Plan(kind, config)
    with suppress(KeyError):  # of no such family, or it writes no text
        config_class = library.CONFIG_MAPPING[family]
        kinds = library.AutoModelForCausalLM._model_mapping
        return Plan(kinds[config_class], config)
    raise ValueError(
        f"{file}: transformers {library.__version__} has no model for "
        f'"architectures": {data.get("architectures")} and "model_type": '
        f"{family}."
    )
