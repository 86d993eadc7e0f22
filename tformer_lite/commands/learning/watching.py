"""What is shown while a training goes on: losses, time, and writing."""

import csv
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic

from tformer_lite.commands.learning.overfitting import by_heart
from tformer_lite.commands.session import say, warn
from tformer_lite.decoding.metrics import perplexity
from tformer_lite.training.batches import processes
from tformer_lite.training.trainer import Trainer

MEASURED = 1.0  # seconds of training that the expected time is taken from
PAUSE = 10.0  # seconds without a line, at most, where there is no bar
COLUMNS = "step", "seconds", "train_loss", "val_loss"


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
            f"{validation(trainer.val_losses[-1])}"
        )
        for line in self.sample():
            say(f"  {line}")
        if not self.warned:
            self.warn(trainer)
        write_losses(trainer, beside(self.path, "losses.csv"))

    def warn(self, trainer: Trainer) -> None:
        """Warn of overfitting, if there is some, and if that is new."""
        said, self.warned = self.warned, by_heart(trainer) or self.warned
        if self.warned != said:
            warn(self.warned)


class Clock:
    """Shows how long a training takes; `tokens` are those of a step."""

    def __init__(self, tokens: int, bar: bool):
        self.tokens, self.bar = tokens, bar
        self.began: tuple[float, int] | None = None  # after the first step
        self.shown = 0.0

    def show(self, trainer: Trainer) -> None:
        """Print the time to expect, once, and then, where there is no bar
        and no note, a line now and then."""
        now = monotonic()
        self.began = self.began or (now, trainer.step)
        seconds, steps = now - self.began[0], trainer.step - self.began[1]
        left = trainer.steps_left()
        if not (steps and left):
            return
        time = f"about {duration(seconds / steps * left)}"
        speed = f"{self.tokens * steps / seconds:,.0f} tokens a second"
        if not self.shown and seconds > MEASURED:
            say(f"Expected time: {time} for {left:,} steps, {speed}")
            self.shown = now
        elif not trainer.recent:  # a note has just been shown
            self.shown = self.shown and now
        elif self.shown and not self.bar and now - self.shown > PAUSE:
            at = f"Step {trainer.step}/{trainer.recipe.steps}"
            say(f"{at}: loss {trainer.loss:.4f}, {speed}, {time} left")
            self.shown = now


def validation(loss: float) -> str:
    """Write a validation loss, and its perplexity."""
    return f"val_loss={loss:.4f}, perplexity={perplexity(loss):.2f}"


def duration(seconds: float) -> str:
    """Write a time in the unit that suits it."""
    for unit, size in ("h", 3600), ("min", 60):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"


def beside(path: Path, name: str) -> Path:
    """Name a file after a checkpoint, which it stands beside."""
    return path.with_name(f"{path.stem}_{name}")


def write_losses(trainer: Trainer, path: Path) -> None:
    """Write the losses of all notes into a CSV: whole, or not at all."""
    part = path.with_name(f"{path.name}.part")
    losses = zip(trainer.train_losses, trainer.val_losses)
    notes = zip(trainer.noted, losses)
    rows = [(n, f"{when:.1f}", *both) for (n, when), both in notes]
    try:
        with open(part, "w", newline="", encoding="utf8") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        os.replace(part, path)
    except OSError as error:  # somebody has it open: no reason to stop
        warn(f"{path} is not written: {error.strerror or error}")
