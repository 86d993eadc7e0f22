"""The losses of a training, drawn."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tformer_lite.drawing.palette import EDGE, LINES
from tformer_lite.drawing.picture import STYLE
from tformer_lite.training.trainer import Trainer

NAMES = "Training", "Validation"


def save_curve(trainer: Trainer, unit: str, size: int, path: Path) -> None:
    """Draw both losses of a training, and save them as a PNG.

    A `unit`, such as an epoch, has `size` steps.
    """
    losses = trainer.train_losses, trainer.val_losses
    every, end = trainer.recipe.every, trainer.step
    count = len(trainer.train_losses)
    places = [min(every * i, end) / size for i in range(1, count + 1)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.add_subplot(xlabel=unit, ylabel="Loss (nats a token)")
        axes.set_title("Training and validation loss")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(color=EDGE[0], linewidth=0.7)
        for row, name, ((colour, _), dash, marker) in zip(
            losses, NAMES, LINES
        ):
            look = {"color": colour, "linestyle": dash, "marker": marker}
            axes.plot(places, row, label=name, markersize=4, **look)
        axes.legend()
        figure.savefig(path, dpi=150)
