"""The command `train translate`: a model that translates."""

import random
from argparse import Namespace
from pathlib import Path
from typing import NamedTuple

from tformer_lite.commands.fitting import (
    announce,
    check_sizes,
    fit,
    sized_config,
    typed_recipe,
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
from tformer_lite.example.running import seeded_model
from tformer_lite.example.shipped import (
    PARTS,
    english_nepali,
    english_tokenizer,
    nepali_tokenizer,
)
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import Pairs, fitting
from tformer_lite.text.reading import read_pairs, vocabulary
from tformer_lite.text.tokenizers import EOS, SOS, WordTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

Sentences = list[tuple[str, str]]
SAMPLES = 3  # translations to show
CLIP = 0.5  # the high learning rate asks for short steps


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
        old = unfinished_training(args)
        seed, length = args.seed, args.max_len
        if old:
            model, both, length = translator_in(old, args.save_path)
            check_sizes(args, model.config, length)
            seed = old.recipe.seed
        corpus = own_corpus(args, length, seed) if args.path else book_corpus()
        both = both if old else corpus.tokenizers
        data, valid = (Pairs(part, *both, length) for part in corpus[:2])
        recipe = typed_recipe(args, len(data), old, clip=CLIP)
        trainer = old or new_translator(args, both, recipe)
        trainer.recipe = recipe
        trainer.model.to(device)
        announce(trainer, device, corpus.sizes())
        fit(trainer, data, valid, Path(args.save_path))
        if processes()[1] == 0:
            examine(trainer, corpus.test, args)


def new_translator(
    args: Namespace, tokenizers: Both, recipe: Recipe
) -> Trainer:
    """Build the model that the options describe, to train it; the shipped
    corpus has the vocabulary of the book's own."""
    source, target = map(len, tokenizers)
    words = {"vocab_size": target, "src_vocab_size": source}
    config = sized_config(tiny_translator, args, **words if args.path else {})
    model = seeded_model(EncoderDecoder, config, args.seed)
    return Trainer(model, recipe, tokenizers, args.max_len)


def book_corpus() -> Corpus:
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
