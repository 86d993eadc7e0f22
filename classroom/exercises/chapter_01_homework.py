"""An exercise on bytes that has no solution in the book."""

from collections.abc import Iterable

import torch
from torch import Tensor

from classroom.cases import Case, Draw
from classroom.exercise import Exercise
from tformer_lite.text.tokenizers import EOS, SOS, UNK

# Nepali words, each with a sign of another kind than the next.
NEW = ["पानीले", "गाउँ", "naïve", "hills", "घरमा", "café", "नमस्ते"]
KNOWN = ["पानी", "घर", "hill", "।", "मुख"]


BYTE_FALLBACK = {
    "unknown": {
        "bytes": "",
        "points": "an unknown word gives an id for each code point, and "
        "should give one for each byte of its UTF-8: word.encode()",
        "unk": "an unknown word became [UNK], and should be spelled in bytes",
    },
    "first": {
        "4": "",
        "0": "byte b has the id b: 0 to 3 belong to the specials, so the "
        "bytes begin at 4",
        "256": "the bytes come after the words' ids: byte b is b + 4",
    },
    "gap": {
        "between": "",
        "never": "two unknown words side by side run together: the byte of a "
        "space goes between them",
        "always": "there is a space between any two words, and should be only "
        "where both are unknown",
        "after": "there is a space after every unknown word, and should be "
        "only where the next is unknown, too",
    },
    "scope": {
        "word": "",
        "text": "one unknown word, and all were spelled in bytes: words of "
        "the vocabulary keep their ids",
    },
    "ends": {
        "both": "",
        "none": "[SOS] and [EOS] are missing: 2 comes first, 3 last",
        "start": "[EOS], id 3, is missing at the end",
    },
}


class ByteFallback(Exercise):
    """Spell unknown words in bytes."""

    chapter, kind, minutes, level = 1, "line", 15, 3
    title = "Nothing is unknown"
    teaches = "words with ids, and bytes for all others"
    axes = "words: , vocabulary: -> T"
    assignable = True
    switches = BYTE_FALLBACK

    def cases(self, draw: Draw) -> Iterable[Case]:
        """Known and unknown words side by side; no words; known alone."""
        ids = {word: 260 + 3 * i for i, word in enumerate(KNOWN)}
        for _ in range(3):
            new = draw.random.sample(NEW, 5)
            old = draw.random.sample(KNOWN, 3)
            new[draw.below(2)] = "पानीले"
            words = [new[0], *old[:2], *new[1:4], old[2], new[4]]
            yield Case((words, ids))
        about = "without a word there are only [SOS] and [EOS]"
        yield Case(([], ids), about=about)
        about = "the same unknown word twice has a space between, too"
        yield Case((["घरमा", "hill", "hill", "मुख"], {"मुख": 260}), about=about)
        about = "a character may have four bytes"
        yield Case((["मुख", "𑐣𑐾", "😀"], ids), about=about)

    def answer(self, case: Case, **choice: str) -> Tensor:
        """Look each word's ids up by the switches, then join them."""
        words, vocabulary = case.args
        unknown = [word not in vocabulary for word in words]
        if choice["scope"] == "text":
            unknown = [any(unknown)] * len(words)
        found: list[int] = []
        for i, word in enumerate(words):
            before, now = i > 0 and unknown[i - 1], unknown[i]
            if spaced(i, before, now, choice["gap"]):
                found += spelled(" ", choice | {"unknown": "bytes"})
            found += spelled(word, choice) if now else [vocabulary[word]]
        if choice["gap"] == "after" and unknown and unknown[-1]:
            found += spelled(" ", choice | {"unknown": "bytes"})
        start = [] if choice["ends"] == "none" else [SOS]
        end = [EOS] if choice["ends"] == "both" else []
        return torch.tensor(start + found + end, dtype=torch.long)


def spaced(i: int, before: bool, now: bool, gap: str) -> bool:
    """Tell whether a space stands before word i."""
    return {
        "between": before and now,
        "never": False,
        "always": i > 0,
        "after": before,
    }[gap]


def spelled(word: str, choice: dict[str, str]) -> list[int]:
    """Give the ids of what an unknown word is spelled in."""
    first = {"4": 4, "0": 0, "256": 273}[choice["first"]]
    units = {
        "bytes": [*word.encode()],
        "points": [*map(ord, word)],
        "unk": [UNK - first],
    }[choice["unknown"]]
    return [first + unit for unit in units]
