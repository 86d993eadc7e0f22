"""The command `train translate`: a model that translates."""

import argparse
import random
from typing import NamedTuple

from tformer_lite.commands.fitting import built, fit, left_off, planned, sized
from tformer_lite.commands.session import announce, say, together, warn
from tformer_lite.decoding.metrics import bleu, chrf, exact_match
from tformer_lite.decoding.search import greedy
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
from tformer_lite.training.loop import resume
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

Sentences = list[tuple[str, str]]
Both = tuple[WordTokenizer, WordTokenizer]
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


def train_translate(args: argparse.Namespace) -> None:
    """Train a translator, and test it on pairs that it has not seen."""
    with together(args.device) as device:
        old = left_off(args, EncoderDecoder)
        length = old.block_size if old else args.max_len
        seed = old.recipe.seed if old else args.seed
        corpus = own(args, length, seed) if args.path else shipped()
        tokenizers = old.tokenizers if old else corpus.tokenizers
        data, valid = (Pairs(p, *tokenizers, length) for p in corpus[:2])
        plan = planned(args, len(data), old)
        if old:
            trainer = resume(args.save_path, **plan)
        else:
            trainer = begun(args, tokenizers, Recipe(**plan, clip=CLIP))
        trainer.model.to(device)
        announce(trainer.model, device, corpus.sizes())
        fit(trainer, data, valid, args)
        if processes()[1] == 0:
            examine(trainer, corpus.test)


def begun(args, tokenizers: Both, recipe: Recipe) -> Trainer:
    """Build the model that the options describe, to train it."""
    source, target = map(len, tokenizers)
    words = {"vocab_size": target, "src_vocab_size": source}
    config = sized(tiny_translator, args, **words if args.path else {})
    model = built(EncoderDecoder, config, args.seed)
    return Trainer(model, recipe, tokenizers, args.max_len)


def shipped() -> Corpus:
    """Take the pairs that come with the book."""
    tokenizers = english_tokenizer(), nepali_tokenizer()
    return Corpus(*map(english_nepali, PARTS), tokenizers)


def own(args: argparse.Namespace, length: int, seed: int) -> Corpus:
    """Read pairs of the reader's own, and keep those that fit.

    A tenth is for validation and a tenth for the test, by the seed; the
    vocabularies are made of the rest. Raises ValueError for too few.
    """
    pairs, cut = [*dict.fromkeys(read_pairs(args.path))], WordTokenizer({})
    kept = fitting(pairs, cut, cut, length)
    out = len(pairs) - len(kept)
    if out:
        warn(
            f"{out:,} of {len(pairs):,} pairs do not fit into {length} "
            "tokens (--max_len) and are left out."
        )
    if len(kept) < 10:
        raise ValueError(
            f"{args.path} has {len(kept)} pairs that fit, and at least 10 "
            "are needed to train, validate and test."
        )
    random.Random(seed).shuffle(kept)
    tenth = len(kept) // 10
    train = kept[2 * tenth :]
    tokenizers = tuple(
        WordTokenizer(vocabulary(side, cut.split, args.vocab_size))
        for side in zip(*train)
    )
    return Corpus(train, kept[:tenth], kept[tenth : 2 * tenth], tokenizers)


def examine(trainer: Trainer, test: Sentences) -> None:
    """Translate sentences that were not learned from, and say how well."""
    (source, target), length = trainer.tokenizers, trainer.block_size
    device = next(trainer.model.parameters()).device
    src = Pairs(test, source, target, length).src.to(device)
    rows = greedy(trainer.model, src, SOS, EOS, length)
    written = [spaced(target, target.decode(row)) for row in rows]
    wanted = [spaced(target, text) for _, text in test]
    share = exact_match(written, wanted)
    say(
        f"Test: {len(test)} sentences, exact match {share:.1%}"
        + scores(written, wanted)
    )
    for (text, _), ours, theirs in zip(test[:SAMPLES], written, wanted):
        mark = "as wanted" if ours == theirs else f"wanted: {theirs}"
        say(f"  {text} -> {ours} ({mark})")


def spaced(tokenizer: WordTokenizer, text: str) -> str:
    """Write a text with a space between all of its words and marks."""
    return " ".join(tokenizer.split(text))


def scores(written: list[str], wanted: list[str]) -> str:
    """Give BLEU and chrF; without sacrebleu, how to get them."""
    try:
        both = bleu(written, wanted, "none"), chrf(written, wanted)
    except ImportError:
        return " (BLEU and chrF: pip install sacrebleu)"
    return ", BLEU {:.1f}, chrF {:.1f}".format(*(one.value for one in both))
