"""Write the trained translator for a page: its vocabularies, its numbers in
half precision, and what is tried on it. `make weights`."""

import base64
import json
import re
from pathlib import Path

import torch

import tformer_lite
from tformer_lite import (
    Bug,
    Checkpoint,
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


def written(kept: Checkpoint) -> str:
    """Write names, shapes and numbers, and the words of both languages."""
    state = kept.model.state_dict()
    numbers = torch.cat([weight.flatten() for weight in state.values()])
    raw = numbers.half().numpy().tobytes()
    return json.dumps(
        {
            "heads": kept.model.config.n_heads,
            "shapes": {name: [*w.shape] for name, w in state.items()},
            "words": [tokenizer.ids for tokenizer in kept.tokenizers],
            "tests": [english for english, _ in english_nepali("test")],
            "bugs": [about(one) for one in bugs() if one.name in PLANTED],
            "numbers": base64.b64encode(raw).decode(),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


if __name__ == "__main__":
    FILE.write_text(written(trained_translator()) + "\n", "utf8")
