"""Models in files: weights, config, vocabularies, losses."""

import os
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from warnings import catch_warnings

import torch
from torch import Tensor

from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.text.pieces import PieceTokenizer
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer

FORMAT = 1
MODELS = {kind.__name__: kind for kind in (DecoderOnly, EncoderDecoder)}
Model = DecoderOnly | EncoderDecoder
Tokenizer = CharTokenizer | WordTokenizer
# Source 002's names for the fields of a config.
NAMES = {
    "d_model": "d_model",
    "num_heads": "n_heads",
    "num_layers": "n_layers",
    "d_ff": "d_ff",
    "max_seq_len": "max_len",
    "dropout": "dropout",
}
DAMAGES = (
    AttributeError,
    LookupError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
)
DAMAGED = (
    "is damaged, or no checkpoint: it cannot be read. Train again, or take a "
    "copy of it."
)


@dataclass
class Checkpoint:
    """What a file keeps of a model.

    `tokenizers` are the source's, if there is one, and the target's;
    `block_size` counts the positions that training used. `training` is
    what a `Trainer` needs to go on. Losses are in nats.
    """

    model: Model
    tokenizers: tuple[Tokenizer, ...] = ()
    block_size: int | None = None
    train_losses: list[float] = field(default_factory=list)
    val_losses: list[float] = field(default_factory=list)
    training: dict[str, Any] = field(default_factory=dict)


def save_checkpoint(checkpoint: Checkpoint, path: str | Path) -> None:
    """Write a checkpoint: whole, or not at all.

    A file of that name is replaced once the new one is complete. It is
    source 002's dictionary, with more keys. Raises ValueError for a model
    or a tokenizer of the reader's own, which are code, and no file keeps
    code.
    """
    packed, path = pack(checkpoint), Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb") as file:
            torch.save(packed, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint, onto the CPU; nothing in it is ever run.

    Raises FileNotFoundError when there is none, ValueError for a file that
    is damaged, of another program, or of another version.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}: train first.")
    packed = read(path)
    if not isinstance(packed, dict) or packed.get("format") is None:
        raise ValueError(
            f"{path} is no checkpoint of tformer_lite, though PyTorch can "
            "read it: give one that save_checkpoint wrote."
        )
    if packed["format"] != FORMAT:
        raise ValueError(
            f"{path} has format {packed['format']}, and this version of "
            f"tformer_lite reads format {FORMAT}: train again."
        )
    try:
        return unpack(packed)
    except DAMAGES as error:
        raise ValueError(f"{path} {DAMAGED}") from error


def read(path: str | Path) -> object:
    """Read tensors, numbers and words; ValueError for any other file."""
    with open(path, "rb") as file, catch_warnings(action="ignore"):
        try:
            return torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # there is no end to what files hold
            raise ValueError(f"{path} {DAMAGED}") from error


def pack(checkpoint: Checkpoint) -> dict[str, Any]:
    """Make a dictionary of tensors, numbers and words.

    Its first seven keys, and those in `config`, are source 002's.
    """
    kind = check_known(checkpoint.model, MODELS)
    model, config = checkpoint.model, checkpoint.model.config
    words = [
        (check_known(one, TOKENIZERS), one.ids)
        for one in checkpoint.tokenizers
    ]
    ids = words[-1][1] if words else {}
    return {
        "model_state_dict": model.state_dict(),
        "vocab_size": config.vocab_size,
        "stoi": ids,
        "itos": {i: text for text, i in ids.items()},
        "config": {name: getattr(config, ours) for name, ours in NAMES.items()}
        | {"block_size": checkpoint.block_size or config.max_len},
        "train_losses": checkpoint.train_losses,
        "val_losses": checkpoint.val_losses,
        "format": FORMAT,
        "model": kind,
        "model_config": plain_fields(config),
        "tokenizers": words,
        "training": checkpoint.training,
    }


def unpack(packed: dict[str, Any]) -> Checkpoint:
    """Build the model and the tokenizers again, with what was learned."""
    config = Config(**packed["model_config"])
    with torch.random.fork_rng(devices=[]):  # first weights, soon replaced
        model = MODELS[packed["model"]](config)
    weights = packed["model_state_dict"]
    # Each weight keeps its own type; tables, not in the file, the first's.
    model.to(next(iter(weights.values())).dtype)
    model.load_state_dict(deepcopy(weights), assign=True)
    tie(model, weights)
    return Checkpoint(
        model.eval(),
        tuple(TOKENIZERS[kind](ids) for kind, ids in packed["tokenizers"]),
        packed["config"]["block_size"],
        packed["train_losses"],
        packed["val_losses"],
        packed["training"],
    )


def tie(model: Model, weights: dict[str, Tensor]) -> None:
    """Let names that had one weight between them have one again."""
    known: dict[tuple, Tensor] = {}
    for name, weight in weights.items():
        path, _, own = name.rpartition(".")
        part, key = (
            model.get_submodule(path),
            (weight.data_ptr(), weight.shape),
        )
        setattr(part, own, known.setdefault(key, getattr(part, own)))


def check_known(thing: object, known: Collection[str]) -> str:
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


def piece_tokenizer(ids: dict[str, int]) -> PieceTokenizer:
    """Build a PieceTokenizer from the ids of its pieces, by a file of them."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "pieces.txt")
        file.write_text("\n".join(sorted(ids, key=ids.__getitem__)), "utf8")
        return PieceTokenizer(file)


TOKENIZERS: dict[str, Callable[[dict[str, int]], Tokenizer]] = {
    "CharTokenizer": lambda ids: CharTokenizer("".join(ids)),
    "WordTokenizer": WordTokenizer,
    "PieceTokenizer": piece_tokenizer,
}
