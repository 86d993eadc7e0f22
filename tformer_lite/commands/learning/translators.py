"""The command `train translate`: a model that translates."""

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from tformer_lite.commands.learning.course import announce, run_training
from tformer_lite.commands.learning.start import (
    ANEW,
    heads_for,
    learn_from,
    new_trainer,
    pairs_for,
    unfinished_training,
)
from tformer_lite.commands.options import AS_IN_BOOK, DURATIONS
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.doubts import telling_triples
from tformer_lite.decoding.metrics import bleu, chrf, exact_match
from tformer_lite.decoding.search import greedy
from tformer_lite.example import shipped
from tformer_lite.model.config import tiny_translator
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.text.datasets import (
    Pairs,
    Sentences,
    fitting,
    split_pairs,
)
from tformer_lite.text.reading import vocabulary
from tformer_lite.text.tokenizers import EOS, SOS, SPECIALS, WordTokenizer
from tformer_lite.training.batches import Sample, processes
from tformer_lite.training.origin import Origin
from tformer_lite.training.trainer import Trainer

Split = tuple[Sentences, Sentences, Sentences]  # to train, validate, test
Both = tuple[WordTokenizer, WordTokenizer]
SAMPLES = 3  # translations to show
VOCABULARY = 4096  # words of a language, specials included, at most
PASSES, FEW_STEPS = 100, 1500  # the more of both is the most to train
SPARE = 0.01  # of the pairs, which may be left out, if they are
OUTLIER = 1.5  # times as long as the longest of the others
MOST_OUT = 0.1  # of the pairs may be left out unasked
MOST_UNKNOWN = 0.1  # of new words are no reason to worry
ROWS = 64  # to translate at a time
FEWEST = 10  # pairs to train, validate and test
SCORES = (
    "BLEU and chrF: how many runs of words, and of letters, are as wanted, "
    "from 0 to 100"
)
COUNTS = "Loaded pairs: {:,} for training, {:,} for validation, {:,} for test"


