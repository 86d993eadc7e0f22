"""Text to ids: a word tokenizer, and the sentence pair of the book."""

import re
from typing import NamedTuple

import torch
from torch import Tensor

UNK, PAD, SOS, EOS = range(4)
SPECIALS = ("[UNK]", "[PAD]", "[SOS]", "[EOS]")

# The words whose ids the running example's source gives.
ENGLISH = {".": 4, "is": 9, "not": 19}
NEPALI = {"।": 4, "थिएन": 92, "खाली": 668}
PAIRS = (
    ("mouth is not empty.", "मुख खाली थिएन ।"),
    ("is not empty.", "खाली थिएन ।"),
)


class WordTokenizer:
    """Turn words into ids; a word without an id becomes [UNK].

    `vocabulary` maps words to ids from 4 up; 0 to 3 are the specials.
    """

    def __init__(self, vocabulary: dict[str, int]):
        specials = {word: i for i, word in enumerate(SPECIALS)}
        self.ids = specials | vocabulary

    def split(self, text: str) -> list[str]:
        """Cut a text at spaces and around . , ! ? and the danda."""
        return re.findall(r"[^\s.,!?।]+|[.,!?।]", text)

    def encode(self, rows: list[list[str]]) -> Tensor:
        """Look up the ids of rows of words, equally long: -> (B, T)."""
        return torch.tensor([[self.ids.get(w, UNK) for w in r] for r in rows])


class Batch(NamedTuple):
    """Sentence pairs as ids, and as words to label figures with.

    `src` is (B, S), `tgt` and `labels` are (B, T); each list of words is
    as long as its row of ids.
    """

    src: Tensor
    tgt: Tensor
    labels: Tensor
    src_words: list[list[str]]
    tgt_words: list[list[str]]


def running_example(length: int = 8) -> Batch:
    """Load the book's two pairs, padded: -> (B, S), (B, T), (B, T).

    S = T = `length`. A source row is [SOS] words [EOS], a target row [SOS]
    words, a row of labels words [EOS]; [PAD] fills each up.
    """
    english, nepali = WordTokenizer(ENGLISH), WordTokenizer(NEPALI)
    sources = [english.split(source) for source, _ in PAIRS]
    targets = [nepali.split(target) for _, target in PAIRS]
    src = [padded(["[SOS]", *words, "[EOS]"], length) for words in sources]
    tgt = [padded(["[SOS]", *words], length) for words in targets]
    labels = [padded([*words, "[EOS]"], length) for words in targets]
    ids = english.encode(src), nepali.encode(tgt), nepali.encode(labels)
    return Batch(*ids, src, tgt)


def padded(words: list[str], length: int) -> list[str]:
    """Append [PAD] up to `length` words; ValueError when there are more."""
    if len(words) > length:
        raise ValueError(f"{len(words)} tokens do not fit into {length=}")
    return words + ["[PAD]"] * (length - len(words))
