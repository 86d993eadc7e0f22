"""Text to ids and back: words and characters."""

import re
from unicodedata import normalize

import torch
from torch import Tensor

UNK, PAD, SOS, EOS = range(4)
SPECIALS = ("[UNK]", "[PAD]", "[SOS]", "[EOS]")


class WordTokenizer:
    """Turn words into ids and back; a word without an id becomes [UNK].

    `vocabulary` maps words to ids from 4 up; 0 to 3 are the specials.
    `ids` has both, and its largest id + 1 is the length. Raises ValueError
    for two words with one id, and for a word with a special's.
    """

    def __init__(self, vocabulary: dict[str, int]):
        check_vocabulary(vocabulary)
        specials = {word: i for i, word in enumerate(SPECIALS)}
        self.ids = specials | vocabulary
        self.words = {i: word for word, i in self.ids.items()}

    def __len__(self) -> int:
        return max(self.words) + 1

    def split(self, text: str) -> list[str]:
        """Cut a text at spaces and around . , ! ? and the danda."""
        text = normalize("NFC", text)  # one spelling for what looks alike
        return re.findall(r"[^\s.,!?।]+|[.,!?।]", text)

    def row(self, text: str, length: int) -> list[str]:
        """Lay a sentence out: [SOS] words [EOS], then [PAD] to `length`."""
        return pad_words(["[SOS]", *self.split(text), "[EOS]"], length)

    def encode(self, rows: list[list[str]]) -> Tensor:
        """Look up the ids of rows of words, equally long: -> (B, T)."""
        ids = [[self.ids.get(word, UNK) for word in row] for row in rows]
        return torch.tensor(ids, dtype=torch.long)

    def decode(self, ids: Tensor | list[int]) -> str:
        """Write a row of ids (T) as a text, up to its [EOS].

        [SOS] and [PAD] are left out. The marks . , ! ? join the word before
        them; the danda keeps its space, as in print.
        """
        row = id_list(ids)
        row = row[: row.index(EOS)] if EOS in row else row
        words = [
            self.words.get(i, "[UNK]") for i in row if i not in (PAD, SOS)
        ]
        return re.sub(r" ([.,!?])", r"\1", " ".join(words))


class CharTokenizer:
    """Turn characters into ids and back: those of `text`, sorted."""

    def __init__(self, text: str):
        self.characters = sorted(set(text))
        self.ids = {c: i for i, c in enumerate(self.characters)}

    def __len__(self) -> int:
        return len(self.ids)

    def known(self, text: str) -> str:
        """Leave out the characters that have no id."""
        return "".join(c for c in text if c in self.ids)

    def encode(self, text: str) -> Tensor:
        """Look up each character's id: -> (T). ValueError names those that
        have none."""
        unknown = sorted(set(text) - self.ids.keys())
        if unknown:
            raise ValueError(
                f"no id for {', '.join(map(repr, unknown))}: the vocabulary "
                f"has {len(self)} characters. known(text) leaves others out."
            )
        return torch.tensor([self.ids[c] for c in text], dtype=torch.long)

    def decode(self, ids: Tensor | list[int]) -> str:
        """Write a row of ids (T) as a text; ValueError for any other id."""
        row = id_list(ids)
        for i in row:
            if not 0 <= i < len(self):
                raise ValueError(
                    f"id {i} is outside the vocabulary: ids run from 0 to "
                    f"{len(self) - 1}."
                )
        return "".join(self.characters[i] for i in row)


def pad_words(words: list[str], length: int) -> list[str]:
    """Append [PAD] up to `length` words; ValueError when there are more."""
    if len(words) > length:
        raise ValueError(
            f"{' '.join(words)!r} has {len(words)} tokens and does not fit "
            f"into {length=}: leave it out, or choose a larger length."
        )
    return words + ["[PAD]"] * (length - len(words))


def id_list(ids: Tensor | list[int]) -> list[int]:
    """Read a row of ids (T) as a list; ValueError for any other shape."""
    row = torch.as_tensor(ids)
    if row.ndim != 1:
        raise ValueError(
            f"ids have shape {tuple(row.shape)}, not (T): decode one row at "
            "a time."
        )
    return row.tolist()


def check_vocabulary(vocabulary: dict[str, int]) -> None:
    """Raise ValueError unless every word has an id of its own, from 4 up."""
    taken = dict(enumerate(SPECIALS))
    for word, i in vocabulary.items():
        moved = i < 0 or (i > EOS and word in SPECIALS)
        if moved or taken.setdefault(i, word) != word:
            raise ValueError(
                f"{word!r} cannot have the id {i}: 0 to 3 belong to "
                f"{', '.join(SPECIALS)}, and each word has an id of its own."
            )
