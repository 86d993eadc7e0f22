"""The command `train translate`: a model that translates."""

from argparse import Namespace
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tformer_lite.commands.learning.course import announce, run_training
from tformer_lite.commands.learning.start import (
    learn_from,
    new_trainer,
    pairs_for,
    unfinished_training,
)
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.doubts import telling_triples
from tformer_lite.decoding.metrics import bleu, chrf, exact_match
from tformer_lite.decoding.search import greedy
from tformer_lite.example import shipped
from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import (
    Pairs,
    Sentences,
    fitting,
    split_pairs,
)
from tformer_lite.text.reading import vocabulary
from tformer_lite.text.tokenizers import EOS, SOS, WordTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.origin import Origin

Both = tuple[WordTokenizer, WordTokenizer]
SAMPLES = 3  # translations to show
SCORES = (
    "BLEU and chrF: how many runs of words, and of letters, are as wanted, "
    "from 0 to 100"
)
COUNTS = "Loaded pairs: {:,} for training, {:,} for validation, {:,} for test"


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
        old = unfinished_training(args, "translate")
        pairs, origin = pairs_for(args, old)
        length = (old and old.block_size) or args.max_len
        corpus = (
            own_corpus(pairs, origin, length, args.vocab_size)
            if pairs
            else book_corpus()
        )
        config, tokenizers = corpus.config, corpus.tokenizers
        trainer = old or new_trainer(
            args, EncoderDecoder, config, tokenizers, length
        )
        parts = parts_in(trainer, args.save_path, "translate")
        learn_from(trainer, origin)
        _, (source, target), length = parts
        data = Pairs(corpus.train, source, target, length)
        valid = Pairs(corpus.valid, source, target, length)
        trainer.word_triples = telling_triples(data.src, valid.src)
        announce(trainer, device, COUNTS.format(*map(len, corpus[:3])))
        sample = partial(translation_lines, corpus.valid[:SAMPLES], *parts)
        run_training(trainer, args, data, valid, sample)
        if processes()[1] == 0:
            examine(corpus.test, *parts)


def book_corpus() -> Corpus:
    """Take the pairs that come with the book, and its running model."""
    train, valid, test = map(shipped.english_nepali, shipped.CORPUS_PARTS)
    tokenizers = shipped.english_tokenizer(), shipped.nepali_tokenizer()
    return Corpus(train, valid, test, tokenizers, tiny_translator)


def own_corpus(
    pairs: Sentences, origin: Origin, length: int, vocab_size: int
) -> Corpus:
    """Split pairs of the reader's own, of those that fit into `length`.

    By the seed of their origin, about a tenth is for validation, and one
    for the test; the vocabularies are made of the rest. Raises ValueError
    for too few.
    """
    pairs, cut = [*dict.fromkeys(pairs)], WordTokenizer({})
    fit_in = fitting(pairs, cut, cut, length)
    if out := len(pairs) - len(fit_in):
        warn(
            f"{out:,} of {len(pairs):,} pairs do not fit into {length} "
            "tokens (--max_len) and are left out."
        )
    if len(fit_in) < 10:
        raise ValueError(
            f"{origin.path} has {len(fit_in)} pairs that fit, and at least 10 "
            "are needed to train, validate and test."
        )
    train, valid, test = split_pairs(fit_in, origin.seed)
    source, target = (
        WordTokenizer(vocabulary(side, cut.split, vocab_size))
        for side in zip(*train)
    )
    size, src_size = len(target), len(source)
    config = replace(tiny_translator, vocab_size=size, src_vocab_size=src_size)
    return Corpus(train, valid, test, (source, target), config)


def examine(
    test: Sentences, model: EncoderDecoder, both: Both, length: int
) -> None:
    """Translate sentences that were not learned from, and say how well."""
    target, ours = both[1], translations(test, model, both, length)
    wanted = [" ".join(target.split(text)) for _, text in test]
    share = f"exact match {exact_match(ours, wanted):.1%}"
    say(f"Test: {len(test)} sentences, {share}{scores(ours, wanted)}")
    for (text, _), one, theirs in zip(test[:SAMPLES], ours, wanted):
        mark = "as wanted" if one == theirs else f"wanted: {theirs}"
        say(f"  {text} -> {one} ({mark})")


def translations(
    pairs: Sentences, model: EncoderDecoder, both: Both, length: int
) -> list[str]:
    """Translate sentences, with a space between all words and marks."""
    src = Pairs(pairs, *both, length).src
    src = src.to(next(model.parameters()).device)
    rows = greedy(model, src, SOS, EOS, length)
    target = both[1]
    return [" ".join(target.split(target.decode(row))) for row in rows]


def translation_lines(
    pairs: Sentences, model: EncoderDecoder, both: Both, length: int
) -> list[str]:
    """Write sentences, and what a model makes of them."""
    ours = translations(pairs, model, both, length)
    return [f"{text} -> {one}" for (text, _), one in zip(pairs, ours)]


def scores(ours: list[str], wanted: list[str]) -> str:
    """Give BLEU and chrF; without sacrebleu, how to get them."""
    try:
        both = bleu(ours, wanted, "none"), chrf(ours, wanted)
    except ImportError:
        return f" ({SCORES}: pip install sacrebleu)"
    values = "BLEU {:.1f}, chrF {:.1f}".format(*(one.value for one in both))
    return f", {values} ({SCORES})"
