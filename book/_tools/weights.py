"""Write the trained translator for a page: its vocabularies, and its numbers
in half precision. `make weights`."""

import base64
import json
from pathlib import Path

import torch

from tformer_lite import Checkpoint, trained_translator

FILE = Path(__file__).parents[1] / "_static" / "translator.json"


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
            "numbers": base64.b64encode(raw).decode(),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


if __name__ == "__main__":
    FILE.write_text(written(trained_translator()) + "\n", "utf8")