def train_translate(args: Namespace) -> None:
    """Train a translator on pairs of your own. They decide its size, and you
    need no option. Without PATH it is the book's, on the book's pairs."""
    with joined_processes(args.device) as device:
        old = unfinished_training(args, "translate")
        pairs, origin = pairs_for(args, old)
        whole = split_corpus(pairs, origin)
        if not old:
            choose_options(args, whole, bool(pairs))
        kept = fitting_parts(args, whole, old, origin)
        trainer = old or new_translator(args, kept[0], bool(pairs))
        learn_from(trainer, origin)
        parts = parts_in(trainer, args.save_path, "translate")
        _, (source, target), length = parts
        data = Pairs(kept[0], source, target, length)
        valid = Pairs(kept[1], source, target, length)
        trainer.word_triples = telling_triples(data.src, valid.src)
        announce(trainer, device, COUNTS.format(*map(len, kept)))
        warn_of_unknown(kept[1] + kept[2], parts[1])
        sample = partial(translation_lines, kept[1][:SAMPLES], *parts)
        passes = PASSES * len(data) // trainer.recipe.batch_size
        most = max(passes, FEW_STEPS)
        rows = run_training(trainer, args, data, valid, sample, most)
        if processes()[1] == 0:
            examine(kept[2], len(whole[2]), rows // 4, *parts)


# --- What pairs ask for ---------------------------------------------------


def split_corpus(pairs: Sentences | None, origin: Origin) -> Split:
    """Split pairs, each of them once, by the seed of their origin: about a
    tenth is for validation, and one for the test. None stands for those of
    the book, which are split. Raises ValueError for too few."""
    if pairs is None:
        train, valid, test = map(shipped.english_nepali, shipped.CORPUS_PARTS)
        return train, valid, test
    pairs = [*dict.fromkeys(pairs)]
    if len(pairs) < FEWEST:
        raise ValueError(
            f"{origin.path} has {len(pairs)} different pairs, and at least "
            f"{FEWEST} are needed to train, validate and test."
        )
    return split_pairs(pairs, origin.seed)


def choose_options(args: Namespace, parts: Split, own: bool) -> None:
    """Put into the options what suits pairs of the reader's own, or what the
    book's translator has, around those that are typed."""
    said = {name: x for name, x in vars(args).items() if x is not None}
    choice = translator_for(parts, said) if own else AS_IN_BOOK
    if said.keys() & {*DURATIONS}:
        choice = {n: x for n, x in choice.items() if n not in DURATIONS}
    vars(args).update(choice | said)
    args.given = dict(vars(args))


def translator_for(parts: Split, said: Mapping[str, Any]) -> dict[str, Any]:
    """Choose options of `train translate` for pairs, around those `said`."""
    width = said.get("d_model", 48)
    return {
        "minutes": 2.0,
        "max_len": usual_length([*chain(*parts)]),
        "vocab_size": VOCABULARY,
        "num_layers": 1,
        "num_heads": heads_for(width),
        "d_model": width,
        "d_ff": 4 * width,
        "dropout": 0.0,
        "batch_size": min(64, len(parts[0])),
        "lr": min(0.48 / width, 2e-2),
        "schedule": "wsd",
        "weight_decay": 0.1,
    }


def usual_length(pairs: Sentences) -> int:
    """Give the tokens that rows need for all pairs, or for all but a few that
    are much longer: each step takes as long as its rows are."""
    lengths = sorted(row_lengths(pairs))
    spare = max(int(SPARE * len(lengths)), 1)
    usual, longest = lengths[-1 - spare], lengths[-1]
    return usual if longest > OUTLIER * usual else longest


def row_lengths(pairs: Sentences) -> list[int]:
    """Count the tokens of the rows that each pair fits into: a source has
    [SOS] and [EOS] besides its words, a target one of them."""
    split = WordTokenizer({}).split
    return [max(len(split(s)) + 2, len(split(t)) + 1) for s, t in pairs]


def fitting_parts(
    args: Namespace, parts: Split, old: Trainer | None, origin: Origin
) -> Split:
    """Leave out the pairs that are too long, and say so. Raises ValueError
    for more than a tenth of all, unless --drop-long says so or a training
    goes on that began so; and where too few are left."""
    length = (old and old.block_size) or args.max_len
    cut, longest = WordTokenizer({}), max(row_lengths([*chain(*parts)]))
    train, valid, test = (fitting(x, cut, cut, length) for x in parts)
    count, kept = sum(map(len, parts)), len(train) + len(valid) + len(test)
    out = (
        f"{count - kept:,} of {count:,} pairs do not fit into {length} tokens"
    )
    helps = ANEW if old else f"--max_len {longest} takes in all of them"
    same = old and old.origin and old.origin.fingerprint == origin.fingerprint
    if count - kept > MOST_OUT * count and not (args.drop_long or same):
        raise ValueError(
            f"{out}, more than a tenth: {helps}, and --drop-long goes on "
            "without them."
        )
    if kept < FEWEST or not (train and valid and test):
        raise ValueError(
            f"{out}, and at least {FEWEST} are needed that do, to train, "
            f"validate and test: {helps}."
        )
    if kept < count:
        warn(f"Left out: {out}. {helps[0].upper()}{helps[1:]}.")
    return train, valid, test


def new_translator(args: Namespace, train: Sentences, own: bool) -> Trainer:
    """Build the model that the options describe, to train it on pairs, whose
    words are its vocabularies."""
    if not own:
        both = shipped.english_tokenizer(), shipped.nepali_tokenizer()
        config = tiny_translator
    elif args.vocab_size <= len(SPECIALS):
        raise ValueError(
            f"--vocab_size {args.vocab_size} leaves no room for words, since "
            f"{', '.join(SPECIALS)} count: give 5 or more."
        )
    else:
        split = WordTokenizer({}).split
        source, target = (
            WordTokenizer(vocabulary(side, split, args.vocab_size))
            for side in zip(*train)
        )
        both = source, target
        src_size, size = map(len, both)
        config = replace(
            tiny_translator, vocab_size=size, src_vocab_size=src_size
        )
    return new_trainer(args, EncoderDecoder, config, both, args.max_len)


def warn_of_unknown(pairs: Sentences, both: Both) -> None:
    """Warn where many words of pairs are not in the vocabularies."""
    words = [
        word in tokenizer.ids
        for side, tokenizer in zip(zip(*pairs), both)
        for text in side
        for word in tokenizer.split(text)
    ]
    unknown = words.count(False)
    if unknown > MOST_UNKNOWN * len(words):
        warn(
            f"{unknown:,} of {len(words):,} words of the pairs held out are "
            "not in the vocabulary, and are read as [UNK]: bring more pairs, "
            "or choose a larger --vocab_size; where a language has no spaces, "
            "put one between its characters."
        )


# --- What it writes -------------------------------------------------------


def examine(
    test: Sentences,
    held_out: int,
    most: int,
    model: EncoderDecoder,
    both: Both,
    length: int,
) -> None:
    """Translate sentences that were not learned from, `most` of them, and say
    how well, and how many of those `held_out` they are."""
    rows = Sample(Pairs(test, *both, length), most).rows.tolist()
    some, target = [test[row] for row in rows], both[1]
    count = f"{len(some):,} of {held_out:,} held-out sentences"
    out = held_out - len(test)
    count += f" ({out:,} left out)" if out else ""
    say(f"Test: translating {count} ...")
    ours = translations(some, model, both, length)
    wanted = [" ".join(target.split(text)) for _, text in some]
    share = f"exact match {exact_match(ours, wanted):.1%}"
    say(f"Test: {count}, {share}{scores(ours, wanted)}")
    for (text, _), one, theirs in zip(some[:SAMPLES], ours, wanted):
        mark = "as wanted" if one == theirs else f"wanted: {theirs}"
        say(f"  {text} -> {one} ({mark})")


def translations(
    pairs: Sentences, model: EncoderDecoder, both: Both, length: int
) -> list[str]:
    """Translate sentences, with a space between all words and marks."""
    src = Pairs(pairs, *both, length).src
    src = src.to(next(model.parameters()).device)
    found = (greedy(model, some, SOS, EOS, length) for some in src.split(ROWS))
    target = both[1]
    texts = (target.decode(row) for rows in found for row in rows)
    return [" ".join(target.split(text)) for text in texts]


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
