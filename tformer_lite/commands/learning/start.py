"""How a training starts: new, or where an older one left it; and what it
learns from: PATH, or what its checkpoint names."""

import re
from argparse import Namespace
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from math import ceil
from pathlib import Path
from sys import maxsize
from time import perf_counter
from typing import Any

import torch

from tformer_lite.commands.options import MODEL_OPTIONS, RECIPE
from tformer_lite.commands.session import parts_in, say
from tformer_lite.example import shipped
from tformer_lite.example.running import seeded_model
from tformer_lite.model.config import Config
from tformer_lite.model.models import EncoderDecoder
from tformer_lite.model.modes import evaluating
from tformer_lite.text.datasets import Sentences
from tformer_lite.text.reading import check_file, read_pairs, read_text
from tformer_lite.training.batches import Data, Sample, processes
from tformer_lite.training.files import check_place
from tformer_lite.training.loop import resume, train
from tformer_lite.training.origin import Origin, fingerprint, full_path
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.stopping import largest_anywhere
from tformer_lite.training.trainer import Trainer, change_recipe

# The lengths of rows have one name in a config, and one for each command.
FIELDS = MODEL_OPTIONS | {"max_seq_len": "max_len", "max_len": "max_len"}
LOSS_NOTES = 10  # of both losses, in a training
TRIAL, TRIAL_ROWS = 1.0, 4096  # seconds of steps, to be timed, and data
WARMUP = 100  # steps, at most
STEPS_SHARE = 0.85  # of the time; the rest goes to losses and files
CORPUS = "the English-Nepali corpus that comes with tformer_lite"
ANEW = "choose another --save_path to train from the start"
GO_ON = f"add --force to go on with it all the same, or {ANEW}"


# --- The model and its recipe ---------------------------------------------


def unfinished_training(args: Namespace, command: str) -> Trainer | None:
    """Take up the training in --save_path, if --resume says so and it is
    there. Before it is too late, raises OSError for a path that cannot be
    written to, and for a file that nothing says to replace; ValueError for
    a model of another kind or size."""
    path = Path(args.save_path)
    if args.path:  # a slip in it comes before a file that is there already
        check_file(args.path)
    if processes()[1] == 0:
        try:
            check_place(path)
        except OSError as error:
            raise OSError(
                f"--save_path {path}: {error.strerror}. Choose a file, new or "
                "old, in a folder that you may write to."
            ) from None
    if args.resume and path.exists():
        old = resume(path)
        model, _, size = parts_in(old, args.save_path, command)
        check_sizes(args, model.config, size)
        return old
    if path.exists() and not args.force:
        raise FileExistsError(
            f"{path} is there already: --resume goes on from it, --force "
            "trains from the start and replaces it."
        )
    args.given = dict(vars(args))  # a new training takes the defaults, too
    return None


def check_sizes(args: Namespace, config: Config, size: int) -> None:
    """Raise ValueError for a size that is typed and not the checkpoint's."""
    sizes = {name: getattr(config, field) for name, field in FIELDS.items()}
    sizes["block_size"] = size
    for name, value in args.given.items():
        if sizes.get(name, value) != value:
            raise ValueError(
                f"--{name} {value}, but {args.save_path} has {sizes[name]}: "
                "leave it out, or type --force and not --resume to train from "
                "the start."
            )


def new_trainer(
    args: Namespace, kind: type, config: Config, *saved: Any
) -> Trainer:
    """Build the model that the options describe, and its trainer, which has
    what is `saved` beside it (see `Trainer`). It runs once, for what it
    cannot compute."""
    config = config_of(vars(args), config)
    ids = torch.zeros(1, 1, dtype=torch.long)
    try:
        model = seeded_model(kind, config, args.seed)
        with evaluating(model):
            model(*[ids] * (2 if kind is EncoderDecoder else 1))
    except ValueError as error:
        raise ValueError(in_options(str(error))) from None
    return Trainer(model, recipe_of(vars(args), Recipe(steps=1)), *saved)


