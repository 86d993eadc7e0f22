"""What ships with the module: the corpus, the book's own prose, the trained
translator, and the results of runs that take longer than a page."""

import json
from functools import cache
from pathlib import Path

from torch import Tensor

from tformer_lite.text.tokenizers import WordTokenizer
from tformer_lite.training.checkpoints import Checkpoint, load_checkpoint

STORED_FILES = Path(__file__).parent / "stored"
TEXTS = Path(__file__).parent / "texts"
CORPUS_PARTS = "train", "valid", "test"


def english_nepali(part: str = "train") -> list[tuple[str, str]]:
    """Read the pairs of a part of the corpus: train, valid or test.

    What `valid` and `test` bring together, such as a noun and an adjective,
    `train` never does, though it has every word. Another name raises
    ValueError.
    """
    if part not in CORPUS_PARTS:
        raise ValueError(f"{part=} is none of {', '.join(CORPUS_PARTS)}")
    lines = columns("valid.tsv" if part == "valid" else "pairs.tsv")
    return [(x[0], x[1]) for x in lines if (len(x) == 3) == (part == "test")]


def columns(name: str) -> list[list[str]]:
    """Read the lines of a table of ours, each as its columns."""
    text = (TEXTS / name).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines()]


def translations(part: str = "train") -> dict[str, list[str]]:
    """Gather what each English sentence of a part may be in Nepali: one, two
    with the polite *you*, four where several words can come first.
    """
    found: dict[str, list[str]] = {}
    for english, nepali in english_nepali(part):
        found.setdefault(english, []).append(nepali)
    return found


def book_text() -> str:
    """Read the prose of chapters 0 to 12, as it once was: 96,077 characters
    for the character model. CC BY 4.0, as the book is.
    """
    return (TEXTS / "book.txt").read_text("utf8")


def english_tokenizer() -> WordTokenizer:
    """Make the tokenizer that knows the corpus's English words."""
    return WordTokenizer(shipped_vocabulary("english"))


def nepali_tokenizer() -> WordTokenizer:
    """Make the tokenizer that knows the corpus's Nepali words."""
    return WordTokenizer(shipped_vocabulary("nepali"))


def shipped_vocabulary(language: str) -> dict[str, int]:
    """Read the words of a language, with their ids."""
    lines = columns(f"{language}.tsv")
    return {word: int(number) for number, word in lines}


def trained_translator() -> Checkpoint:
    """Load the running model as it is once it has learned the corpus.

    `tokenizers` are those of the corpus, and the losses those of its
    training. `make results` trains it anew.
    """
    return load_checkpoint(STORED_FILES / "translator.pt")


@cache
def trained_numbers() -> dict[str, Tensor]:
    """Give what the trained translator has learned, by name, to be copied."""
    return trained_translator().model.state_dict()


def trained_lookup() -> Checkpoint:
    """Load a model that finds what followed a token the first time.

    A `DecoderOnly` of two blocks with one head each. It reads fifteen
    different ids below 16 and one of them again, (B, T) with T = 16, and its
    last logits name the id that came next. `make results` trains it anew.
    """
    kept = load_checkpoint(STORED_FILES / "lookup.pt")
    kept.model.float()  # the file has half precision
    return kept


def stored(name: str) -> dict:
    """Look up the results of a longer run, as `make results` wrote them.

    Another name raises ValueError, which lists all. Losses are in nats, and
    shares between 0 and 1.
    """
    results = json.loads((STORED_FILES / "results.json").read_text("utf8"))
    if name not in results:
        raise ValueError(f"{name=} is none of {', '.join(results)}")
    return results[name]
