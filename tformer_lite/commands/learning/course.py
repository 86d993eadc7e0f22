"""How a training goes on: what is shown, and what is saved."""

import csv
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

import torch

from tformer_lite.commands.learning.start import choose_steps, epoch_of
from tformer_lite.commands.session import PROGRAM, USES, say, warn
from tformer_lite.decoding.metrics import perplexity
from tformer_lite.model.models import EncoderDecoder
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
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# Notes are no more than STEPS apart, unless there would be more than NOTES.
COURSE_STEPS, NOTES = 1000, 500
TIMED_SECONDS = 1.0  # of training that the expected time is taken from
COLUMNS = "step", "seconds", "train_loss", "val_loss"
LAST_ROWS = 10_000  # of the validation data, in the end, at most
# How overfitting shows.
SINCE = 3  # notes after the lowest loss, at least
LAST = 2  # notes that must both show it
RISE = 0.1  # of the lowest loss, or nats: well above it
FALL = 0.02  # of the training loss
NOISE = 3  # times the usual jump out of the line
RECENT = 12  # notes that tell what is usual


def announce(trainer: Trainer, device: torch.device, about: str) -> None:
    """Move a model to its device; say which, on what, and how large it is."""
    trainer.model.to(device)
    count = processes()[0]
    several = f" ({count} processes)" if count > 1 else ""
    size = sum(p.numel() for p in trainer.model.parameters())
    say(f"Using device: {device}{several}")
    say(about)
    say(f"Model parameters: {size:,}")


def run_training(
    trainer: Trainer,
    args: Namespace,
    data: Data,
    valid: Data,
    sample: Callable[[], list[str]],
    most: int,
) -> int:
    """Train as the options say; save the checkpoint and the curve. Give the
    number of rows that a last look at the data may have.

    Minutes are as many steps as there is time for, `most` of them for a new
    model. At each note losses are printed, and the lines of a `sample`; in
    the end the loss of `valid`. Ctrl-C and SIGTERM save, and say where.
    Raises ValueError when a loss is no number any more.
    """
    path = Path(args.save_path)
    rows = min(rows_to_validate(Recipe(steps=1, every=1)), len(valid))
    minutes = choose_steps(trainer, args.given, data, most, rows)
    say(training_text(trainer, minutes))
    unit = note_sooner(trainer, args.given, len(data))
    if not trainer.steps_left():
        say(f"{path} is trained: --minutes, more --steps or --patience go on.")
    tokens = data[[0]][1].numel() * processes()[0]
    tokens *= min(trainer.recipe.batch_size, len(data))
    bar, notes = sys.stderr.isatty(), Notes(unit, path, sample)
    say_sample(trainer, valid)
    rows = last_rows(trainer)
    with explaining_stops(trainer, path):
        clock = Clock(tokens)
        train(trainer, data, valid, path, bar, notes.show, clock.tell)
        if processes()[1] == 0:
            use, _ = USES[type(trainer.model)]
            say(f"Model saved to {path}: {PROGRAM} {use} --ckpt {path}")
            save_curve(trainer, *unit, path_beside(path, "loss_curve.png"))
            notes.warn(trainer)
            last = Sample(valid, rows)
            say(f"Last validation, on {part_text(last, valid)} tokens:")
            say(f"  {loss_text(mean_loss(trainer.model, last))}")
    return rows


def training_text(trainer: Trainer, minutes: float | None) -> str:
    """Say which model is trained, how long, and how to do the same again."""
    config: Any = trainer.model.config
    counts = {
        "layer": config.n_layers,
        "head": config.n_heads,
        "channel": config.d_model,
        "row": trainer.recipe.batch_size,
        "step": trainer.steps_left(),
    }
    layers, heads, channels, rows, steps = (
        f"{n:,} {name}" + "s" * (n != 1) for name, n in counts.items()
    )
    translates = isinstance(trainer.model, EncoderDecoder)
    tokens = "tokens" if translates else "characters"
    model = f"{layers}, {heads}, {channels}"
    model += f", rows of {trainer.block_size} {tokens}"
    if minutes is None:
        return f"{model}; {steps} of {rows}"
    again = f" (--steps {trainer.recipe.steps} repeats it)"
    time = duration_text(60 * minutes) + ", losses included"
    time += again * (not trainer.step)
    return f"{model}; {steps} of {rows} in about {time}"


