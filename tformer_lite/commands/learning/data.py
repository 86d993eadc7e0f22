"""What a training learns from: PATH, or what its checkpoint names."""

from argparse import Namespace
from collections.abc import Callable
from typing import TypeVar

from tformer_lite.commands.session import warn
from tformer_lite.example import shipped
from tformer_lite.text.datasets import Sentences
from tformer_lite.text.reading import read_pairs, read_text
from tformer_lite.training.origin import Origin, fingerprint, full_path
from tformer_lite.training.trainer import Trainer

Read = TypeVar("Read")
CORPUS = "the English-Nepali corpus that comes with tformer_lite"
ANEW = "choose another --save_path to train from the start"
GO_ON = f"add --force to go on with it all the same, or {ANEW}"
SILENT = "does not say what it was trained on, as older files do not"


def text_for(args: Namespace, old: Trainer | None) -> tuple[str, Origin]:
    """Read the text to train on, and describe it.

    Raises ValueError where a training would go on with another text than
    it began with, or with characters that it does not know.
    """
    kept = old.origin if old else None
    path = path_of(args, kept)
    if not path:
        raise ValueError("PATH is missing: give a text to train on, in UTF-8.")
    text = content(read_text, path, args)
    share = args.train_split
    if kept and "train_split" not in args.given:
        share = kept.share
    if not 0 < share < 1:
        raise ValueError(
            f"--train_split {share}: choose a share between 0 and 1, which "
            "leaves text to train on, and text to validate on."
        )
    now = Origin(
        path=full_path(path), fingerprint=fingerprint([text]), share=share
    )
    if old and kept:
        check_same(args, kept, now)
    if old:
        check_characters(args, old, text, path)
    return text, now


def pairs_for(
    args: Namespace, old: Trainer | None
) -> tuple[Sentences | None, Origin]:
    """Read the pairs to train on, and describe them; None stands for those
    that come with the module. Raises ValueError as `text_for` does."""
    kept = old.origin if old else None
    path = path_of(args, kept)
    pairs = content(read_pairs, path, args) if path else None
    seed = kept.seed if kept else old.recipe.seed if old else args.seed
    ours = (x for part in shipped.PARTS for x in shipped.english_nepali(part))
    now = Origin(
        path=full_path(path) if path else None,
        fingerprint=fingerprint(
            text for pair in pairs or ours for text in pair
        ),
        split="pairs" if path else "shipped",
        seed=seed,
    )
    if old and kept:
        check_same(args, kept, now)
    elif old:
        check_silent(args, old)
    return pairs, now


def learn_from(trainer: Trainer, origin: Origin) -> None:
    """Let a trainer learn from data: if from others than before, losses on
    those say nothing any more, nor which weights were best."""
    old, trainer.origin = trainer.origin, origin
    if old and old.fingerprint != origin.fingerprint:
        trainer.best, trainer.recent = trainer.model, []
        trainer.train_losses, trainer.val_losses = [], []
        trainer.noted = []


def path_of(args: Namespace, kept: Origin | None) -> str | None:
    """Find the file to read: PATH, or that of the checkpoint. ValueError for
    a PATH, where what was learned from came with the module."""
    if kept and kept.split == "shipped" and args.path:
        raise ValueError(on_corpus(args))
    return args.path or (kept.path if kept else None)


def on_corpus(args: Namespace) -> str:
    """Say that a PATH is not what a checkpoint was trained on."""
    return (
        f"{args.save_path} was trained on {CORPUS}, not on {args.path}: leave "
        f"{args.path} out to go on, or {ANEW}."
    )


def content(read: Callable[[str], Read], path: str, args: Namespace) -> Read:
    """Read a file; one that the checkpoint names may be there no more."""
    try:
        return read(path)
    except OSError as error:
        if args.path:
            raise
        raise FileNotFoundError(
            f"{args.save_path} was trained on {path}, which cannot be read "
            f"({error.strerror}): give PATH, where it is now."
        ) from None


def check_same(args: Namespace, kept: Origin, now: Origin) -> None:
    """Raise ValueError where data are not those of the checkpoint; --force
    lets a file be another one."""
    ckpt = args.save_path
    if kept.split == now.split == "shipped" and kept != now:
        raise ValueError(
            f"{ckpt} was trained on {CORPUS}, which is another one in this "
            f"version: {ANEW}."
        )
    if args.force:
        return
    if kept.fingerprint != now.fingerprint:
        here = now.path == kept.path
        change = f"has changed since {ckpt} was trained on it"
        other = f"is not {kept.path}, which {ckpt} was trained on"
        raise ValueError(f"{now.path} {change if here else other}: {GO_ON}.")
    if kept.share != now.share:
        raise ValueError(
            f"--train_split {now.share}, but {ckpt} has {kept.share}: leave "
            f"it out, or {ANEW}."
        )


def check_characters(
    args: Namespace, old: Trainer, text: str, path: str
) -> None:
    """Raise ValueError for characters that the checkpoint does not know; for
    any others than its own, too, where it does not say more of its text."""
    known, ckpt = old.tokenizers[0].ids.keys(), args.save_path
    if not (old.origin or args.force):
        if known != set(text):
            raise ValueError(
                f"{ckpt} {SILENT}, and {path} has other characters than its "
                f"vocabulary: {GO_ON}."
            )
        warn(f"{ckpt} {SILENT}: {path}, with the same characters, is taken.")
    if unknown := sorted(set(text) - known):
        raise ValueError(
            f"{path} has {', '.join(map(repr, unknown[:5]))}, which the "
            f"vocabulary of {ckpt} has not: {ANEW}."
        )


def check_silent(args: Namespace, old: Trainer) -> None:
    """Raise ValueError unless a checkpoint that does not say what pairs it
    was trained on can go on: with the corpus, whose words it has."""
    words = [one.ids for one in old.tokenizers]
    corpus = shipped.english_tokenizer(), shipped.nepali_tokenizer()
    ours, ckpt = words == [one.ids for one in corpus], args.save_path
    if ours and args.path:
        raise ValueError(on_corpus(args))
    if ours:
        warn(f"{ckpt} {SILENT}: {CORPUS}, with the same words, is taken.")
    elif not args.path:
        raise ValueError(f"{ckpt} {SILENT}: give PATH, or {ANEW}.")
    elif not args.force:
        raise ValueError(
            f"{ckpt} {SILENT}, and pairs that it has learned from may be for "
            f"the test of {args.path} now: {GO_ON}."
        )
