"""What is done between two steps: to note, to save, to stop."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from torch import Tensor, distributed

from tformer_lite.model.modes import evaluating
from tformer_lite.training.batches import (
    Data,
    loss_of,
    processes,
    rows_to_validate,
)
from tformer_lite.training.checkpoints import save_checkpoint
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.stopping import (
    Stop,
    Stoppable,
    StoppedError,
    largest_anywhere,
)
from tformer_lite.training.trainer import Trainer, check_finite

SECONDS = 60.0  # between two files at most, unless writing takes long:
TIMES = 20  # so many times what it took is then left between them


class File:
    """Where a training is kept, and when it was last written."""

    def __init__(self, path: str | Path | None):
        self.path, self.due_at = path, monotonic() + SECONDS

    def due(self) -> bool:
        """Tell whether it is time to write it again."""
        return self.path is not None and monotonic() > self.due_at

    def write(self, trainer: Trainer, batch: tuple, ignore: int) -> None:
        """Keep a training, unless its loss on a batch is no number."""
        if self.path is None:
            return
        began = monotonic()
        check_weights(trainer, batch, ignore)
        trainer.others = states_of_others(trainer.random)
        if processes()[1] == 0:
            save_checkpoint(trainer.checkpoint(), self.path)
        now = monotonic()
        self.due_at = now + max(SECONDS, TIMES * (now - began))


class Keeper:
    """Notes the losses of a training, and keeps it in a file.

    Of several processes all come here at the same steps: what one decides
    by its clock or by a signal, all do.
    """

    batch: tuple = ()  # the last one seen

    def __init__(
        self,
        trainer: Trainer,
        ignore: int,
        valid: Data | None,
        file: File,
        stop: Stop,
    ):
        self.trainer, self.ignore = trainer, ignore
        self.valid = sample_of(valid, trainer.recipe, stop)
        self.file, self.stop = file, stop
        self.began = monotonic() - trainer.seconds

    def goes_on(self, batch: tuple) -> bool:
        """Tell whether to learn from a batch; save before it if it is time,
        and if it is not to be learned from because somebody said stop."""
        self.batch = batch
        signal, late = largest_anywhere(self.stop.signal, self.file.due())
        if signal:  # that of another process, it may be
            self.stop.signal = signal
        if signal or late:
            self.file.write(self.trainer, batch, self.ignore)
        return not signal and self.trainer.steps_left() > 0

    def note(self, at_note: Callable[[Trainer], object] | None) -> None:
        """Note the losses and save, if it is time; a stop cuts it short."""
        self.trainer.seconds = monotonic() - self.began
        if self.trainer.due():
            with suppress(StoppedError):
                self.trainer.note(self.valid)
                if at_note:
                    at_note(self.trainer)
                self.file.write(self.trainer, self.batch, self.ignore)


def sample_of(
    valid: Data | None, recipe: Recipe, stop: Stop
) -> Stoppable | None:
    """Choose what a note looks at; none of several processes may leave it
    alone, and so a stop leaves it when there is one."""
    if valid is None:
        return None
    alone = processes()[0] == 1
    return Stoppable(
        valid, rows_to_validate(recipe), stop if alone else Stop()
    )


def check_weights(trainer: Trainer, batch: tuple, ignore: int) -> None:
    """Raise FloatingPointError for weights whose loss is no number."""
    if batch:  # else nothing has been learned
        with evaluating(trainer.model):
            loss = loss_of(trainer.model, *batch, ignore_index=ignore).item()
        check_finite(trainer, f"after step {trainer.step}", {"loss": loss})


def states_of_others(random: Tensor | None) -> tuple[Tensor | None, ...]:
    """Give the states of dropout's numbers in all processes but the first."""
    states: list[Any] = [None] * processes()[0]
    if len(states) > 1:
        distributed.all_gather_object(states, random)
    return tuple(states[1:])