def note_sooner(trainer: Trainer, options: dict, rows: int) -> tuple[str, int]:
    """Note losses often enough where epochs, or tenths of all steps, are
    long; say what notes are counted in, and how many steps that has."""
    recipe, epoch = trainer.recipe, epoch_of(rows, trainer.recipe)
    if options.get("epochs") or options.get("steps"):
        every = min(recipe.every, max(COURSE_STEPS, recipe.steps // NOTES))
        trainer.recipe = recipe = replace(recipe, every=every)
    in_epochs = recipe.every == epoch and recipe.steps % epoch == 0
    return ("Epoch", epoch) if in_epochs else ("Step", 1)


def last_rows(trainer: Trainer) -> int:
    """Say how many rows the last validation may look at: an eighth of those
    to learn from until then, as at a note, but no more than are needed."""
    steps = max(trainer.steps_left(), 1)
    recipe = replace(trainer.recipe, every=steps)
    return min(rows_to_validate(recipe), LAST_ROWS)


def say_sample(trainer: Trainer, valid: Data) -> None:
    """Say how much of the validation data a note looks at, if not at all."""
    some = Sample(valid, rows_to_validate(trainer.recipe))
    if len(some) < len(valid):
        say(
            f"Validation: on the way on {part_text(some, valid)} tokens, "
            "always the same ones."
        )


def part_text(some: Data, all_of: Data) -> str:
    """Say how many labels of the data a sample has."""
    return f"{labels_in(some):,} of {labels_in(all_of):,}"


@contextmanager
def explaining_stops(trainer: Trainer, path: Path) -> Iterator[None]:
    """Say where a training is that a signal, or its losses, have ended."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(stop_line(trainer, path)) from None
    except SystemExit:
        warn(f"tformer_lite: {stop_line(trainer, path)}")
        raise
    except FloatingPointError as error:
        saved = saved_text(path)
        raise ValueError(f"{error} (--lr, --warmup); {saved}") from None


def stop_line(trainer: Trainer, path: Path) -> str:
    """Say where a training is that Ctrl-C has stopped."""
    step = f"stopped at step {trainer.step} of {trainer.recipe.steps}"
    if not path.exists():
        return f"{step}; {saved_text(path)}"
    once = "--resume", "--force"  # which would take other data, too
    typed = [word for word in sys.argv[1:] if word not in once]
    again = shlex.join([*typed, "--resume"])
    return f"{step}; {saved_text(path)} Go on: {PROGRAM} {again}"


def saved_text(path: Path) -> str:
    """Say which step a file has, if it is there."""
    if not path.exists():
        return "nothing was saved."
    return f"{path} keeps step {load_checkpoint(path).training['step']}."


def save_curve(trainer: Trainer, unit: str, size: int, path: Path) -> None:
    """Draw both losses, if any were noted, and save them as a PNG."""
    if not trainer.noted:
        return
    # --help needs torch alone.
    from tformer_lite.drawing.plots.charts import curves

    losses = trainer.train_losses, trainer.val_losses
    picture = curves(
        *(torch.tensor(row, dtype=torch.float64) for row in losses),
        axis=unit,
        titles=["Training", "Validation"],
        places=[step // size for step, _ in trainer.noted],
        heads=["Training and validation loss\nnats a token"],
    )
    picture.figures[0].savefig(path, dpi=150)
    say(f"Loss curve saved to {path}")


# --- What is shown on the way ---------------------------------------------


class Notes:
    """Shows what is noted: losses, a sample of the model's writing, and a
    warning where it learns by heart. `unit` is what notes are counted in,
    with its steps; `path` is the checkpoint, which a CSV stands beside."""

    def __init__(
        self,
        unit: tuple[str, int],
        path: Path,
        sample: Callable[[], list[str]],
    ):
        self.unit, self.path, self.sample = unit, path, sample
        self.warned = ""

    def show(self, trainer: Trainer) -> None:
        """Print the last losses, and what the model writes; keep a CSV."""
        if processes()[1]:
            return
        unit, size = self.unit
        say(
            f"{unit} {trainer.step // size}/{trainer.recipe.steps // size}: "
            f"train_loss={trainer.train_losses[-1]:.4f}, "
            f"{loss_text(trainer.val_losses[-1])}"
        )
        for line in self.sample():
            say(f"  {line}")
        if not self.warned:
            self.warn(trainer)
        write_losses(trainer, path_beside(self.path, "losses.csv"))

    def warn(self, trainer: Trainer) -> None:
        """Warn of overfitting, if there is some, and if that is new."""
        said = overfitting_text(trainer)
        if said and said != self.warned:
            warn(said)
            self.warned = said


class Clock:
    """Tells once how long a training takes; `tokens` are those of a step."""

    def __init__(self, tokens: int):
        self.tokens = tokens
        self.began: tuple[float, int] | None = None  # after the first step
        self.told = False

    def tell(self, trainer: Trainer) -> None:
        """Print the time to expect, once it can be told."""
        now, left = monotonic(), trainer.steps_left()
        self.began = self.began or (now, trainer.step)
        seconds, steps = now - self.began[0], trainer.step - self.began[1]
        if self.told or not (steps and left) or seconds <= TIMED_SECONDS:
            return
        time = duration_text(seconds / steps * left)
        speed = f"{self.tokens * steps / seconds:,.0f} tokens a second"
        say(f"Expected time: about {time} for {left:,} steps, {speed}")
        self.told = True


def loss_text(loss: float) -> str:
    """Write a validation loss, and its perplexity."""
    return f"val_loss={loss:.4f}, perplexity={perplexity(loss):.2f}"


def duration_text(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def path_beside(path: Path, name: str) -> Path:
    """Name a file after a checkpoint, which it stands beside."""
    return path.with_name(f"{path.stem}_{name}")


def write_losses(trainer: Trainer, path: Path) -> None:
    """Write the losses of all notes into a CSV: whole, or not at all."""
    part = path.with_name(f"{path.name}.part")
    notes = zip(trainer.noted, trainer.train_losses, trainer.val_losses)
    rows = [(n, f"{when:.1f}", *losses) for (n, when), *losses in notes]
    try:
        with open(part, "w", newline="", encoding="utf8") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        os.replace(part, path)
    except OSError as error:  # somebody has it open: no reason to stop
        warn(f"{path} is not written: {error.strerror or error}")


def overfitting_text(trainer: Trainer) -> str:
    """Say that a model learns by heart, with its losses; "" if it does not.

    The validation loss has risen above its lowest, by more than it goes up
    and down, while the training loss fell on: in the last notes.
    """
    ours, theirs = trainer.train_losses, trainer.val_losses
    best = min(range(len(theirs)), key=theirs.__getitem__, default=0)
    if len(theirs) - 1 - best < SINCE:
        return ""
    low, learned = theirs[best], ours[best]
    near = median(theirs[max(best - 1, 0) : best + 2])  # the lowest by chance
    high = near + max(RISE, RISE * low) + NOISE * jump(theirs[-RECENT:])
    fallen = learned * (1 - FALL)
    if min(theirs[-LAST:]) < high or max(ours[-LAST:]) > fallen:
        return ""
    helps = "more data, a smaller model or more --dropout help"
    if not trainer.recipe.patience:
        helps = f"--patience 3 stops in time; {helps}"
    return (
        f"The lowest val_loss was {low:.2f} at step {trainer.noted[best][0]}, "
        f"now it is {theirs[-1]:.2f}, while train_loss fell from "
        f"{learned:.2f} to {ours[-1]:.2f}: the model learns its data by "
        f"heart. {helps[0].upper()}{helps[1:]}."
    )


def jump(losses: list[float]) -> float:
    """Say how far a loss usually lies from the line of its neighbours."""
    three = zip(losses, losses[1:], losses[2:])
    return median(abs(a - 2 * b + c) for a, b, c in three)
