"""The command `train translate`: a model that translates."""

import random
from argparse import Namespace
from typing import NamedTuple

from tformer_lite.commands.fitting import (
    Lesson,
    fit,
    sized_config,
    unfinished_training,
)
from tformer_lite.commands.session import (
    Both,
    joined_processes,
    say,
    translator_in,
    warn,
)
from tformer_lite.decoding.metrics import bleu, chrf, exact_match
from tformer_lite.decoding.search import greedy
from tformer_lite.example.shipped import (
    PARTS,
    english_nepali,
    english_tokenizer,
    nepali_tokenizer,
)
from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import Pairs, fitting
from tformer_lite.text.reading import read_pairs, vocabulary
from tformer_lite.text.tokenizers import EOS, SOS, WordTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import Checkpoint
from tformer_lite.training.trainer import Trainer

Sentences = list[tuple[str, str]]
SAMPLES = 3  # translations to show
SHORT = {"clip": 0.5}  # the high learning rate asks for short steps


class Corpus(NamedTuple):
    """Pairs to train on, to validate on, to test on; and how to read them."""

    train: Sentences
    valid: Sentences
    test: Sentences
    tokenizers: Both

    def sizes(self) -> str:
        """Count the pairs of each part."""
        parts = zip(map(len, self[:3]), ("training", "validation", "test"))
        counts = ", ".join(f"{count:,} for {name}" for count, name in parts)
        return f"Loaded pairs: {counts}"


def train_translate(args: Namespace) -> None:
    """Train a translator, and test it on pairs that it has not seen."""
    with joined_processes(args.device) as device:
        kept = unfinished_training(args)
        lesson, test = sentences(args, kept)
        trainer = fit(lesson, args, kept, device)
        if processes()[1] == 0:
            examine(trainer, test, args)


def sentences(
    args: Namespace, kept: Checkpoint | None
) -> tuple[Lesson, Sentences]:
    """Lay pairs out, for the model that is kept or for a new one; and give
    those of the test."""
    seed, length = args.seed, args.max_len
    if kept:
        _, both, length = translator_in(kept, args.save_path)
        seed, config = kept.training["recipe"]["seed"], kept.model.config
    corpus = own_corpus(args, length, seed) if args.path else shipped_corpus()
    if not kept:
        both, config = corpus.tokenizers, new_config(args, corpus.tokenizers)
    data, valid = (Pairs(part, *both, length) for part in corpus[:2])
    rest = both, length, EncoderDecoder, config, SHORT
    return Lesson(data, valid, corpus.sizes(), *rest), corpus.test


def new_config(args: Namespace, tokenizers: Both) -> Config:
    """Describe a new model; the shipped corpus has the book's own sizes."""
    source, target = map(len, tokenizers)
    words = {"vocab_size": target, "src_vocab_size": source}
    return sized_config(tiny_translator, args, **words if args.path else {})


def shipped_corpus() -> Corpus:
    """Take the pairs that come with the book."""
    train, valid, test = map(english_nepali, PARTS)
    tokenizers = english_tokenizer(), nepali_tokenizer()
    return Corpus(train, valid, test, tokenizers)


def own_corpus(args: Namespace, length: int, seed: int) -> Corpus:
    """Read pairs of the reader's own, and keep those that fit.

    A tenth is for validation and a tenth for the test, by the seed; the
    vocabularies are made of the rest. Raises ValueError for too few.
    """
    pairs, cut = [*dict.fromkeys(read_pairs(args.path))], WordTokenizer({})
    fit_in = fitting(pairs, cut, cut, length)
    out = len(pairs) - len(fit_in)
    if out:
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
    return Corpus(train, valid, test, (source, target))


def examine(trainer: Trainer, test: Sentences, args: Namespace) -> None:
    """Translate sentences that were not learned from, and say how well."""
    model, both, length = translator_in(trainer, args.save_path)
    src, target = Pairs(test, *both, length).src, both[1]
    src = src.to(next(model.parameters()).device)
    rows = greedy(model, src, SOS, EOS, length)
    written = [spaced_words(target, target.decode(row)) for row in rows]
    wanted = [spaced_words(target, text) for _, text in test]
    share = exact_match(written, wanted)
    say(
        f"Test: {len(test)} sentences, exact match {share:.1%}"
        + scores(written, wanted)
    )
    for (text, _), ours, theirs in zip(test[:SAMPLES], written, wanted):
        mark = "as wanted" if ours == theirs else f"wanted: {theirs}"
        say(f"  {text} -> {ours} ({mark})")


def spaced_words(tokenizer: WordTokenizer, text: str) -> str:
    """Write a text with a space between all of its words and marks."""
    return " ".join(tokenizer.split(text))


def scores(written: list[str], wanted: list[str]) -> str:
    """Give BLEU and chrF; without sacrebleu, how to get them."""
    try:
        both = bleu(written, wanted, "none"), chrf(written, wanted)
    except ImportError:
        return " (BLEU and chrF: pip install sacrebleu)"
    return ", BLEU {:.1f}, chrF {:.1f}".format(*(one.value for one in both))
