"""Examples to train on: pairs of sentences, and windows of a text."""

from bisect import bisect
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple
from unicodedata import category, normalize

import torch
from torch import Tensor
from torch.utils.data import Dataset

from tformer_lite.text.tokenizers import PAD, WordTokenizer, pad_words

Tensors = tuple[Tensor, ...]
LabelledIds = tuple[Tensors, Tensor]  # a model's inputs, and labels
Sentences = list[tuple[str, str]]


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


def lay_out(
    pairs: Sequence[tuple[str, str]],
    source: WordTokenizer,
    target: WordTokenizer,
    length: int = 8,
) -> Batch:
    """Lay pairs of sentences out in rows: -> (B, S), (B, T), (B, T).

    S = T = `length`. A source row is [SOS] words [EOS], a target row [SOS]
    words, a row of labels words [EOS]; [PAD] fills each up. Raises
    ValueError for a sentence that does not fit, and when there are no pairs.
    """
    if not pairs:
        raise ValueError("there are no pairs to lay out: give at least one.")
    src = [source.row(text, length) for text, _ in pairs]
    targets = [target.split(text) for _, text in pairs]
    tgt = [pad_words(["[SOS]", *words], length) for words in targets]
    labels = [pad_words([*words, "[EOS]"], length) for words in targets]
    ids = source.encode(src), target.encode(tgt), target.encode(labels)
    return Batch(*ids, src, tgt)


class Pairs(Dataset):
    """Pairs of sentences: data[rows] is ((src, tgt), labels).

    `src` is (N, S), `tgt` and `labels` are (N, T), S = T = `length`, laid
    out as `lay_out` says, once. A list of rows fetches a whole batch, one
    number one pair without a batch axis. Raises ValueError for a sentence
    that does not fit into `length`.
    """

    ignore = PAD  # no loss where this is the label

    def __init__(
        self,
        pairs: Sequence[tuple[str, str]],
        source: WordTokenizer,
        target: WordTokenizer,
        length: int = 8,
    ):
        ids = lay_out(pairs, source, target, length)[:3]
        self.src, self.tgt, self.labels = ids

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, rows: int | list[int]) -> LabelledIds:
        return (self.src[rows], self.tgt[rows]), self.labels[rows]


class Windows(Dataset):
    """Every stretch of a text: data[rows] is ((x,), y), both (B, `size`).

    `ids` are the text's (N), and there are N - `size` windows, one from
    each id on; y is x one id later. A list of rows fetches a whole batch,
    one number one window without a batch axis. The windows share the
    memory of `ids`. Raises ValueError for a text too short for one.
    """

    ignore = -100  # no id: each label counts

    def __init__(self, ids: Tensor, size: int):
        if ids.ndim != 1:
            raise ValueError(
                f"ids have shape {tuple(ids.shape)}, not (N): give one row, "
                "the whole text."
            )
        if size < 1 or len(ids) <= size:
            raise ValueError(
                f"a text of {len(ids)} ids has no window of {size=}: it needs "
                f"at least {size + 1} ids, and size must be at least 1."
            )
        self.ids, self.size = ids, size
        self.windows = ids.unfold(0, size + 1, 1)

    def __len__(self) -> int:
        return len(self.windows)

    def __getitem__(self, rows: int | list[int]) -> LabelledIds:
        windows = self.windows[rows]
        return (windows[..., :-1],), windows[..., 1:]


class Chunks(Windows):
    """A text in windows that do not overlap, so that each label counts once.

    data[rows] is as in `Windows`, whose errors it has too. The last of the
    ceil((N - 1) / `size`) windows begins early enough to be as long as the
    others; what it shares with the one before it has the label `ignore`.
    """

    def __len__(self) -> int:
        return -(-(len(self.windows) - 1) // self.size) + 1

    def __getitem__(self, rows: int | list[int]) -> LabelledIds:
        first = torch.as_tensor(rows) * self.size
        start = first.clamp(max=len(self.windows) - 1)
        windows = self.windows[start]
        seen = start[..., None] + torch.arange(self.size) < first[..., None]
        labels = windows[..., 1:].long().masked_fill(seen, self.ignore)
        return (windows[..., :-1],), labels


def split_text(
    ids: Tensor, size: int, share: float = 0.8
) -> tuple[Windows, Windows]:
    """Cut a text (N) into windows to train on, and windows to validate on.

    The first `share` of the ids is for training, and no window reaches over
    the cut. Raises ValueError when a part is too short for one window.
    """
    if not 0 < share < 1:
        raise ValueError(f"{share=} is not between 0 and 1, as it must be.")
    cut = int(len(ids) * share)
    if min(cut, len(ids) - cut) <= size:
        raise ValueError(
            f"{share=} cuts {len(ids)} ids into {cut} and {len(ids) - cut}: "
            f"each part must have at least {size + 1} for one window of "
            f"{size=}. Give a longer text, or choose a smaller size."
        )
    return Windows(ids[:cut], size), Windows(ids[cut:], size)


def split_pairs(
    pairs: Sequence[tuple[str, str]], seed: int = 0
) -> tuple[Sentences, Sentences, Sentences]:
    """Split pairs into those to train on, to validate on, and to test on.

    A hash of its source sentence and of `seed` says where a pair goes: to
    the test or the validation about one in ten each. So a line that comes,
    goes or moves leaves the others where they are, and all translations of
    a sentence stay together, even where it differs in capitals, spaces, or
    marks at its ends. Where a part would be empty, it gets the sentence
    that is next to it. Raises ValueError for less than 3 sentences.
    """
    places = {source: place(source, seed) for source, _ in pairs}
    order = sorted(set(places.values()))
    if len(order) < 3:
        raise ValueError(
            f"{len(order)} different source sentences cannot be split into "
            "training, validation and test: give at least 3, better 10."
        )
    first = min(max(bisect(order, 0.1), 1), len(order) - 2)
    second = min(max(bisect(order, 0.2), first + 1), len(order) - 1)
    ends = order[first], order[second]
    parts: tuple[Sentences, ...] = [], [], []
    for pair in pairs:
        parts[bisect(ends, places[pair[0]])].append(pair)
    test, valid, train = parts
    return train, valid, test


def place(sentence: str, seed: int) -> float:
    """Give a sentence a number, from 0 up to 1: always the same one."""
    words = normalize("NFKC", sentence).casefold()
    letters = "".join(words.split())
    marks = "".join(x for x in set(letters) if category(x)[0] == "P")
    key = f"{seed} {letters.strip(marks)}".encode()
    return int.from_bytes(sha256(key).digest()[:6]) / 2**48
