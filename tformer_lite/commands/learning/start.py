"""How a training starts: new, or where an older one left it."""

import re
from argparse import Namespace
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from tformer_lite.commands.options import MODEL, RECIPE
from tformer_lite.commands.session import parts_in
from tformer_lite.example.running import seeded_model
from tformer_lite.model.config import Config
from tformer_lite.training.batches import processes
from tformer_lite.training.files import check_place
from tformer_lite.training.loop import resume
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer, change_recipe

# The lengths of rows have one name in a config, and one for each command.
FIELDS = MODEL | {"max_seq_len": "max_len", "max_len": "max_len"}
NOTES = 10  # of both losses, in a training


def unfinished_training(args: Namespace, command: str) -> Trainer | None:
    """Take up the training in --save_path, if --resume says so and it is
    there. Before it is too late, raises OSError for a path that cannot be
    written to, and for a file that nothing says to replace; ValueError for
    a model of another kind or size."""
    path = Path(args.save_path)
    if args.path:  # a slip in it comes before a file that is there already
        open(args.path, "rb").close()
    if processes()[1] == 0:
        try:
            check_place(path)
        except OSError as error:
            raise OSError(f"--save_path {path}: {error.strerror}.") from None
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
    args: Namespace, kind: type, config: Config, *kept: Any
) -> Trainer:
    """Build the model that the options describe, and its trainer, which has
    `kept` (see `Trainer`)."""
    config = config_of(vars(args), config)
    try:
        model = seeded_model(kind, config, args.seed)
    except ValueError as error:
        raise ValueError(in_options(str(error))) from None
    return Trainer(model, recipe_of(vars(args), Recipe(steps=1)), *kept)


def in_options(text: str) -> str:
    """Say --d_model=8 where a message about a config says d_model=8.

    >>> in_options("d_model=8 is not divisible by n_heads=3")
    '--d_model=8 is not divisible by --num_heads=3'
    """
    for option, field in MODEL.items():
        sign = "" if "_" in field else "(?==)"  # norm is a word, too
        text = re.sub(rf"(?<![\w-]){field}\b{sign}", f"--{option}", text)
    return text


def config_of(options: dict[str, Any], config: Config) -> Config:
    """Change a config as the options say; those that are None do not."""
    said = {name: x for name, x in options.items() if x is not None}
    changes = {
        FIELDS[name]: said[name] for name in FIELDS.keys() & said.keys()
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
        recipe = replace(recipe, every=max(recipe.steps // NOTES, 1))
    change_recipe(trainer, recipe)


def epoch_of(rows: int, recipe: Recipe) -> int:
    """Count the steps that go through the data once."""
    return ceil(ceil(rows / processes()[0]) / recipe.batch_size)
