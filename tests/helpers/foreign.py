"""Models that nobody here wrote, each made by a function of its sizes.

foreign.toml lists them; `of_transformers` and the like say what its settings
mean to a library. The sizes are B T H D and the like, and C is H*D.
"""

import importlib
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
PAD = 1
Sizes = dict[str, int]
SIZES = {"B": 2, "S": 9, "T": 7, "H": 3, "D": 4, "X": 16, "L": 40, "M": 6}
# By kind: the sizes that a model has, and the axes of its inputs.
KINDS = {
    "decoder": ("B T H D", ["B T"]),
    "encoder": ("B T H D", ["B T"]),
    "both": ("B S T H D", ["B S", "B T"]),
    "picture": ("B H D X", ["B K X X"]),
    "sound": ("B M L T H D", ["B M L", "B T"]),
    "wave": ("B L H D", ["B L"]),
}
# Sizes to be chosen from for a run that no probe has made.
ELSEWHERE = {"B": (11, 14, 13), "T": (29, 36, 31), "S": (23, 38, 33)}
ELSEWHERE |= {"H": (11, 13, 20, 28, 36), "D": (20, 28, 36), "M": (9, 10, 11)}
ELSEWHERE |= {"X": (24, 40, 56, 72), "L": (58, 75, 92, 94)}


def torchvision_ready() -> list[torch.library.Library]:
    """Let torchvision be imported where its compiled part, which no model
    here calls, does not load; what is given has to be kept."""
    if not find_spec("torchvision"):
        return []
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor a, Tensor b, float c) -> Tensor")
        return [library]
    return []


KEPT = torchvision_ready()


@dataclass(frozen=True)
class Foreign:
    """A model of somebody else's: how to build it, trace it and ask it.

    `build(**sizes)` gives (model, inputs), the model in evaluation with the
    same weights each time; `dims` are the sizes to trace it at, and `axes`
    name those of its inputs. `kind` is a key of KINDS; `broken` and
    `unusual` are the findings that it should have.
    """

    name: str
    kind: str
    library: str
    build: Callable[..., tuple[nn.Module, tuple[Tensor, ...]]]
    dims: dict[str, int | str]
    elsewhere: dict[str, list[int]] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    unusual: tuple[str, ...] = ()

    @property
    def axes(self) -> list[str]:
        return KINDS[self.kind][1]

    @property
    def pad(self) -> int | None:
        return PAD if self.kind in ("encoder", "both") else None

    @property
    def causal(self) -> bool:
        return self.kind in ("decoder", "both")


class Named(nn.Module):
    """A model that is handed its inputs by name, and a mask of padding."""

    def __init__(self, model: nn.Module, names: str, masked: bool = True):
        super().__init__()
        self.model, self.names, self.masked = model, names.split(), masked

    def forward(self, *inputs):
        named = dict(zip(self.names, inputs))
        if self.masked:
            named["attention_mask"] = (inputs[0] != PAD).long()
        return self.model(**named)


def some_ids(rows: int, length: int, seed: int = 0, padded=False) -> Tensor:
    """Random ids that are not special: (B, T); the second row may end in
    padding."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 50, (rows, length), generator=generator)
    if padded:
        ids[1, 1 + length // 2 :] = PAD
    return ids


def noise(*shape: int) -> Tensor:
    """Random numbers, the same for the same shape."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def worked_out(value: Any, sizes: Sizes) -> Any:
    """A setting, with its expressions worked out."""
    if isinstance(value, str) and value.startswith("="):
        return eval(value[1:], {"__builtins__": {}}, dict(sizes))
    if isinstance(value, dict):
        return {key: worked_out(x, sizes) for key, x in value.items()}
    return value


def settled(settings: dict, sizes: Sizes) -> dict[str, Any]:
    """Settings, with those of their style, and without some."""
    settings = DATA["styles"].get(settings.get("style"), {}) | settings
    dropped = {"style", "without", *settings.get("without", [])}
    kept = {key: x for key, x in settings.items() if key not in dropped}
    return worked_out(kept, sizes)


def of_transformers(name: str, settings: dict, sizes: Sizes) -> nn.Module:
    import transformers

    transformers.utils.logging.set_verbosity_error()
    family = getattr(transformers, name.split(",")[0])
    config = settled(DATA["sizes"] | settings, sizes)
    return family(family.config_class(**config))


def of_timm(name: str, settings: dict, sizes: Sizes) -> nn.Module:
    import timm

    return timm.create_model(name, num_classes=5, **settled(settings, sizes))


def of_x_transformers(name: str, settings: dict, sizes: Sizes) -> nn.Module:
    from x_transformers import Decoder, TransformerWrapper

    heads = {"heads": sizes["H"], "attn_dim_head": sizes["D"]}
    heads |= {"dim": sizes["H"] * sizes["D"], "depth": 2}
    layers = Decoder(**heads, **settled(settings, sizes))
    sizes = {"num_tokens": 50, "max_seq_len": 64}
    return TransformerWrapper(**sizes, attn_layers=layers)


MAKERS = {
    "transformers": of_transformers,
    "timm": of_timm,
    "x_transformers": of_x_transformers,
}


def built(
    make: Callable, kind: str, name: str, settings: dict, **sizes: int
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """A model with the same weights each time, and inputs of its kind."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = make(name, settings, sizes).eval()
    return asked(model, kind, sizes)


def asked(model: nn.Module, kind: str, sizes: Sizes) -> tuple:
    """A model, wrapped where it needs names, and inputs of its kind."""
    B, T, X = sizes["B"], sizes.get("T", 0), sizes.get("X", 0)
    L, M = sizes.get("L", 0), sizes.get("M", 0)
    if kind == "picture":
        return model, (noise(B, 3, X, X),)
    if kind == "wave":
        return model, (noise(B, L),)
    if kind == "decoder":
        return model, (some_ids(B, T),)
    if kind == "encoder":
        mask = "FNet" not in type(model).__name__
        return Named(model, "input_ids", mask), (some_ids(B, T, 0, True),)
    if kind == "sound":
        names = "input_features decoder_input_ids"
        return Named(model, names, False), (noise(B, M, L), some_ids(B, T))
    pair = some_ids(B, sizes["S"], 1, True), some_ids(B, T)
    return Named(model, "input_ids decoder_input_ids"), pair


def foreign(
    library: str, kind: str, name: str, settings: dict[str, Any]
) -> Foreign:
    """A model of the list, with its own sizes."""
    settings = dict(settings)
    sizes = {x: SIZES[x] for x in KINDS[kind][0].split()}
    sizes |= {x: settings.pop(x) for x in [*settings] if len(x) == 1}
    rest = {
        "elsewhere": settings.pop("elsewhere", {}),
        "broken": tuple(settings.pop("broken", ())),
        "unusual": tuple(settings.pop("unusual", ())),
    }
    build = partial(built, MAKERS[library], kind, name, settings)
    dims = {**sizes, "C": "H*D"} if "H" in sizes else sizes
    label = name if library == "transformers" else f"{library}: {name}"
    return Foreign(label, kind, library, build, dims, **rest)


KIND_OF = {"timm": "picture", "x_transformers": "decoder"}


def listed() -> Iterator[Foreign]:
    """All models of the list, by library."""
    for section, models in DATA.items():
        if section in KINDS:
            library, kind = "transformers", section
        elif section in KIND_OF:
            library, kind = section, KIND_OF[section]
        else:
            continue
        for name, settings in models.items():
            yield foreign(library, kind, name, settings)


ZOO = {model.name: model for model in listed()}
