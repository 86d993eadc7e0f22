"""A model in training: what a step does, and how far it has come."""

import math
from copy import deepcopy
from dataclasses import asdict
from itertools import chain
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from tformer_lite.training.batches import Data, loss_of, mean_loss
from tformer_lite.training.checkpoints import Checkpoint, Model, Tokenizer
from tformer_lite.training.origin import Origin
from tformer_lite.training.recipe import Recipe


class Progress:
    """How far a training has come: its step, and its losses in nats.

    `train_losses` has the mean over each `recipe.every` steps, `val_losses`
    the loss of the validation data after them; `noted` has the step of each
    such note, and the seconds that had been trained by then.
    """

    loss: float
    random: Tensor | None = None  # the state of dropout's numbers
    others: tuple[Tensor | None, ...] = ()  # and of the other processes'
    seconds = 0.0

    def __init__(self, recipe: Recipe):
        self.recipe, self.step = recipe, 0
        self.recent: list[float] = []
        self.train_losses: list[float] = []
        self.val_losses: list[float] = []
        self.noted: list[tuple[int, float]] = []

    def advance(self, loss: float) -> None:
        """Count a step, its loss, and the random numbers it has drawn."""
        self.step, self.loss = self.step + 1, loss
        self.recent.append(loss)
        self.random = torch.get_rng_state()

    def due(self) -> bool:
        """Tell whether the losses are to be noted, and have not been."""
        every, steps = self.recipe.every, self.recipe.steps
        here = self.step % every == 0 or self.step == steps
        return here and bool(self.recent)

    def add_note(self, loss: float | None) -> None:
        """Note the losses since the last note, and that of validation."""
        if loss is not None:
            found = {"validation loss": loss}
            check_finite(self, f"after step {self.step}", found)
            self.val_losses.append(loss)
        self.train_losses.append(sum(self.recent) / len(self.recent))
        self.recent = []
        self.noted.append((self.step, self.seconds))

    def notes_since_best(self) -> int:
        """Count the notes since the lowest validation loss."""
        losses = self.val_losses or [0.0]
        return len(losses) - 1 - losses.index(min(losses))

    def steps_left(self) -> int:
        """Count the steps to go: none once patience is at its end."""
        recipe = self.recipe
        if recipe.patience and self.notes_since_best() >= recipe.patience:
            return 0
        return max(recipe.steps - self.step, 0)


def check_finite(
    progress: Progress, when: str, found: dict[str, float]
) -> None:
    """Raise FloatingPointError for what is infinite, or no number."""
    for name, value in found.items():
        if not math.isfinite(value):
            rate = progress.recipe.rate(max(progress.step, 1))
            raise FloatingPointError(
                f"the {name} {when} is {value}, at a learning rate of "
                f"{rate:.3g}: choose a lower one, or a longer warmup."
            )


class Trainer(Progress):
    """A model in training: its optimizer, its step, and its losses.

    `best` is the model as it was at the lowest validation loss; without
    patience in the recipe it is `model` itself. `tokenizers` go into
    checkpoints, and so do `block_size`, the positions in use, and, if they
    are set, `origin`, where the data come from, and the `word_triples` of a
    translator's sources.
    """

    origin: Origin | None = None
    word_triples: Tensor | None = None

    def __init__(
        self,
        model: nn.Module,
        recipe: Recipe,
        tokenizers: tuple[Tokenizer, ...] = (),
        block_size: int | None = None,
    ):
        super().__init__(recipe)
        self.model = self.best = model
        self.tokenizers, self.block_size = tokenizers, block_size
        self.optimizer = AdamW(model.parameters(), fused=True)
        change_recipe(self, recipe)

    def learn(self, model: nn.Module, batch: tuple, ignore: int) -> None:
        """Go one step downhill. `model` is `self.model`, or wraps it.

        Raises FloatingPointError, and changes no weight, where the loss or
        the norm of all gradients is infinite or no number.
        """
        loss = loss_for(self.recipe, model, batch, ignore)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), self.recipe.clip)
        found = {"loss": loss.item(), "norm of the gradients": norm.item()}
        check_finite(self, f"of step {self.step + 1}", found)
        set_rate(self.optimizer, self.recipe.rate(self.step + 1))
        self.optimizer.step()
        self.advance(loss.item())

    def note(self, valid: Data | None) -> None:
        """Note the losses, and the model when none was better."""
        self.add_note(None if valid is None else mean_loss(self.model, valid))
        if self.recipe.patience and self.notes_since_best() == 0:
            self.best = deepcopy(self.model)

    def checkpoint(self) -> Checkpoint:
        """Gather what a file keeps: the best model, and the training."""
        parts = cast(Model, self.best), self.tokenizers, self.block_size
        losses = self.train_losses, self.val_losses
        return Checkpoint(
            *parts, *losses, training_of(self), self.word_triples
        )


def loss_for(
    recipe: Recipe, model: nn.Module, batch: tuple, ignore: int
) -> Tensor:
    """Compare a model's guesses with a batch's labels, as a recipe says."""
    options = {"ignore_index": ignore, "label_smoothing": recipe.smoothing}
    kind = next(model.parameters()).device.type
    with torch.autocast(kind, torch.bfloat16, enabled=recipe.bf16):
        return loss_of(model, *batch, **options)


def set_rate(optimizer: AdamW, rate: float) -> None:
    """Let an optimizer learn at this rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def change_recipe(trainer: Trainer, recipe: Recipe) -> None:
    """Let a trainer follow another recipe, from its next step on."""
    trainer.recipe = recipe
    for group in trainer.optimizer.param_groups:
        group["betas"] = recipe.betas
        group["weight_decay"] = recipe.weight_decay


def training_of(trainer: Trainer) -> dict[str, Any]:
    """List what it takes to go on from the last step as if nothing was."""
    recipe = asdict(trainer.recipe)
    if callable(trainer.recipe.schedule):  # no file keeps code
        recipe["schedule"] = repr(trainer.recipe.schedule)
    weights = trainer.model.named_parameters()
    return {
        "recipe": recipe,
        "frozen": [name for name, x in weights if not x.requires_grad],
        "model_state_dict": trainer.model.state_dict(),
        "optimizer_state_dict": trainer.optimizer.state_dict(),
        "rng_state": trainer.random,
        "rng_states_of_others": [*trainer.others],
        "step": trainer.step,
        "recent": trainer.recent,
        "noted": trainer.noted,
        "seconds": trainer.seconds,
        "data": asdict(trainer.origin) if trainer.origin else None,
    }


def remember(optimizer: AdamW, state: dict[int, dict[str, Tensor]]) -> None:
    """Take over what another optimizer kept of each weight, but not its
    numbers for all of them: those are the recipe's."""
    groups = [group["params"] for group in optimizer.param_groups]
    for i, weight in enumerate(chain(*groups)):
        for name, kept in state.get(i, {}).items():
            if kept.shape != (() if name == "step" else weight.shape):
                raise ValueError(f"{name} has shape {tuple(kept.shape)}")
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})
