"""What is done between two steps: to note, to save, to stop."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from torch import Tensor, distributed

from tformer_lite.training.batches import Data, processes, rows_to_validate
from tformer_lite.training.checkpoints import save_checkpoint
from tformer_lite.training.stopping import (
    Stop,
    Stoppable,
    StoppedError,
    agreed,
)
from tformer_lite.training.trainer import Trainer

SECONDS = 60.0  # between two files at most, unless writing takes long:
TIMES = 20  # so many times what it took is then left between them


class Keeper:
    """Notes the losses of a training, and keeps it in a file.

    Of several processes all come here at the same steps: what one decides
    by its clock or by a signal, all do.
    """

    def __init__(
        self,
        trainer: Trainer,
        data: Data,
        valid: Data | None,
        path: str | Path | None,
        stop: Stop,
    ):
        self.trainer, self.path, self.stop = trainer, path, stop
        most = rows_to_validate(trainer.recipe)
        # None of several processes may leave a validation alone.
        own = stop if processes()[0] == 1 else Stop()
        self.valid = None if valid is None else Stoppable(valid, most, own)
        self.began = monotonic() - trainer.seconds
        self.saves_at = monotonic() + SECONDS
        self.batch: tuple = ()
        self.ignore = data.ignore

    def goes_on(self, batch: tuple) -> bool:
        """Tell whether to learn from a batch; save before it if it is time,
        and if it is not to be learned from because somebody said stop."""
        self.batch = batch
        late = monotonic() > self.saves_at
        signal, late_anywhere = agreed(self.stop.signal, late)
        if signal:  # that of another process, it may be
            self.stop.signal = signal
        if signal or late_anywhere:
            self.save()
        return not signal and self.trainer.steps_left() > 0

    def note(self, at_note: Callable[[Trainer], object] | None) -> None:
        """Note the losses and save, if it is time; a stop cuts it short."""
        self.trainer.seconds = monotonic() - self.began
        if self.trainer.due():
            with suppress(StoppedError):
                self.trainer.note(self.valid)
                if at_note:
                    at_note(self.trainer)
                self.save()

    def save(self) -> None:
        """Write the file, unless the loss is no number any more."""
        if not self.path:
            return
        began = monotonic()
        if self.batch:
            self.trainer.check_loss(self.batch, self.ignore)
        self.trainer.others = gathered(self.trainer.random)
        if processes()[1] == 0:
            save_checkpoint(self.trainer.checkpoint(), self.path)
        now = monotonic()
        self.saves_at = now + max(SECONDS, TIMES * (now - began))


def gathered(random: Tensor | None) -> tuple[Tensor | None, ...]:
    """Give the states of dropout's numbers in all processes but the first."""
    states: list[Any] = [None] * processes()[0]
    if len(states) > 1:
        distributed.all_gather_object(states, random)
    return tuple(states[1:])
