"""The texts that come with the book: sentence pairs, and its own prose."""

from pathlib import Path

from tformer_lite.text.tokenizers import WordTokenizer

TEXTS = Path(__file__).parent / "texts"
PARTS = "train", "valid", "test"


def english_nepali(part: str = "train") -> list[tuple[str, str]]:
    """Read the pairs of a part of the corpus: train, valid or test.

    What `valid` and `test` bring together, such as a noun and an adjective,
    `train` never does, though it has every word. Another name raises
    ValueError.
    """
    if part not in PARTS:
        raise ValueError(f"{part=} is none of {', '.join(PARTS)}")
    return rows(f"{part}.tsv")


def book_text() -> str:
    """Read the prose of chapters 0 to 12, as it once was: 96,077 characters
    for the character model. CC BY 4.0, as the book is.
    """
    return (TEXTS / "book.txt").read_text("utf8")


def english_tokenizer() -> WordTokenizer:
    """Make the tokenizer that knows the corpus's English words."""
    return WordTokenizer(vocabulary("english"))


def nepali_tokenizer() -> WordTokenizer:
    """Make the tokenizer that knows the corpus's Nepali words."""
    return WordTokenizer(vocabulary("nepali"))


def vocabulary(language: str) -> dict[str, int]:
    """Read the words of a language, with their ids."""
    return {word: int(number) for number, word in rows(f"{language}.tsv")}


def rows(name: str) -> list[tuple[str, str]]:
    """Read the lines of a shipped file, cut at their tab."""
    lines = (TEXTS / name).read_text("utf8").splitlines()
    return [tuple(line.split("\t")) for line in lines]
