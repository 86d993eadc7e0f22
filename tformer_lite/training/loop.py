"""The training loop: one for every model and every kind of data."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from tformer_lite.training.batches import Data, batches, processes
from tformer_lite.training.checkpoints import load_checkpoint, pack
from tformer_lite.training.files import check_place, damage_told
from tformer_lite.training.keeper import File, Keeper
from tformer_lite.training.origin import Origin
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.stopping import interruption
from tformer_lite.training.trainer import Trainer, remember


def resume(path: str | Path, **changes: Any) -> Trainer:
    """Take a training up again where a checkpoint left it.

    Its `origin` says what data it learned from, if the file does. `changes`
    are fields of the recipe that shall differ, such as `steps`; a schedule
    of your own must be given again. On a CPU the result is the same to the
    last bit as without the break. Raises ValueError for a file of a model
    that was saved without its training.
    """
    kept = load_checkpoint(path)
    training = kept.training
    if not training:
        raise ValueError(f"{path} has a model, but no training to go on with.")
    recipe = Recipe(**training["recipe"] | changes)
    model = deepcopy(kept.model)
    with damage_told(path):
        model.load_state_dict(training["model_state_dict"])
        for name in training.get("frozen", ()):  # older files do not say
            model.get_parameter(name).requires_grad_(False)
        trainer = Trainer(model, recipe, kept.tokenizers, kept.block_size)
        remember(trainer.optimizer, training["optimizer_state_dict"]["state"])
    trainer.best = kept.model if recipe.patience else model
    drawn = [training["rng_state"], *training.get("rng_states_of_others", ())]
    trainer.random = dict(enumerate(drawn)).get(processes()[1])
    trainer.step, trainer.recent = training["step"], training["recent"]
    trainer.seconds = training.get("seconds", 0.0)
    data = training.get("data")  # older files do not say
    trainer.origin = Origin(**data) if data else None
    trainer.word_triples = kept.word_triples
    trainer.train_losses = kept.train_losses
    trainer.val_losses = kept.val_losses
    trainer.noted = training.get("noted") or noted_by(trainer)
    return trainer


def noted_by(trainer: Trainer) -> list[tuple[int, float]]:
    """List the notes of an older file, which has no seconds."""
    every, notes = trainer.recipe.every, len(trainer.train_losses)
    steps = (min((i + 1) * every, trainer.step) for i in range(notes))
    return [(step, 0.0) for step in steps]


def train(
    trainer: Trainer,
    data: Data,
    valid: Data | None = None,
    path: str | Path | None = None,
    show: bool = False,
    at_note: Callable[[Trainer], object] | None = None,
    at_step: Callable[[Trainer], object] | None = None,
) -> None:
    """Train to the end of the recipe, from the step that the trainer is at.

    `data` gives batches as `Pairs` and `Windows` do. Each note looks at the
    same rows of `valid`, evenly spread: an eighth as many as were learned
    from since the last note, at least 256, at most all. A checkpoint is
    written to `path` at each note, each minute, and at Ctrl-C or SIGTERM,
    which also end a validation: `resume` repeats it. `at_note` is called
    with the trainer at each note, before the file has it, and `at_step`
    after each step. `show` draws a progress bar. With patience the best
    weights stay in the end, here and in the file. Order and dropout come
    from the recipe's seed alone. Of several processes (torchrun) each
    learns from its share of the data, and the first one writes and shows.

    Raises ValueError for patience without validation data, and for a model
    that no file can keep; FloatingPointError for a loss or a gradient that
    is infinite or no number, and then the last file stays. SIGTERM ends in
    SystemExit with 143.

    >>> trainer = Trainer(torch.nn.Embedding(4, 4), Recipe(steps=2))
    >>> train(trainer, Windows(torch.arange(40) % 4, size=8))
    >>> trainer.step
    2
    """
    check(trainer, valid, path)
    several, first = processes()[0] > 1, processes()[1] == 0
    model = trainer.model.train()
    learner = DistributedDataParallel(model) if several else model
    if trainer.recipe.patience and trainer.best is model:
        trainer.best = deepcopy(model)  # nothing was better so far
    with reproducible(trainer), interruption() as stop:
        keeper = Keeper(trainer, data.ignore, valid, File(path), stop)
        keeper.note(at_note)  # what a stop may have cut short
        order = batches(data, trainer.recipe, trainer.step)
        ahead = takewhile(keeper.goes_on, order)
        for batch in with_bar(ahead, trainer, show and first):
            trainer.learn(learner, batch, data.ignore)
            keeper.note(at_note)
            if at_step:
                at_step(trainer)
    model.load_state_dict(trainer.best.state_dict())


def check(
    trainer: Trainer, valid: Data | None, path: str | Path | None
) -> None:
    """Raise ValueError for what would come to nothing, before it starts."""
    if trainer.recipe.patience and valid is None:
        raise ValueError(
            f"patience={trainer.recipe.patience} waits for a lower validation "
            "loss: give validation data, or no patience."
        )
    if path:
        pack(trainer.checkpoint())
    if path and processes()[1] == 0:
        check_place(path)


@contextmanager
def reproducible(trainer: Trainer) -> Iterator[None]:
    """Draw dropout from the recipe's seed, or go on where it was left; leave
    the reader's random numbers alone, and the model in evaluation."""
    # The model may have moved to another device since.
    trainer.optimizer.load_state_dict(trainer.optimizer.state_dict())
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(trainer.recipe.seed + processes()[1])
        if trainer.random is not None:
            torch.set_rng_state(trainer.random)
        try:
            yield
        finally:
            trainer.model.eval()


def with_bar(
    ahead: Iterable[tuple], trainer: Trainer, show: bool
) -> Iterator[tuple]:
    """Hand batches on, with a bar of tokens and the loss of each."""
    from tqdm import tqdm  # whoever asks for --help needs torch alone

    done, steps, most = trainer.step, trainer.recipe.steps, 0
    options = {"unit": " tokens", "disable": not show}
    with tqdm(total=steps, initial=done, **options) as bar:
        for inputs, labels in ahead:
            most = max(most, labels.numel() * processes()[0])
            bar.unit_scale = most  # not that of a short last batch
            yield inputs, labels
            bar.set_postfix_str(f"loss {trainer.loss:.3f}", refresh=False)
            bar.update()
