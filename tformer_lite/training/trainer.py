"""A model in training: what a step does, and how far it has come."""

import math
from copy import deepcopy
from typing import Any

from torch import nn
from torch.optim import AdamW

from tformer_lite.training.batches import Data, loss_of, mean_loss
from tformer_lite.training.checkpoints import Checkpoint, Tokenizer
from tformer_lite.training.recipe import Recipe


class Progress:
    """How far a training has come: its step, and its losses in nats.

    `train_losses` has the mean over each `recipe.every` steps, `val_losses`
    the loss of the validation data after them.
    """

    loss: float

    def __init__(self, recipe: Recipe):
        self.recipe, self.step = recipe, 0
        self.recent: list[float] = []  # the losses since the last note
        self.train_losses: list[float] = []
        self.val_losses: list[float] = []

    def due(self) -> bool:
        """Tell whether the losses are to be noted."""
        return self.step % self.recipe.every == 0 or not self.steps_left()

    def notes_since_best(self) -> int:
        """Count the notes since the lowest validation loss."""
        losses = self.val_losses or [0.0]
        return len(losses) - 1 - losses.index(min(losses))

    def steps_left(self) -> int:
        """Count the steps to go: none once patience is at its end."""
        patience = self.recipe.patience
        if patience and self.notes_since_best() >= patience:
            return 0
        return max(self.recipe.steps - self.step, 0)

    def check_finite(self, name: str, step: int, value: float) -> None:
        """Raise FloatingPointError for what is infinite, or no number."""
        if not math.isfinite(value):
            rate = self.recipe.rate(step)
            raise FloatingPointError(
                f"the {name} of step {step} is {value}, at a learning rate of "
                f"{rate:.3g}: choose a lower one, or a longer warmup."
            )


class Trainer(Progress):
    """A model in training: its optimizer, its step, and its losses.

    `best` is the model as it was at the lowest validation loss; until one is
    noted it is `model` itself. `tokenizers` go into checkpoints, and so does
    `block_size`, the positions in use. `optimizer` may be replaced.
    """

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
        settings: dict[str, Any] = {"betas": recipe.betas, "fused": True}
        settings["weight_decay"] = recipe.weight_decay
        self.optimizer = AdamW(model.parameters(), **settings)

    def learn(self, batch: tuple, ignore: int) -> None:
        """Go one step downhill.

        Raises FloatingPointError, and changes no weight, where the loss or
        the norm of all gradients is infinite or no number.
        """
        recipe, step = self.recipe, self.step + 1
        options = {"ignore_index": ignore, "label_smoothing": recipe.smoothing}
        loss = loss_of(self.model, *batch, **options)
        self.optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), recipe.clip)
        self.check_finite("loss", step, loss.item())
        self.check_finite("norm of the gradients", step, norm.item())
        for group in self.optimizer.param_groups:
            group["lr"] = recipe.rate(step)
        self.optimizer.step()
        self.step, self.loss = step, loss.item()
        self.recent.append(self.loss)

    def note(self, valid: Data | None) -> None:
        """Note the losses, and the model where none was better."""
        if valid is not None:
            loss = mean_loss(self.model, valid)
            self.check_finite("validation loss", self.step, loss)
            self.val_losses.append(loss)
            if self.notes_since_best() == 0:
                self.best = deepcopy(self.model)
        self.train_losses.append(sum(self.recent) / len(self.recent))
        self.recent = []

    def checkpoint(self, model: nn.Module) -> Checkpoint:
        """Gather what a file keeps of the best model, or of the newest."""
        parts = model, self.tokenizers, self.block_size
        return Checkpoint(*parts, [*self.train_losses], [*self.val_losses])
