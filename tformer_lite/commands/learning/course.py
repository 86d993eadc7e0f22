"""How a training goes on: what is shown, and what is saved."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from tformer_lite.commands.learning.start import epoch_of, set_recipe
from tformer_lite.commands.learning.watching import (
    Clock,
    Notes,
    beside,
    validation,
)
from tformer_lite.commands.session import PROGRAM, USES, say, warn
from tformer_lite.drawing.plots.charts import curves
from tformer_lite.training.batches import (
    Data,
    Sample,
    labels_in,
    mean_loss,
    processes,
    rows_to_validate,
)
from tformer_lite.training.checkpoints import load_checkpoint
from tformer_lite.training.loop import train
from tformer_lite.training.trainer import Trainer

# Notes are no more than STEPS apart, unless there would be more than NOTES.
STEPS, NOTES = 1000, 500


def announce(trainer: Trainer, device: torch.device, about: str) -> None:
    """Move a model to its device; say which, on what, and how large it is."""
    trainer.model.to(device)
    count = processes()[0]
    several = f" ({count} processes)" if count > 1 else ""
    size = sum(p.numel() for p in trainer.model.parameters())
    say(f"Using device: {device}{several}")
    say(about)
    say(f"Model parameters: {size:,}")


def fit(
    trainer: Trainer,
    args: Namespace,
    data: Data,
    valid: Data,
    sample: Callable[[], list[str]],
) -> None:
    """Train as the options say; save the checkpoint and the curve.

    At each note losses are printed, and the lines of a `sample`; in the end
    the loss of all of `valid`. Ctrl-C and SIGTERM save, and say where.
    Raises ValueError when a loss is no number any more.
    """
    path = Path(args.save_path)
    set_recipe(trainer, args.given, len(data))
    unit = note_sooner(trainer, args.given, len(data))
    if not trainer.steps_left():
        minutes = "--minutes, " if hasattr(args, "minutes") else ""
        say(f"{path} is trained: {minutes}more --steps or --patience goes on.")
    bar, notes = sys.stderr.isatty(), Notes(unit, path, sample)
    clock = Clock(tokens_of(trainer, data), bar)
    say_sample(trainer, valid)
    with explained(trainer, path):
        train(trainer, data, valid, path, bar, notes.show, clock.show)
        if processes()[1] == 0:
            use, _ = USES[type(trainer.model)]
            say(f"Model saved to {path}: {PROGRAM} {use} --ckpt {path}")
            save_curve(trainer, *unit, beside(path, "loss_curve.png"))
            notes.warn(trainer)
            examine_all(trainer, valid)


def note_sooner(trainer: Trainer, options: dict, rows: int) -> tuple[str, int]:
    """Note losses often enough where epochs, or tenths of all steps, are
    long; say what notes are counted in, and how many steps that has."""
    recipe, epoch = trainer.recipe, epoch_of(rows, trainer.recipe)
    if options.get("epochs") or options.get("steps"):
        every = min(recipe.every, max(STEPS, recipe.steps // NOTES))
        trainer.recipe = recipe = replace(recipe, every=every)
    in_epochs = recipe.every == epoch and recipe.steps % epoch == 0
    return ("Epoch", epoch) if in_epochs else ("Step", 1)


def tokens_of(trainer: Trainer, data: Data) -> int:
    """Count the tokens of a step, in all processes."""
    rows = min(trainer.recipe.batch_size, len(data))
    return rows * data[[0]][1].numel() * processes()[0]


def say_sample(trainer: Trainer, valid: Data) -> None:
    """Say how much of the validation data a note looks at, if not at all."""
    most = rows_to_validate(trainer.recipe)
    if most < len(valid):
        some, all_of = labels_in(Sample(valid, most)), labels_in(valid)
        say(
            f"Validation: on the way on {some:,} of {all_of:,} tokens, always "
            "the same ones; in the end on all."
        )


def examine_all(trainer: Trainer, valid: Data) -> None:
    """Print the loss of the whole validation data."""
    loss = mean_loss(trainer.model, valid)
    count = f"{labels_in(valid):,}"
    say(f"Whole validation set, {count} tokens: {validation(loss)}")


@contextmanager
def explained(trainer: Trainer, path: Path) -> Iterator[None]:
    """Say where a training is that a signal, or its losses, have ended."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(stop_line(trainer, path)) from None
    except SystemExit:
        warn(f"tformer_lite: {stop_line(trainer, path)}")
        raise
    except FloatingPointError as error:
        raise ValueError(f"{error} (--lr, --warmup); {kept(path)}") from None


def stop_line(trainer: Trainer, path: Path) -> str:
    """Say where a training is that Ctrl-C has stopped."""
    step = f"stopped at step {trainer.step} of {trainer.recipe.steps}"
    if not path.exists():
        return f"{step}; {kept(path)}"
    once = "--resume", "--force"  # which would take other data, too
    typed = [word for word in sys.argv[1:] if word not in once]
    again = shlex.join([*typed, "--resume"])
    return f"{step}; {kept(path)} Go on: {PROGRAM} {again}"


def kept(path: Path) -> str:
    """Say which step a file has, if it is there."""
    if not path.exists():
        return "nothing was saved."
    return f"{path} keeps step {load_checkpoint(path).training['step']}."


def save_curve(trainer: Trainer, unit: str, size: int, path: Path) -> None:
    """Draw both losses, and save them as a PNG."""
    places = [step // size for step, _ in trainer.noted]
    losses = trainer.train_losses, trainer.val_losses
    rows = [torch.tensor(row, dtype=torch.float64) for row in losses]
    picture = curves(
        *rows,
        axis=unit,
        titles=["Training", "Validation"],
        places=places,
        heads=["Training and validation loss\nnats a token"],
    )
    picture.figures[0].savefig(path, dpi=150)
    say(f"Loss curve saved to {path}")
