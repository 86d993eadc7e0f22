"""How a training starts: new, or where an older one left it."""

from argparse import Namespace
from dataclasses import fields, replace
from math import ceil
from pathlib import Path
from typing import Any

from tformer_lite.commands.session import parts_in
from tformer_lite.example.running import seeded_model
from tformer_lite.model.config import Config
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import NAMES
from tformer_lite.training.files import check_place
from tformer_lite.training.loop import resume
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# The options that are a recipe's, and those that are a config's.
RECIPE = {field.name for field in fields(Recipe)}
MODEL = NAMES | {"max_len": "max_len"}


def unfinished_training(args: Namespace, command: str) -> Trainer | None:
    """Take up the training in --save_path, if --resume says so and it is
    there. Before it is too late, raises OSError for a path that cannot be
    written to, and for a file that nothing says to replace; ValueError for
    a model of another kind or size."""
    path = Path(args.save_path)
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
    sizes = {name: getattr(config, field) for name, field in MODEL.items()}
    sizes["block_size"] = size
    for name, value in args.given.items():
        if sizes.get(name, value) != value:
            raise ValueError(
                f"--{name} {value}, but {args.save_path} has {sizes[name]}: "
                "leave it out, or type --force and not --resume to train from "
                "the start."
            )


def new_trainer(
    args: Namespace, kind: type, config: Config, *kept: Any, **others: Any
) -> Trainer:
    """Build the model that the options describe, and its trainer, which has
    `kept` (see `Trainer`); its recipe has `others`."""
    options = vars(args).items()
    sizes = {MODEL[name]: x for name, x in options if name in MODEL}
    model = seeded_model(kind, replace(config, **sizes), args.seed)
    every = max((args.steps or 1) // 10, 1)
    return Trainer(model, Recipe(steps=1, every=every, **others), *kept)


def set_recipe(trainer: Trainer, options: dict, rows: int) -> None:
    """Change a recipe as the options say; epochs are counted in steps."""
    said = {name: x for name, x in options.items() if x is not None}
    changes = {name: said[name] for name in RECIPE & said.keys()}
    trainer.recipe = recipe = replace(trainer.recipe, **changes)
    if "epochs" in said:
        every = epoch_of(rows, recipe)
        steps = said["epochs"] * every
        trainer.recipe = replace(recipe, every=every, steps=steps)


def epoch_of(rows: int, recipe: Recipe) -> int:
    """Count the steps that go through the data once."""
    return ceil(ceil(rows / processes()[0]) / recipe.batch_size)
