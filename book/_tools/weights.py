"""Write the trained translator for a page: its vocabularies, its numbers in
half precision, and what is tried on it. `make weights`."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import automaton
import glosses
import torch

import tformer_lite
from tformer_lite import (
    Bug,
    Checkpoint,
    EncoderDecoder,
    bugs,
    english_nepali,
    trained_translator,
)
from tformer_lite.gallery.catching import shelf_of

FILE = Path(__file__).parents[1] / "_static" / "translator.json"
MODULE = Path(tformer_lite.__file__).parent / "explorer" / "bugs.mjs"
PLANTED = re.findall(r"^  (\w+): ", MODULE.read_text("utf8"), re.MULTILINE)


def about(one: Bug) -> dict[str, str]:
    """Give what a page says of a bug."""
    said = {"shelf": shelf_of(one.name), "name": one.name, "says": one.says}
    return said | {"right": one.right, "wrong": " ".join(one.wrong.split())}


def packed(model: EncoderDecoder) -> dict[str, Any]:
    """Write a model: shapes by name, and numbers, one after the other."""
    state = model.state_dict()
    numbers = torch.cat([weight.flatten() for weight in state.values()])
    return {
        "heads": model.config.n_heads,
        "shapes": {name: [*weight.shape] for name, weight in state.items()},
        "numbers": base64.b64encode(numbers.half().numpy().tobytes()).decode(),
    }


def written(kept: Checkpoint) -> str:
    """Write the model, the words of both languages, and what is tried."""
    said = packed(kept.model) | {
        "words": [tokenizer.ids for tokenizer in kept.tokenizers],
        "tests": [english for english, _ in english_nepali("test")],
        "grammar": automaton.states(automaton.sentences()),
        "glosses": glosses.glosses(),
        "bugs": [about(one) for one in bugs() if one.name in PLANTED],
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    FILE.write_text(written(trained_translator()) + "\n", "utf8")
