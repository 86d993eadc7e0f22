"""A card of a model: its sizes, its parts, its costs and its modules."""

from dataclasses import dataclass

import torch

from model_cards.configs import Plan
from model_cards.costs import Formula, Line, costs, product
from model_cards.parts import part_kinds
from shapewatch.tracing.axes.sizes import LETTERS, Sizes
from shapewatch.tracing.tracer import Trace, trace


@dataclass(frozen=True)
class Card:
    """What was measured of a model.

    `name` is its class, `layers` how many it has, `parts` says which kinds of
    parts. Of `parameters`, of the numbers that are `kept` while it writes,
    and of the `flops` of a run there are formulas, proved at other sizes.
    """

    name: str
    layers: int
    seen: Trace
    parts: dict[str, str]
    parameters: Formula
    kept: Formula
    flops: Formula

    @property
    def run(self) -> Sizes:
        """The sizes of the run that was traced."""
        return self.seen._calls.run.sizes

    @property
    def sizes(self) -> Sizes:
        """The sizes of the model alone, as far as a formula has them."""
        texts = self.parameters.text, self.flops.text, self.kept.text
        used = {*LETTERS.findall(" ".join(texts))} - {"B", "T", "S"}
        return {name: n for name, n in self.run.items() if name in used}

    @property
    def active(self) -> Formula:
        """The parameters at work for a word: of experts, the chosen ones."""
        chosen = {"experts": "top_k"}
        return Formula(
            [
                Line(path, tuple(chosen.get(x, x) for x in axes), times)
                if "experts" in path.split(".")
                else Line(path, axes, times)
                for path, axes, times in self.parameters.lines
            ]
        )

    @property
    def word(self) -> str:
        """The axis of the words, where a model reads one sentence and has
        the same work for each word; else "", and costs are those of a run."""
        both = "S" in self.run and ("T" in self.run or "side" in self.run)
        word = "T" if "T" in self.run else "S"
        axes = [product(line.axes)[0] for line in self.flops.lines]
        return word if all(word in some for some in axes) and not both else ""


def measure(plan: Plan) -> Card:
    """Build a model without weights, run it at several sizes, and say what
    was found. ValueError says in a line why it cannot be built so."""
    name = plan.kind.__name__
    try:
        with torch.no_grad():
            seen = trace(build=plan.build, dims=plan.dims)
            found = costs(seen, plan.build)
    except Exception as error:
        says = " ".join(str(error).split())
        raise ValueError(
            f"{name} cannot be built and run without weights: "
            f"{type(error).__name__}: {says:.300}"
        ) from error
    config = plan.config
    layers = getattr(config, "num_hidden_layers", 0) or config.n_layers
    return Card(name, layers, seen, part_kinds(seen, plan.config), *found)
