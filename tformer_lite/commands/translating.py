"""The commands `train translate` and `translate`: a model that translates."""

import random
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torch import Tensor

from tformer_lite.commands import learning
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.metrics import bleu, chrf, exact_match
from tformer_lite.decoding.search import beam, greedy
from tformer_lite.example import shipped
from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import Pairs, fitting
from tformer_lite.text.reading import read_pairs, vocabulary
from tformer_lite.text.tokenizers import EOS, SOS, WordTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import load_checkpoint

Both = tuple[WordTokenizer, WordTokenizer]
Sentences = list[tuple[str, str]]
SAMPLES = 3  # translations to show
SIZES = "Loaded pairs: {:,} for training, {:,} for validation, {:,} for test"
CLIP = 0.5  # the high learning rate asks for short steps


class Corpus(NamedTuple):
    """Pairs to train on, to validate on, to test on; how to read them, and
    what reads them."""

    train: Sentences
    valid: Sentences
    test: Sentences
    tokenizers: Both
    config: Config


def train_translate(args: Namespace) -> None:
    """Train a translator: on the English-Nepali corpus that comes with it, at
    the size of the book's running example, or on pairs of your own."""
    with joined_processes(args.device) as device:
        old = learning.unfinished_training(args, "translate")
        seed = old.recipe.seed if old else args.seed
        length = (old and old.block_size) or args.max_len
        corpus = own_corpus(args, length, seed) if args.path else book_corpus()
        config, tokenizers = corpus.config, corpus.tokenizers
        trainer = old or learning.new_trainer(
            args, EncoderDecoder, config, tokenizers, length, clip=CLIP
        )
        parts = parts_in(trainer, args.save_path, "translate")
        _, (source, target), length = parts
        data = Pairs(corpus.train, source, target, length)
        valid = Pairs(corpus.valid, source, target, length)
        about = SIZES.format(*map(len, corpus[:3]))
        learning.announce(trainer, device, about)
        learning.fit(trainer, args, data, valid)
        if processes()[1] == 0:
            examine(corpus.test, *parts)


def book_corpus() -> Corpus:
    """Take the pairs that come with the book, and its running model."""
    train, valid, test = map(shipped.english_nepali, shipped.PARTS)
    tokenizers = shipped.english_tokenizer(), shipped.nepali_tokenizer()
    return Corpus(train, valid, test, tokenizers, tiny_translator)


def own_corpus(args: Namespace, length: int, seed: int) -> Corpus:
    """Read pairs of the reader's own, and keep those that fit.

    A tenth is for validation and a tenth for the test, by the seed; the
    vocabularies are made of the rest. Raises ValueError for too few.
    """
    pairs, cut = [*dict.fromkeys(read_pairs(args.path))], WordTokenizer({})
    fit_in = fitting(pairs, cut, cut, length)
    if out := len(pairs) - len(fit_in):
        warn(
            f"{out:,} of {len(pairs):,} pairs do not fit into {length} "
            "tokens (--max_len) and are left out."
        )
    if len(fit_in) < 10:
        raise ValueError(
            f"{args.path} has {len(fit_in)} pairs that fit, and at least 10 "
            "are needed to train, validate and test."
        )
    random.Random(seed).shuffle(fit_in)
    tenth = len(fit_in) // 10
    train = fit_in[2 * tenth :]
    source, target = (
        WordTokenizer(vocabulary(side, cut.split, args.vocab_size))
        for side in zip(*train)
    )
    valid, test = fit_in[:tenth], fit_in[tenth : 2 * tenth]
    size, src_size = len(target), len(source)
    config = replace(tiny_translator, vocab_size=size, src_vocab_size=src_size)
    return Corpus(train, valid, test, (source, target), config)


def examine(
    test: Sentences, model: EncoderDecoder, both: Both, length: int
) -> None:
    """Translate sentences that were not learned from, and say how well."""
    source, target = both
    src = Pairs(test, source, target, length).src
    src = src.to(next(model.parameters()).device)
    rows = greedy(model, src, SOS, EOS, length)
    # A space between all words and marks.
    written = [" ".join(target.split(target.decode(row))) for row in rows]
    wanted = [" ".join(target.split(text)) for _, text in test]
    share = f"exact match {exact_match(written, wanted):.1%}"
    say(f"Test: {len(test)} sentences, {share}{scores(written, wanted)}")
    for (text, _), ours, theirs in zip(test[:SAMPLES], written, wanted):
        mark = "as wanted" if ours == theirs else f"wanted: {theirs}"
        say(f"  {text} -> {ours} ({mark})")


def scores(written: list[str], wanted: list[str]) -> str:
    """Give BLEU and chrF; without sacrebleu, how to get them."""
    try:
        both = bleu(written, wanted, "none"), chrf(written, wanted)
    except ImportError:
        return " (BLEU and chrF: pip install sacrebleu)"
    return ", BLEU {:.1f}, chrF {:.1f}".format(*(one.value for one in both))


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
