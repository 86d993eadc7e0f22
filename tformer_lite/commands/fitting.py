"""One training from the command line: begun or resumed, shown, saved."""

import argparse
import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset

from tformer_lite.commands.losses import save_curve
from tformer_lite.commands.session import PROGRAM, check_kind, say, warn
from tformer_lite.decoding.metrics import perplexity
from tformer_lite.model.config import Config
from tformer_lite.training.batches import processes
from tformer_lite.training.checkpoints import load_checkpoint
from tformer_lite.training.loop import resume, train
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer

# The options that are a recipe's, and those that are a config's.
RECIPE = (
    "batch_size",
    "lr",
    "warmup",
    "schedule",
    "smoothing",
    "patience",
    "seed",
)
MODEL = {
    "d_model": "d_model",
    "num_heads": "n_heads",
    "num_layers": "n_layers",
    "d_ff": "d_ff",
    "max_seq_len": "max_len",
    "max_len": "max_len",
    "dropout": "dropout",
}


def sized(config: Config, args: argparse.Namespace, **others) -> Config:
    """Give a config the sizes that the options say."""
    options = vars(args).items()
    fields = {MODEL[name]: x for name, x in options if name in MODEL}
    return replace(config, **fields, **others)


def built(kind: type[nn.Module], config: Config, seed: int) -> nn.Module:
    """Build a model whose first weights come from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)


def left_off(
    args: argparse.Namespace, kind: type[nn.Module]
) -> Trainer | None:
    """Find the training in --save_path, if --resume says so and it is
    there. Raises ValueError where it is not of this kind and these sizes."""
    path = Path(args.save_path)
    check_place(path)
    if not (args.resume and path.exists()):
        if path.exists():
            warn(f"{path} will be replaced; --resume goes on from it.")
        return None
    old = resume(path)
    check_kind(path, old.model, kind)
    check_sizes(old, args)
    return old


def check_sizes(trainer: Trainer, args: argparse.Namespace) -> None:
    """Raise ValueError for a size that is typed and not the checkpoint's."""
    config = trainer.model.config
    kept = {name: getattr(config, field) for name, field in MODEL.items()}
    kept["block_size"] = trainer.block_size
    for name, value in args.given.items():
        if kept.get(name, value) != value:
            raise ValueError(
                f"--{name} {value}, but {args.save_path} has {kept[name]}: "
                "leave it out, or leave out --resume to train from the start."
            )


def check_place(path: Path) -> None:
    """Raise OSError for a path that no checkpoint can be written to, before
    training rather than after it."""
    if path.is_dir():
        raise IsADirectoryError(0, "is a folder, not a file", str(path))
    if processes()[1] == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.touch()
        part.unlink()


def epoch_of(rows: int, batch_size: int) -> int:
    """Count the steps that go through the data once."""
    return math.ceil(math.ceil(rows / processes()[0]) / batch_size)


def planned(args: argparse.Namespace, rows: int, old: Trainer | None) -> dict:
    """Give the fields of a recipe that the options say; to go on with an old
    training, only those that were typed."""
    options = args.given if old else vars(args)
    fields = {name: options[name] for name in RECIPE if name in options}
    typed = "steps" in args.given or "epochs" in args.given
    counts = args.given if typed else options
    steps, epochs = counts.get("steps"), counts.get("epochs")
    if epochs:
        size = fields.get("batch_size") or old.recipe.batch_size
        epoch = epoch_of(rows, size)
        return fields | {"steps": epochs * epoch, "every": epoch}
    if steps:
        every = old.recipe.every if old else max(steps // 10, 1)
        return fields | {"steps": steps, "every": every}
    return fields


def fit(
    trainer: Trainer,
    data: Dataset,
    valid: Dataset,
    args: argparse.Namespace,
) -> None:
    """Train to the end of the recipe; save the checkpoint and the curve.

    At each note a line is printed. Ctrl-C saves, and says where.
    """
    path = Path(args.save_path)
    if not trainer.steps_left():
        say(f"{path} is trained: more --steps or --patience would go on.")
    unit, size = unit_of(trainer.recipe, len(data))
    reporting(trainer, unit, size)
    try:
        train(trainer, data, valid, path, show=sys.stderr.isatty())
    except KeyboardInterrupt:
        raise KeyboardInterrupt(stopped(trainer, path)) from None
    if processes()[1] == 0:
        say(f"Model saved to {path}")
        curve = path.with_name("loss_curve.png")
        save_curve(trainer, unit, size, curve)
        say(f"Loss curve saved to {curve}")


def unit_of(recipe: Recipe, rows: int) -> tuple[str, int]:
    """Choose what to count in, epochs or steps, and its steps."""
    epoch = epoch_of(rows, recipe.batch_size)
    if recipe.every == epoch and recipe.steps % epoch == 0:
        return "Epoch", epoch
    return "Step", 1


def reporting(trainer: Trainer, unit: str, size: int) -> None:
    """Let a trainer print a line at each note."""
    note = trainer.note

    def noted(valid: Dataset) -> None:
        note(valid)
        ours, theirs = trainer.train_losses[-1], trainer.val_losses[-1]
        say(
            f"{unit} {trainer.step // size}/{trainer.recipe.steps // size}: "
            f"train_loss={ours:.4f}, val_loss={theirs:.4f}, "
            f"perplexity={perplexity(theirs):.2f}"
        )

    trainer.note = noted


def stopped(trainer: Trainer, path: Path) -> str:
    """Say where a training is that Ctrl-C has stopped."""
    step = f"stopped at step {trainer.step} of {trainer.recipe.steps}"
    if not path.exists():
        return f"{step}; nothing was saved."
    kept = load_checkpoint(path).training["step"]
    typed = [word for word in sys.argv[1:] if word != "--resume"]
    again = shlex.join([*typed, "--resume"])
    return f"{step}; {path} keeps step {kept}. Go on: {PROGRAM} {again}"
