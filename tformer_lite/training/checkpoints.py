"""Models in files: weights, config, vocabularies, losses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import index
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from tformer_lite.text.pieces import PieceTokenizer
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer
from tformer_lite.training.files import damage_told, read_checked, write_whole
from tformer_lite.training.origin import Origin
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.weights import (
    Model,
    known_class,
    pack_model,
    unpack_model,
)

# Files of format 1 have no `buffers` and no `tied`, those of 1 and 2 other
# names (`renamed` in weights.py).
FORMAT = 3
Tokenizer = CharTokenizer | WordTokenizer
# Source 002's names for the fields of a config.
SOURCE_NAMES = {
    "d_model": "d_model",
    "num_heads": "n_heads",
    "num_layers": "n_layers",
    "d_ff": "d_ff",
    "max_seq_len": "max_len",
    "dropout": "dropout",
}


@dataclass
class Checkpoint:
    """What a file keeps of a model.

    `tokenizers` are the source's, if there is one, and the target's;
    `block_size` counts the positions that training used. `training` is
    what a `Trainer` needs to go on. `word_triples` say which ids follow each
    other in the sources that a translator has learned from, (N, 3). Losses
    are in nats.
    """

    model: Model
    tokenizers: tuple[Tokenizer, ...] = ()
    block_size: int | None = None
    train_losses: list[float] = field(default_factory=list)
    val_losses: list[float] = field(default_factory=list)
    training: dict[str, Any] = field(default_factory=dict)
    word_triples: Tensor | None = None


def save_checkpoint(checkpoint: Checkpoint, path: str | Path) -> None:
    """Write a checkpoint: whole, or not at all.

    A file of that name is replaced once the new one is complete. It is
    source 002's dictionary, with more keys. Raises ValueError for a model,
    a part of one or a tokenizer of the reader's own, which are code, and no
    file keeps code; OSError for a path that is no file, or that is
    read-only.
    """
    write_whole(pack(checkpoint), path)


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a checkpoint, onto the CPU; nothing in it is ever run.

    Each number has the type that it had, and weights that were one are one
    again. Raises FileNotFoundError when there is none, ValueError for a
    file that is damaged, of another program, or of another version.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}: train first.")
    packed = read_checked(path)
    if not isinstance(packed, dict) or packed.get("format") is None:
        raise ValueError(
            f"{path} is no checkpoint of tformer_lite, though PyTorch can "
            "read it: give one that save_checkpoint wrote."
        )
    with damage_told(path):
        version = index(packed["format"])
    if not 1 <= version <= FORMAT:
        raise ValueError(other_format(path, version))
    with damage_told(path):
        return unpack(packed)


def other_format(path: str | Path, version: int) -> str:
    """Say what to do with a file of a version that cannot be read."""
    newer = version > FORMAT
    what = "update tformer_lite" if newer else "train again"
    return (
        f"{path} has format {version}, and this version of tformer_lite reads "
        f"formats 1 to {FORMAT}: {what}."
    )


def pack(checkpoint: Checkpoint) -> dict[str, Any]:
    """Make a dictionary of tensors, numbers and words.

    Its first seven keys, and those in `config`, are source 002's.
    """
    model = pack_model(checkpoint.model)
    config = checkpoint.model.config
    words = [
        (known_class(one, TOKENIZERS), one.ids)
        for one in checkpoint.tokenizers
    ]
    ids = words[-1][1] if words else {}
    return {
        "model_state_dict": model["model_state_dict"],
        "vocab_size": config.vocab_size,
        "stoi": ids,
        "itos": {i: text for text, i in ids.items()},
        "config": {
            name: getattr(config, ours) for name, ours in SOURCE_NAMES.items()
        }
        | {"block_size": checkpoint.block_size or config.max_len},
        "train_losses": checkpoint.train_losses,
        "val_losses": checkpoint.val_losses,
        "format": FORMAT,
        **model,
        "tokenizers": words,
        "training": checkpoint.training,
        "word_triples": checkpoint.word_triples,
    }


def unpack(packed: dict[str, Any]) -> Checkpoint:
    """Build the model and the tokenizers again, with what was learned."""
    train_losses, val_losses = (
        [float(loss) for loss in packed[name]]
        for name in ("train_losses", "val_losses")
    )
    return Checkpoint(
        unpack_model(packed),
        tuple(TOKENIZERS[kind](ids) for kind, ids in packed["tokenizers"]),
        range(1, index(packed["config"]["block_size"]) + 1)[-1],
        train_losses,
        val_losses,
        check_training(packed["training"]),
        threes(packed.get("word_triples")),  # older files have none
    )


def threes(ids: Tensor | None) -> Tensor | None:
    """Give rows of three ids back; RuntimeError for another shape."""
    return None if ids is None else ids.long().view(len(ids), 3)


def check_training(training: dict[str, Any]) -> dict[str, Any]:
    """Give a training back; what cannot be one raises one of many errors."""
    if not training:
        return {}
    # A schedule of one's own has a name that no recipe knows.
    recipe = Recipe(**training["recipe"] | {"schedule": "constant"})
    whole = recipe.steps, recipe.batch_size, recipe.every, recipe.seed
    if min(map(index, (*whole, training["step"]))) < 0:
        raise ValueError("a count is 0 or more")
    if not isinstance(training["recipe"]["schedule"], str):
        raise TypeError("a schedule is a word")
    if not isinstance(recipe.bf16, bool):
        raise TypeError("bf16 is on or off")
    others = training.get("rng_states_of_others", ())
    for numbers in (training["rng_state"], *others):
        if numbers is not None:
            torch.Generator().set_state(numbers)
    if (data := training.get("data")) is not None:
        Origin(**data)
    recent = [float(x) for x in training["recent"]]
    pairs = training.get("noted") or ()
    noted = [(index(step), float(seconds)) for step, seconds in pairs]
    seconds = float(training.get("seconds", 0))
    return training | {"recent": recent, "noted": noted, "seconds": seconds}


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
