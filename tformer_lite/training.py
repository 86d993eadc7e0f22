"""The training loop: one for every model and every kind of data."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset
from tqdm import tqdm

from tformer_lite.batches import batches, loss_of, mean_loss, processes
from tformer_lite.checkpoints import (
    Checkpoint,
    Tokenizer,
    load_checkpoint,
    save_checkpoint,
)
from tformer_lite.recipe import Recipe


class Trainer:
    """A model in training: its optimizer, its step, and its losses.

    `train_losses` has the mean over each `recipe.every` steps, `val_losses`
    the loss of the validation data after them, in nats. `tokenizers` go
    into checkpoints, and so does `block_size`, the positions in use.
    """

    def __init__(
        self,
        model: nn.Module,
        recipe: Recipe,
        tokenizers: tuple[Tokenizer, ...] = (),
        block_size: int | None = None,
    ):
        self.model, self.recipe = model, recipe
        self.tokenizers, self.block_size = tokenizers, block_size
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        self.step, self.random, self.best = 0, None, None
        self.recent, self.train_losses, self.val_losses = [], [], []

    def learn(self, model: nn.Module, batch: tuple, ignore: int) -> None:
        """Go one step downhill. `model` is `self.model`, or wraps it."""
        recipe = self.recipe
        options = {"ignore_index": ignore, "label_smoothing": recipe.smoothing}
        loss = loss_of(model, *batch, **options)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.rate(self.step + 1)
        self.optimizer.step()
        self.step, self.loss = self.step + 1, loss.item()
        self.recent.append(self.loss)

    def due(self) -> bool:
        """Tell whether this step is one to note the losses at."""
        recipe = self.recipe
        return self.step % recipe.every == 0 or self.step == recipe.steps

    def note(self, valid: Dataset | None) -> None:
        """Note the losses, and the weights when none were better."""
        self.train_losses.append(sum(self.recent) / len(self.recent))
        self.recent = []
        if valid is not None:
            self.val_losses.append(mean_loss(self.model, valid))
        if self.recipe.patience and self.waited() == 0:
            weights = self.model.state_dict().items()
            self.best = {name: value.clone() for name, value in weights}

    def waited(self) -> int:
        """Count the notes since the lowest validation loss."""
        losses = self.val_losses or [0.0]
        return len(losses) - 1 - losses.index(min(losses))

    def checkpoint(self) -> Checkpoint:
        """Gather what a file keeps: enough to go on as if nothing was."""
        training = {
            "recipe": asdict(self.recipe),
            "optimizer_state_dict": self.optimizer.state_dict(),
            "rng_state": torch.get_rng_state(),
            "step": self.step,
            "recent": self.recent,
            "best": self.best,
        }
        told = self.tokenizers, self.block_size
        losses = self.train_losses, self.val_losses
        return Checkpoint(self.model, *told, *losses, training)


def resume(path: str | Path, **changes) -> Trainer:
    """Take a training up again where a checkpoint left it.

    `changes` are fields of the recipe that shall differ, such as `steps`.
    On a CPU the result is the same to the last bit as without the break.
    """
    kept = load_checkpoint(path)
    training = kept.training
    recipe = replace(Recipe(**training["recipe"]), **changes)
    trainer = Trainer(kept.model, recipe, kept.tokenizers, kept.block_size)
    trainer.optimizer.load_state_dict(training["optimizer_state_dict"])
    trainer.random, trainer.step = training["rng_state"], training["step"]
    trainer.recent, trainer.best = training["recent"], training["best"]
    trainer.train_losses = kept.train_losses
    trainer.val_losses = kept.val_losses
    return trainer


def train(
    trainer: Trainer,
    data: Dataset,
    valid: Dataset | None = None,
    path: str | Path | None = None,
    show: bool = False,
) -> None:
    """Train to the end of the recipe, from the step that the trainer is at.

    `data` gives batches as `Pairs` and `Windows` do. At each note, and at
    Ctrl-C, a checkpoint is written to `path`; `show` draws a progress bar.
    With patience the best weights stay in the end. Order and dropout come
    from the recipe's seed alone. Of several processes (torchrun) each
    learns from its share of the data, and the first one writes and shows.
    """
    recipe, model = trainer.recipe, trainer.model.train()
    several, first = processes()[0] > 1, processes()[1] == 0
    learner = DistributedDataParallel(model) if several else model
    left = max(recipe.steps - trainer.step, 0)
    ahead = islice(batches(data, recipe, trainer.step), left)
    path = path if first else None
    with seeded(trainer), Interruption() as stop:
        for batch in watched(ahead, trainer, show and first):
            trainer.learn(learner, batch, data.ignore)
            if trainer.due():
                trainer.note(valid)
            if path and (trainer.due() or stop.asked):
                save_checkpoint(trainer.checkpoint(), path)
            if stop.asked:
                raise KeyboardInterrupt
            if recipe.patience and trainer.waited() >= recipe.patience:
                break
    model.load_state_dict(trainer.best or model.state_dict())
    model.eval()


@contextmanager
def seeded(trainer: Trainer) -> Iterator[None]:
    """Draw dropout from the recipe's seed, or go on where it was left; and
    leave the reader's random numbers alone."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(trainer.recipe.seed + processes()[1])
        if trainer.random is not None:
            torch.set_rng_state(trainer.random)
        yield
        trainer.random = torch.get_rng_state()


def watched(
    ahead: Iterator[tuple], trainer: Trainer, show: bool
) -> Iterator[tuple]:
    """Hand batches on, with a bar of tokens and the loss of each."""
    done, steps = trainer.step, trainer.recipe.steps
    options = {"unit": " tokens", "disable": not show}
    with tqdm(total=steps, initial=done, **options) as bar:
        for inputs, labels in ahead:
            bar.unit_scale = labels.numel() * processes()[0]
            yield inputs, labels
            bar.set_postfix_str(f"loss {trainer.loss:.3f}", refresh=False)
            bar.update()


class Interruption:
    """A wish to stop (Ctrl-C) that waits until a step is done.

    The second one does not wait.
    """

    asked = False

    def __enter__(self) -> "Interruption":
        self.main = threading.current_thread() is threading.main_thread()
        if self.main:
            self.old = signal.signal(signal.SIGINT, self.ask)
        return self

    def ask(self, *_) -> None:
        """Note the wish."""
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *_) -> None:
        if self.main:
            signal.signal(signal.SIGINT, self.old)
