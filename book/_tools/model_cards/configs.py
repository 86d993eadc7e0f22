"""Models of transformers from their configurations: which sizes these have,
and how a model is built at others, without weights."""

import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from shapewatch.tracing.axes.sizes import Dims

INSTALL = (
    "a configuration is read with transformers, which is not installed: "
    "pip install transformers"
)
# What the sizes of a configuration are called here, and there: of several
# keys the first, and those that have the same size. What has no letter is
# called by what it is.
KEYS = {
    "H": "num_attention_heads encoder_attention_heads decoder_attention_heads",
    "kv_heads": "num_key_value_heads",
    "D": "head_dim",
    "C": "hidden_size word_embed_proj_dim",
    "F": "intermediate_size d_ff n_inner encoder_ffn_dim decoder_ffn_dim",
    "expert_F": "moe_intermediate_size",
    "V": "vocab_size",
    "experts": "num_experts num_local_experts n_routed_experts",
    "top_k": "num_experts_per_tok",
    "q_rank": "q_lora_rank",
    "kv_rank": "kv_lora_rank",
    "plain_D": "qk_nope_head_dim",
    "rope_D": "qk_rope_head_dim",
    "value_D": "v_head_dim",
    "S": "max_source_positions",  # of what is heard, which is always so long
    "image": "image_size",
}
# What a model is for, where its configuration does not say: the first task
# that it has a class for.
TASKS = "CausalLM", "Seq2SeqLM", "MaskedLM", "ImageClassification", ""
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
        raise ImportError(INSTALL) from error
    transformers.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return transformers


@dataclass(frozen=True)
class Plan:
    """How a model of transformers is built: its class, and what its
    configuration is given."""

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
        found = model_dims(self.config, self.keys)
        if "side" in found:
            return {"B": 2} | found
        alone = "S" if self.kind.__name__.endswith("MaskedLM") else "T"
        words = "ST" if self.config.is_encoder_decoder else alone
        return {"B": 2} | dict.fromkeys(words, 8) | found

    def build(self, **sizes: int) -> Model:
        """Build the model without weights, and what it reads."""
        if "side" in sizes:
            sizes["image"] = sizes["side"] * self.config.patch_size
        own = {x: sizes[n] for n, keys in self.keys.items() for x in keys}
        if self.data.get("pad_token_id"):
            own["pad_token_id"] = 0
        config = self.kind.config_class(**self.data | own)
        config.use_cache = True
        config._attn_implementation = "eager"  # others hide the scores
        config._experts_implementation = "batched_mm"  # for all sizes
        with torch.device("meta"):
            model = self.kind._from_config(config, dtype=torch.bfloat16)
            return model.eval(), inputs_of(model, **sizes)


def size_keys(config: Any) -> Keys:
    """Find which keys of a configuration each size has."""
    there, found = config.to_dict(), dict[str, list[str]]()
    alias = config.attribute_map
    for name, words in KEYS.items():
        keys = dict.fromkeys(alias.get(word, word) for word in words.split())
        counts = [key for key in keys if type(there.get(key)) is int]
        if counts:
            size = there[counts[0]]
            found[name] = [key for key in counts if there[key] == size]
    sizes = {name: there[keys[0]] for name, keys in found.items()}
    for name, same in ("kv_heads", "H"), ("D", "rope_D"):
        if name in found and sizes[name] == sizes.get(same):
            found[same] += found.pop(name)
    return found


def model_dims(config: Any, keys: Keys) -> Dims:
    """Give the sizes in a configuration; some follow from others."""
    there = config.to_dict()
    found: Dims = {name: there[some[0]] for name, some in keys.items()}
    H, C = (int(found.get(name, 0)) for name in "HC")
    if not {"D", "rope_D"} & {*found} and H and C % H == 0:
        found |= {"D": C // H, "C": "H*D"}
    if "kv_heads" in found:  # how many queries share a key
        shared = H // int(found["kv_heads"])
        found |= {"group": shared, "H": "kv_heads*group"}
    if "top_k" in found and "n_group" not in there:
        idle = int(found["experts"]) - int(found["top_k"])
        found |= {"idle": idle, "experts": "top_k+idle"}
    if {"plain_D", "rope_D"} <= {*found}:  # a head's part without places
        found |= {"qk_D": "plain_D+rope_D", "kv_D": "plain_D+value_D"}
    if "image" in found:  # a square of patches, and one more for all
        side = int(found.pop("image")) // config.patch_size
        return {"side": side, "S": "side*side+1"} | found
    return found


def inputs_of(
    model: Any, B: int, T: int = 0, S: int = 0, image: int = 0, **sizes: int
) -> tuple[Tensor | None, ...]:
    """Make what a model reads: ids, of a source and a target where it has
    both; a picture; or what is heard."""
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


def read_plan(text: str) -> Plan:
    """Find what to build: `config.json`, a folder that has one, or a class of
    transformers. ValueError says what is wrong with it."""
    place = Path(text)
    if place.is_dir():
        place /= "config.json"
    if place.exists() or not text.isidentifier():
        return plan_of(json_data(place), text)
    library = load_transformers()
    kind = getattr(library, text, None)
    if not getattr(kind, "config_class", None) or text.endswith("Config"):
        meant = likely(text, dir(library))
        raise ValueError(f"transformers has no model {text}{meant}.")
    return Plan(kind, {})


def json_data(file: Path) -> Config:
    """Read a configuration; ValueError if it is none."""
    if not file.is_file():  # a pipe may never end
        raise ValueError(f"there is no file {file}")
    try:
        data = json.loads(file.read_bytes())
    except ValueError as error:
        raise ValueError(f"{file} is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{file} is no configuration: it has no keys.")
    return data


def plan_of(data: Config, text: str) -> Plan:
    """Find the classes of a configuration: of what sees and reads, the part
    that reads. ValueError if there are none."""
    part = data.get("text_config")
    if isinstance(part, dict) and "model_type" in part:
        data = part
    library, family = load_transformers(), data.get("model_type")
    own = {key: x for key, x in data.items() if key not in LEFT_OUT}
    for name in data.get("architectures") or ():
        if kind := getattr(library, name, None):
            return Plan(kind, own)
    known = library.CONFIG_MAPPING
    if family in known:
        return Plan(class_for(known[family]), own)
    says = f'has "model_type": "{family}"' if family else 'has no "model_type"'
    raise ValueError(
        f"{text} {says}, which transformers {library.__version__} knows a "
        f"model by{likely(str(family), known)}."
    )


def likely(word: str, names: Iterable[str]) -> str:
    """Ask whether a name is meant that begins so, or is spelt nearly so."""
    by_letters = {name.casefold(): name for name in names}
    word = word.casefold()
    alike = [x for x in by_letters if word and x.startswith(word)][:3]
    alike += get_close_matches(word, by_letters, 1, cutoff=0.65)
    meant = " or ".join(by_letters[x] for x in dict.fromkeys(alike))
    return f" (is {meant} meant?)" if meant else ""


def class_for(config_kind: type) -> Any:
    """Find a class that is built from such a configuration, by its task."""
    library = load_transformers()
    for task in TASKS:
        models = getattr(library, f"AutoModel{'For' * bool(task)}{task}")
        with suppress(KeyError):
            return models._model_mapping[config_kind]
    raise ValueError(
        f"transformers has no model for a {config_kind.__name__}."
    )
