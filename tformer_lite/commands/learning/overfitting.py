"""Overfitting, as losses show it: is it there, and what helps."""

from statistics import median

from tformer_lite.training.trainer import Trainer

SINCE = 3  # notes after the lowest loss, at least
LAST = 2  # notes that must both show it
RISE = 0.1  # of the lowest loss, or nats: well above it
FALL = 0.02  # of the training loss
NOISE = 3  # times the usual jump out of the line
RECENT = 12  # notes that tell what is usual


def by_heart(trainer: Trainer) -> str:
    """Say that a model learns by heart, with its losses; "" if it does not.

    The validation loss has risen above its lowest, by more than it goes up
    and down, while the training loss fell on: in the last notes.
    """
    ours, theirs = trainer.train_losses, trainer.val_losses
    best = min(range(len(theirs)), key=theirs.__getitem__, default=0)
    if len(theirs) - 1 - best < SINCE:
        return ""
    low, learned = theirs[best], ours[best]
    near = median(theirs[max(best - 1, 0) : best + 2])  # the lowest by chance
    high = near + max(RISE, RISE * low) + NOISE * jump(theirs[-RECENT:])
    fallen = learned * (1 - FALL)
    if min(theirs[-LAST:]) < high or max(ours[-LAST:]) > fallen:
        return ""
    helps = "more data, a smaller model or more --dropout help"
    if not trainer.recipe.patience:
        helps = f"--patience 3 stops in time; {helps}"
    return (
        f"The lowest val_loss was {low:.2f} at step {trainer.noted[best][0]}, "
        f"now it is {theirs[-1]:.2f}, while train_loss fell from "
        f"{learned:.2f} to {ours[-1]:.2f}: the model learns its data by "
        f"heart. {helps[0].upper()}{helps[1:]}."
    )


def jump(losses: list[float]) -> float:
    """Say how far a loss usually lies from the line of its neighbours."""
    three = zip(losses, losses[1:], losses[2:])
    return median(abs(a - 2 * b + c) for a, b, c in three)
