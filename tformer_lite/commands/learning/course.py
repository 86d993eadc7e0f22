"""How a training goes on: what is shown, and what is saved."""

import shlex
import sys
from argparse import Namespace
from functools import partial
from math import isfinite
from pathlib import Path

import torch

from tformer_lite.commands.learning.start import epoch_of, set_recipe
from tformer_lite.commands.session import PROGRAM, say, warn
from tformer_lite.decoding.metrics import perplexity
from tformer_lite.drawing.line_charts import curves
from tformer_lite.training.batches import Data, processes
from tformer_lite.training.checkpoints import load_checkpoint
from tformer_lite.training.loop import train
from tformer_lite.training.trainer import Trainer


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
