"""One training from the command line: new or resumed, shown, saved."""

import shlex
import sys
from argparse import Namespace
from dataclasses import fields, replace
from functools import partial
from math import ceil, isfinite
from pathlib import Path
from typing import Any

import torch

from tformer_lite.commands.session import PROGRAM, parts_in, say, warn
from tformer_lite.decoding.metrics import perplexity
from tformer_lite.drawing.line_charts import curves
from tformer_lite.example.running import seeded_model
from tformer_lite.model.config import Config
from tformer_lite.training.batches import Data, processes
from tformer_lite.training.checkpoints import NAMES, load_checkpoint
from tformer_lite.training.loop import resume, train
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# The options that are a recipe's, and those that are a config's.
RECIPE = {field.name for field in fields(Recipe)}
MODEL = NAMES | {"max_len": "max_len"}


def unfinished_training(args: Namespace, command: str) -> Trainer | None:
    """Take up the training in --save_path, if --resume says so and it is
    there. Before it is too late, raises OSError for a path that cannot be
    written to, and ValueError for a model of another kind or size."""
    path = Path(args.save_path)
    check_place(path)
    if args.resume and path.exists():
        old = resume(path)
        model, _, size = parts_in(old, args.save_path, command)
        check_sizes(args, model.config, size)
        return old
    if path.exists():
        warn(f"{path} will be replaced; --resume goes on from it.")
    args.given = dict(vars(args))  # a new training takes the defaults, too
    return None


def check_place(path: Path) -> None:
    """Raise OSError for a path that no checkpoint can be written to."""
    if path.is_dir():
        raise IsADirectoryError(0, "is a folder, not a file", str(path))
    if processes()[1] == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.touch()
        part.unlink()


def check_sizes(args: Namespace, config: Config, size: int) -> None:
    """Raise ValueError for a size that is typed and not the checkpoint's."""
    sizes = {name: getattr(config, field) for name, field in MODEL.items()}
    sizes["block_size"] = size
    for name, value in args.given.items():
        if sizes.get(name, value) != value:
            raise ValueError(
                f"--{name} {value}, but {args.save_path} has {sizes[name]}: "
                "leave it out, or leave out --resume to train from the start."
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


def announce(trainer: Trainer, device: torch.device, about: str) -> None:
    """Move a model to its device; say which, on what, and how large it is."""
    trainer.model.to(device)
    count = processes()[0]
    several = f" ({count} processes)" if count > 1 else ""
    size = sum(p.numel() for p in trainer.model.parameters())
    say(f"Using device: {device}{several}")
    say(about)
    say(f"Model parameters: {size:,}")


def fit(trainer: Trainer, args: Namespace, data: Data, valid: Data) -> None:
    """Train as the options say; save the checkpoint and the curve.

    At each note a line is printed. Ctrl-C saves, and says where.
    """
    path = Path(args.save_path)
    set_recipe(trainer, args.given, len(data))
    if not trainer.steps_left():
        say(f"{path} is trained: more --steps or --patience would go on.")
    recipe, epoch = trainer.recipe, epoch_of(len(data), trainer.recipe)
    in_epochs = recipe.every == epoch and recipe.steps % epoch == 0
    unit, size = ("Epoch", epoch) if in_epochs else ("Step", 1)
    note = partial(print_note, unit=unit, size=size)
    try:
        train(trainer, data, valid, path, sys.stderr.isatty(), note)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(stop_line(trainer, path)) from None
    if processes()[1] == 0:
        say(f"Model saved to {path}")
        save_curve(trainer, unit, size, path.with_name("loss_curve.png"))


def print_note(trainer: Trainer, unit: str, size: int) -> None:
    """Print the last losses; a `unit`, such as an epoch, has `size` steps."""
    ours, theirs = trainer.train_losses[-1], trainer.val_losses[-1]
    say(
        f"{unit} {trainer.step // size}/{trainer.recipe.steps // size}: "
        f"train_loss={ours:.4f}, val_loss={theirs:.4f}, "
        f"perplexity={perplexity(theirs):.2f}"
    )


def stop_line(trainer: Trainer, path: Path) -> str:
    """Say where a training is that Ctrl-C has stopped."""
    step = f"stopped at step {trainer.step} of {trainer.recipe.steps}"
    if not path.exists():
        return f"{step}; nothing was saved."
    kept = load_checkpoint(path).training["step"]
    typed = [word for word in sys.argv[1:] if word != "--resume"]
    again = shlex.join([*typed, "--resume"])
    return f"{step}; {path} keeps step {kept}. Go on: {PROGRAM} {again}"


def save_curve(trainer: Trainer, unit: str, size: int, path: Path) -> None:
    """Draw both losses, where they are numbers, and save them as a PNG."""
    every, end = trainer.recipe.every, trainer.step
    both = enumerate(zip(trainer.train_losses, trainer.val_losses), 1)
    notes = [(min(i * every, end), *x) for i, x in both if isfinite(sum(x))]
    if not notes:
        warn("No note has two losses that are numbers: there is no curve.")
        return
    steps, *rows = torch.tensor(notes, dtype=torch.float64).T
    places = [int(step) // size for step in steps]
    titles = ["Training", "Validation"]
    picture = curves(*rows, axis="step", titles=titles, places=places)
    (axes,) = picture.figure.axes
    axes.set(xlabel=unit, ylabel="Loss (nats a token)")
    axes.set_title("Training and validation loss", loc="left")
    picture.figure.savefig(path, dpi=150)
    say(f"Loss curve saved to {path}")
