"""The training loop: one for every model and every kind of data."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from tqdm import tqdm

from tformer_lite.training.batches import Data, Sample, batches
from tformer_lite.training.checkpoints import newest_path, save_checkpoint
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer


def train(
    trainer: Trainer,
    data: Data,
    valid: Data | None = None,
    save: str | Path | None = None,
    show: bool = False,
    at_note: Callable[[Trainer], object] | None = None,
) -> None:
    """Train to the end of the recipe.

    `data` gives batches as `Pairs` and `Windows` do. Each note looks at the
    same rows of `valid`, evenly spread: an eighth as many as were learned
    from since the last note, at least 256, at most all. With patience the
    best weights stay in the end. Order and dropout come from the recipe's
    seed alone.

    `save` is the checkpoint of the best weights, by their loss on `valid`;
    beside it, as `newest_path` names it, is that of the newest. Both are
    written before the first step, at each note, and at Ctrl-C. `at_note` is
    called with the trainer at each note; `show` draws a progress bar.

    Raises ValueError for patience without validation data, and for a model
    that no file can keep; FloatingPointError for a loss or a gradient that
    is infinite or no number.

    >>> trainer = Trainer(torch.nn.Embedding(4, 4), Recipe(steps=2))
    >>> train(trainer, Windows(torch.arange(40) % 4, size=8))
    >>> trainer.step
    2
    """
    recipe = trainer.recipe
    if recipe.patience and valid is None:
        raise ValueError(
            f"patience={recipe.patience} waits for a lower validation loss: "
            "give validation data, or no patience."
        )
    most = rows_to_validate(recipe)
    sample = None if valid is None else Sample(valid, most)
    bar = tqdm(total=recipe.steps, disable=not show)
    with reproducible(trainer), bar:
        try:
            keep(trainer, save)  # a path that cannot be is told at once
            for _ in notes(trainer, data, sample, bar):
                keep(trainer, save)
                if at_note:
                    at_note(trainer)
        except KeyboardInterrupt:
            keep(trainer, save)
            raise
    if recipe.patience:
        trainer.model.load_state_dict(trainer.best.state_dict())


def notes(
    trainer: Trainer, data: Data, valid: Data | None, bar: tqdm
) -> Iterator[None]:
    """Take step after step, and stop at each note."""
    order = batches(data, trainer.recipe)
    while trainer.steps_left():
        trainer.learn(next(order), data.ignore)
        bar.set_postfix_str(f"loss {trainer.loss:.3f}", refresh=False)
        bar.update()
        if trainer.due():
            trainer.note(valid)
            yield


def rows_to_validate(recipe: Recipe) -> int:
    """Say how many rows a note's validation may look at: an eighth of those
    learned from since the last note, or 256, which are soon done."""
    return max(recipe.every * recipe.batch_size // 8, 256)


@contextmanager
def reproducible(trainer: Trainer) -> Iterator[None]:
    """Draw dropout from the recipe's seed, leave the reader's random numbers
    alone, and the model in evaluation."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(trainer.recipe.seed)
        trainer.model.train()
        try:
            yield
        finally:
            trainer.model.eval()


def keep(trainer: Trainer, path: str | Path | None) -> None:
    """Write the checkpoint of the best weights, and that of the newest."""
    if path is not None:
        save_checkpoint(trainer.checkpoint(trainer.best), path)
        newest = trainer.checkpoint(trainer.model)
        save_checkpoint(newest, newest_path(path))
