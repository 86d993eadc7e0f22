"""The command `translate`: a model translates."""

import sys
from argparse import Namespace
from collections.abc import Iterator

from torch import Tensor

from tformer_lite.commands.session import parts_in, say, warn
from tformer_lite.decoding.search import beam
from tformer_lite.example import shipped
from tformer_lite.text.tokenizers import EOS, SOS, WordTokenizer
from tformer_lite.training.checkpoints import load_checkpoint


def translate(args: Namespace) -> None:
    """Translate sentences, with the trained English-Nepali translator or one
    of `train translate`."""
    own = args.ckpt is not None
    kept = load_checkpoint(args.ckpt) if own else shipped.trained_translator()
    model, tokenizers, size = parts_in(kept, args.ckpt, "translate")
    length = args.max_len or size
    if length > size:
        raise ValueError(
            f"--max_len {length}: the translator was trained to write {size} "
            "tokens at most, [SOS] included."
        )
    for sentence in args.sentences or typed_lines():
        src = source_ids(sentence, tokenizers[0], size)
        (row,) = beam(model, src, SOS, EOS, length, args.beam)
        say(tokenizers[1].decode(row))


def typed_lines() -> Iterator[str]:
    """Read sentences from stdin, unless somebody sits there."""
    if sys.stdin.isatty():
        raise ValueError(
            "there is nothing to translate: give a sentence, in quotes."
        )
    return map(str.strip, sys.stdin)


def source_ids(sentence: str, source: WordTokenizer, length: int) -> Tensor:
    """Look up a sentence: -> (1, S). Words without an id are named; more
    than the model was trained with raise ValueError."""
    words = source.split(sentence)
    unknown = [word for word in dict.fromkeys(words) if word not in source.ids]
    if unknown:
        names = ", ".join(quoted_word(word, source.ids) for word in unknown)
        warn(f"Not in the vocabulary, and read as [UNK]: {names}")
    if len(words) > length - 2:
        raise ValueError(
            f"{' '.join(words)!r} has {len(words)} words and marks, and the "
            f"translator reads {length - 2} at most: shorten it."
        )
    return source.encode([source.row(sentence, len(words) + 2)])


def quoted_word(word: str, ids: dict[str, int]) -> str:
    """Quote a word that has no id, and its small letters where those have."""
    small = word.lower()
    return f"{word!r} ({small!r} is in it)" if small in ids else repr(word)