def in_options(text: str) -> str:
    """Say --d_model=8 where a message about a config says d_model=8.

    >>> in_options("d_model=8 is not divisible by n_heads=3")
    '--d_model=8 is not divisible by --num_heads=3'
    """
    for option, field in MODEL_OPTIONS.items():
        sign = "" if "_" in field else "(?==)"  # norm is a word, too
        text = re.sub(rf"(?<![\w-]){field}\b{sign}", f"--{option}", text)
    return text


def config_of(options: dict[str, Any], config: Config) -> Config:
    """Change a config as the options say; those that are None do not."""
    changes = {
        field: options[name]
        for name, field in FIELDS.items()
        if options.get(name) is not None
    }
    return replace(config, **changes)


def recipe_of(options: dict[str, Any], recipe: Recipe) -> Recipe:
    """Change a recipe as the options say; those that are None do not."""
    said = {name: options.get(name) for name in RECIPE}
    changes = {name: x for name, x in said.items() if x is not None}
    if "betas" in changes:
        changes["betas"] = tuple(changes["betas"])
    return replace(recipe, **changes)


def set_recipe(trainer: Trainer, options: dict, rows: int) -> None:
    """Change a recipe as the options say; epochs are counted in steps."""
    recipe = recipe_of(options, trainer.recipe)
    if options.get("epochs") is not None:
        every = epoch_of(rows, recipe)
        steps = options["epochs"] * every
        recipe = replace(recipe, every=every, steps=steps)
    elif not trainer.step:
        recipe = replace(recipe, every=max(recipe.steps // LOSS_NOTES, 1))
    change_recipe(trainer, recipe)


def heads_for(width: int) -> int:
    """Give heads of 32 channels, or as near as all can be equal and even."""
    whole = [n for n in range(1, width + 1) if width % (2 * n) == 0]
    return min(whole or [1], key=lambda n: abs(width / n - 32))


def choose_steps(
    trainer: Trainer, given: dict, data: Data, most: int, rows: int = 0
) -> float | None:
    """Put into the options `given` as many steps as their minutes allow, and
    say how many minutes they take; None where steps or epochs are given.

    The data are good for `most` steps; one can go on all the same. Each
    validation has some `rows` at least, and takes a third of a step's time.
    """
    set_recipe(trainer, given, len(data))
    minutes, most = given.get("minutes"), maxsize if trainer.step else most
    if minutes is not None:
        minute = 60 / seconds_a_step(trainer, data)  # in steps
        losses = (LOSS_NOTES + 1) * rows / 3 / trainer.recipe.batch_size
        time = minutes * minute
        steps = max(int(min(STEPS_SHARE * time, time - losses, most)), 1)
        if steps == most:
            say("Few data: it ends sooner, before they are learned by heart.")
        given["steps"], given["minutes"] = trainer.step + steps, None
        minutes = max(steps / STEPS_SHARE, steps + losses) / minute
        set_recipe(trainer, given, len(data))
    if not trainer.step and given.get("warmup") is None:
        warmup = min(WARMUP, trainer.recipe.steps // 10)
        trainer.recipe = replace(trainer.recipe, warmup=warmup)
    return minutes


def seconds_a_step(trainer: Trainer, data: Data) -> float:
    """Time steps of a copy: the trainer itself stays as it is. A part of the
    data is enough: to shuffle a long text takes long."""
    steps, seconds = 1, 0.0
    while seconds < TRIAL:
        steps *= 2
        recipe = replace(trainer.recipe, steps=steps, patience=None)
        trial = Trainer(deepcopy(trainer.model), recipe)
        start = perf_counter()
        train(trial, Sample(data, TRIAL_ROWS))
        (most,) = largest_anywhere(round(1e6 * (perf_counter() - start)))
        seconds = most / 1e6
    return seconds / steps


def epoch_of(rows: int, recipe: Recipe) -> int:
    """Count the steps that go through the data once."""
    return ceil(ceil(rows / processes()[0]) / recipe.batch_size)


# --- The data -------------------------------------------------------------


def text_for(args: Namespace, old: Trainer | None) -> tuple[str, Origin]:
    """Read the text to train on, and describe it.

    Raises ValueError where a training would go on with another text than
    it began with, or with characters that it does not know.
    """
    before = old.origin if old else None
    path = args.path or (before.path if before else None)
    if not path:
        raise ValueError("PATH is missing: give a text to train on, in UTF-8.")
    text = read_data(read_text, path, args)
    share = args.train_split
    if before and "train_split" not in args.given:
        share = before.share
    if not 0 < share < 1:
        raise ValueError(
            f"--train_split {share}: choose a share between 0 and 1, which "
            "leaves text to train on, and text to validate on."
        )
    found = fingerprint([text])
    now = Origin(path=full_path(path), fingerprint=found, share=share)
    if old:
        check_same(args, before, now)
        unknown = sorted(set(text) - old.tokenizers[0].ids.keys())
        if unknown:
            raise ValueError(
                f"{path} has {', '.join(map(repr, unknown[:5]))}, which the "
                f"vocabulary of {args.save_path} has not: {ANEW}."
            )
    return text, now


def pairs_for(
    args: Namespace, old: Trainer | None
) -> tuple[Sentences | None, Origin]:
    """Read the pairs to train on, and describe them; None stands for those
    that come with the module. Raises ValueError as `text_for` does."""
    before = old.origin if old else None
    path = args.path or (before.path if before else None)
    pairs = read_data(read_pairs, path, args) if path else None
    ours = (
        x
        for part in shipped.CORPUS_PARTS
        for x in shipped.english_nepali(part)
    )
    now = Origin(
        path=full_path(path) if path else None,
        fingerprint=fingerprint(
            text for pair in pairs or ours for text in pair
        ),
        split="pairs" if path else "shipped",
        seed=before.seed if before else old.recipe.seed if old else args.seed,
    )
    if old:
        check_same(args, before, now)
    return pairs, now


def learn_from(trainer: Trainer, origin: Origin) -> None:
    """Let a trainer learn from data: if from others than before, losses on
    those say nothing any more, nor which weights were best."""
    old, trainer.origin = trainer.origin, origin
    if old and old.fingerprint != origin.fingerprint:
        trainer.best, trainer.recent = trainer.model, []
        trainer.train_losses, trainer.val_losses = [], []
        trainer.noted = []


def read_data(read: Callable[[str], Any], path: str, args: Namespace) -> Any:
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


def check_same(args: Namespace, before: Origin | None, now: Origin) -> None:
    """Raise ValueError where data are not those of the checkpoint, or it does
    not say which they were; --force lets a file be another one."""
    ckpt, here = args.save_path, now.path or CORPUS
    if before and before.split == "shipped" and before != now:
        other = f"not on {args.path}: leave {args.path} out to go on, or"
        new = "which is another one in this version:"
        why = other if now.path else new
        raise ValueError(f"{ckpt} was trained on {CORPUS}, {why} {ANEW}.")
    if args.force:
        return
    if before is None:
        raise ValueError(
            f"{ckpt} does not say what it was trained on, as older files do "
            f"not: is it {here}? Then {GO_ON}."
        )
    if before.fingerprint != now.fingerprint:
        change = f"has changed since {ckpt} was trained on it"
        if now.path != before.path:
            change = f"is not {before.path}, which {ckpt} was trained on"
        raise ValueError(f"{here} {change}: {GO_ON}.")
    if before.share != now.share:
        raise ValueError(
            f"--train_split {now.share}, but {ckpt} has {before.share}: leave "
            f"it out, or {ANEW}."
        )
