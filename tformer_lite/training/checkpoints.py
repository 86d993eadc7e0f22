"""Models in files: weights, config, vocabularies, losses."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import torch

from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer

FORMAT = 4
Model = DecoderOnly | EncoderDecoder
Tokenizer = CharTokenizer | WordTokenizer
MODELS = {kind.__name__: kind for kind in (DecoderOnly, EncoderDecoder)}
TOKENIZERS: dict[str, Callable[[dict[str, int]], Tokenizer]] = {
    "CharTokenizer": lambda ids: CharTokenizer("".join(ids)),
    "WordTokenizer": WordTokenizer,
}
# Source 002's names for the fields of a config.
SOURCE_NAMES = {
    "d_model": "d_model",
    "num_heads": "n_heads",
    "num_layers": "n_layers",
    "d_ff": "d_ff",
    "max_seq_len": "max_len",
    "dropout": "dropout",
}
REFUSAL = (
    "is your own, and a file stores no code: save model.state_dict(), and "
    "build the model yourself."
)


@dataclass
class Checkpoint:
    """What a file keeps of a model.

    `tokenizers` are the source's, if there is one, and the target's;
    `block_size` counts the positions that training used. Losses are in nats.
    """

    model: Any
    tokenizers: tuple[Any, ...] = ()
    block_size: int | None = None
    train_losses: list[float] = field(default_factory=list)
    val_losses: list[float] = field(default_factory=list)


def save_checkpoint(checkpoint: Checkpoint, path: str | Path) -> None:
    """Write a checkpoint: whole, or not at all.

    A file of that name is replaced once the new one is complete. It is
    source 002's dictionary, with more keys. Raises ValueError for a model,
    a part of one or a tokenizer of the reader's own, which are code, and no
    file keeps code; OSError for a path that is no file.
    """
    packed, file = pack(checkpoint), Path(os.path.realpath(path))
    if file.exists() and not file.is_file():
        raise OSError(f"{path} is not a file: a checkpoint needs one.")
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.part")
    try:
        torch.save(packed, part)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)


def newest_path(path: str | Path) -> Path:
    """Name the file of a training's newest weights, beside its best."""
    file = Path(path)
    return file.with_name(f"{file.stem}_newest{file.suffix}")


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint, onto the CPU; nothing in it is ever run.

    Raises FileNotFoundError when there is none, ValueError for a file that
    has code in it, is damaged, or of another program or version.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}: train first.")
    try:
        packed = read(path)
        if packed.get("format") == FORMAT:
            return unpack(packed)
    except Exception as error:  # there is no end to what files hold
        raise ValueError(f"{path} {fault_of(error)}") from error
    raise ValueError(
        f"{path} is not a checkpoint of this version of tformer_lite, though "
        "PyTorch can read it: give one that save_checkpoint wrote."
    )


def read(path: str | Path) -> Any:
    """Read a file of PyTorch's, without running what is in it; BadZipFile
    for one that is not as it was written."""
    if is_zipfile(path):
        with ZipFile(path) as records:
            if name := records.testzip():
                raise BadZipFile(name)
    return torch.load(path, map_location="cpu", weights_only=True)


def fault_of(error: Exception) -> str:
    """Say why a file cannot be read, by PyTorch's error."""
    if code := re.search(r"GLOBAL (\S+)", str(error)):
        return (
            f"holds code, {code[1]}, not only tensors, numbers and words: "
            "none of it was run. Ask for its state_dict()."
        )
    return (
        "is damaged, or not a checkpoint: it cannot be read. Train again, or "
        "use a copy of it."
    )


def pack(checkpoint: Checkpoint) -> dict[str, Any]:
    """Make a dictionary of tensors, numbers and words.

    Its first seven keys, and those in `config`, are source 002's.
    """
    model, config = checkpoint.model, checkpoint.model.config
    words = [
        (known_name(tokenizer, TOKENIZERS), tokenizer.ids)
        for tokenizer in checkpoint.tokenizers
    ]
    ids = words[-1][1] if words else {}
    sizes = {
        name: getattr(config, ours) for name, ours in SOURCE_NAMES.items()
    }
    return {
        "model_state_dict": model.state_dict(),
        "vocab_size": config.vocab_size,
        "stoi": ids,
        "itos": {i: text for text, i in ids.items()},
        "config": sizes
        | {"block_size": checkpoint.block_size or config.max_len},
        "train_losses": checkpoint.train_losses,
        "val_losses": checkpoint.val_losses,
        "format": FORMAT,
        "model": known_name(model, MODELS),
        "model_config": choices_of(model),
        "tokenizers": words,
    }


def unpack(packed: dict[str, Any]) -> Checkpoint:
    """Build the model and the tokenizers again, with what was learned."""
    weights = packed["model_state_dict"]
    model = new_model(packed["model"], Config(**packed["model_config"]))
    model.to(next(iter(weights.values())).dtype).load_state_dict(weights)
    return Checkpoint(
        model.eval(),
        tuple(TOKENIZERS[kind](ids) for kind, ids in packed["tokenizers"]),
        packed["config"]["block_size"],
        packed["train_losses"],
        packed["val_losses"],
    )


def new_model(kind: str, config: Config) -> Model:
    """Build a model, and use up none of the reader's random numbers."""
    with torch.random.fork_rng(devices=[]):
        return MODELS[kind](config)


def choices_of(model: Model) -> dict[str, Any]:
    """List the fields of a model's config that are no defaults; ValueError
    for a part that they do not describe."""
    config = model.config
    values = {
        x.name: (getattr(config, x.name), x.default) for x in fields(config)
    }
    chosen = {
        n: value for n, (value, usual) in values.items() if value != usual
    }
    for name, value in chosen.items():
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"{name}={value!r} {REFUSAL}")
    if repr(model) != repr(new_model(type(model).__name__, config)):
        raise ValueError(
            f"a part of the model, which is not as its config says, {REFUSAL}"
        )
    return chosen


def known_name(thing: object, known: Mapping) -> str:
    """Name the class of a thing; ValueError for a class of one's own."""
    name = type(thing).__name__
    if name not in known:
        raise ValueError(f"{name} {REFUSAL}")
    return name
