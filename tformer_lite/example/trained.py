"""What was trained beforehand: the translator, and the results of runs that
take longer than a page."""

import json
from pathlib import Path

from tformer_lite.training.checkpoints import Checkpoint, load_checkpoint

STORED = Path(__file__).parent / "stored"


def trained_translator() -> Checkpoint:
    """Load the running model as it is once it has learned the corpus.

    `tokenizers` are those of the corpus, and the losses those of its
    training. `make results` trains it anew.
    """
    return load_checkpoint(STORED / "translator.pt")


def stored(name: str) -> dict:
    """Look up the results of a longer run, as `make results` wrote them.

    The runs are translator, wider, starts, schedules, overfitting,
    positions and characters; another name raises ValueError. Losses are in
    nats, shares between 0 and 1, BLEU and chrF between 0 and 100.
    """
    results = json.loads((STORED / "results.json").read_text("utf8"))
    if name not in results:
        raise ValueError(f"{name=} is none of {', '.join(results)}")
    return results[name]
