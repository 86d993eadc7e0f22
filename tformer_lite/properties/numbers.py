"""Numbers: finite, repeatable, and logits at the end."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.reach import undisturbed
from tformer_lite.properties.subject import Subject, output

LOUD = 30.0


@check
def finite(subject: Subject) -> Verdict:
    """See whether all outputs are numbers: as the model is, with weights 30
    times as large, and for a sentence of padding alone."""
    for when, result in runs(subject):
        rows = flat_rows(result.isfinite().float()).mean(-1)
        real = judged(subject, result)
        if (rows < 1)[real].any():
            share = 1 - result.isfinite().double().mean().item()
            says = (
                f"{share:.0%} of the outputs are NaN or infinite {when}. "
                "Look at the softmax (does it take the largest score away "
                "first?), and for rows with nobody to hear."
            )
            return False, says, rows
    says = "All outputs are numbers, also with weights 30 times larger."
    return True, says, rows


def runs(subject: Subject) -> Iterator[tuple[str, Tensor]]:
    """Run as it is, loudly, and with a sentence of padding alone."""
    model, inputs = subject.model, subject.inputs
    yield "as it is", subject.run()
    if isinstance(model, nn.Module):
        values = model.named_parameters()
        loud = {n: x * LOUD if x.ndim > 1 else x for n, x in values}
        loudly = partial(functional_call, model, loud)
        result = subject.call(loudly, (subject.given,))
        yield "with weights 30 times larger", output(result, inputs[-1])
    padding = ~subject.real[0]
    if subject.last == 1 and padding.any():
        source = inputs[0].clone()
        source[0] = source[padding][0]
        yield "for a source of padding alone", subject.run(source, inputs[1])


@check
def repeatable(subject: Subject) -> Verdict:
    """See whether two runs in evaluation agree, whatever random numbers
    they are offered."""
    one, other = (subject.run(seed=n).nan_to_num() for n in range(2))
    apart = flat_rows((one - other).abs()).amax(-1)
    if not apart.any():
        return True, "Two runs in evaluation give the same numbers.", apart
    says = (
        "Two runs in evaluation differ. Look for dropout that does not ask "
        "whether the model is in training, and for weights drawn anew."
    )
    return False, says, apart


@check
def logits(subject: Subject) -> Verdict:
    """See whether the outputs are logits: the loss has the softmax."""
    outputs = undisturbed(subject)
    sums = outputs.flatten(2).sum(-1)
    outputs = outputs[subject.real[-1]]
    off = (sums - 1)[subject.real[-1]].abs().max()
    if outputs.shape[-1] > 1 and outputs.min() >= 0 and off < 1e-3:
        says = (
            "The outputs are probabilities: each row sums to 1. A loss such "
            "as cross_entropy has a softmax of its own: give it logits."
        )
        return False, says, sums
    return True, "The outputs are no probabilities yet.", sums


def flat_rows(x: Tensor) -> Tensor:
    """Put all numbers of a row into one axis: (B, T, ...) -> (B, T, N)."""
    return x[(..., *[None] * (3 - x.ndim))].flatten(2)


def judged(subject: Subject, x: Tensor) -> Tensor:
    """Tell which rows are judged: (B, T). Nobody reads what comes out at
    padding."""
    real, shape = subject.real[-1], (*x.shape, 1, 1)[:2]
    return real if real.shape == shape else torch.ones(shape) > 0
