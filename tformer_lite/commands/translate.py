"""The command `translate`: sentences in another language."""

import argparse
import sys
from collections.abc import Iterator

from tformer_lite.commands.session import composed, opened, say, warn
from tformer_lite.decoding.search import beam, greedy
from tformer_lite.example.shipped import trained_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.tokenizers import EOS, SOS
from tformer_lite.training.checkpoints import Checkpoint


def translate(args: argparse.Namespace) -> None:
    """Load a translator, and print a translation of each sentence."""
    if args.ckpt is None:
        kept = trained_translator()
    else:
        kept = opened(args.ckpt, EncoderDecoder)
    check_room(args.max_len, kept.block_size)
    for sentence in args.sentences or lines():
        say(translated(composed(sentence), kept, args))


def lines() -> Iterator[str]:
    """Read sentences from stdin, unless somebody sits there."""
    if sys.stdin.isatty():
        raise ValueError(
            "there is nothing to translate: give a sentence, in quotes."
        )
    return (line.strip() for line in sys.stdin)


def translated(
    sentence: str, kept: Checkpoint, args: argparse.Namespace
) -> str:
    """Translate a sentence; note the words that the model does not know."""
    source, target = kept.tokenizers
    words = source.split(sentence)
    unknown = [word for word in dict.fromkeys(words) if word not in source.ids]
    if unknown:
        names = ", ".join(named(word, source.ids) for word in unknown)
        warn(f"Not in the vocabulary, and read as [UNK]: {names}")
    check_length(words, kept.block_size)
    src = source.encode([source.row(sentence, len(words) + 2)])
    ends = SOS, EOS, args.max_len or kept.block_size
    if args.beam == 1:
        (row,) = greedy(kept.model, src, *ends)
    else:
        (row,) = beam(kept.model, src, *ends, width=args.beam)
    return target.decode(row)


def named(word: str, ids: dict[str, int]) -> str:
    """Quote a word that has no id, and its small letters where those have."""
    small = word.lower()
    return f"{word!r} ({small!r} is in it)" if small in ids else repr(word)


def check_room(asked: int | None, length: int) -> None:
    """Raise ValueError for more tokens than the model was trained with."""
    if asked and asked > length:
        raise ValueError(
            f"--max_len {asked}: the translator was trained to write {length} "
            "tokens at most, [SOS] included."
        )


def check_length(words: list[str], length: int) -> None:
    """Raise ValueError for more words than the model was trained with."""
    if len(words) > length - 2:
        raise ValueError(
            f"{' '.join(words)!r} has {len(words)} words and marks, and the "
            f"translator reads {length - 2} at most: shorten it."
        )
