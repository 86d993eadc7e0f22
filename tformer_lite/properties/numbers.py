"""Numbers: finite, repeatable, normalised where a norm has been."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from tformer_lite.properties.finding import Verdict, check
from tformer_lite.properties.reach import calls, undisturbed
from tformer_lite.properties.subject import NotJudgedError, Subject, output

LOUD = 30.0


@check
def finite(subject: Subject) -> Verdict:
    """See whether all outputs are numbers: as the model is, with weights 30
    times as large, and for a sentence of padding alone."""
    for when, result in runs(subject):
        rows = result.isfinite().float().flatten(2).mean(-1)
        if (rows < 1).any():
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
    apart = (one - other).abs().flatten(2).amax(-1)
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
    off = (sums - 1).abs().max()
    if outputs.shape[-1] > 1 and outputs.min() >= 0 and off < 1e-3:
        says = (
            "The outputs are probabilities: each row sums to 1. A loss such "
            "as cross_entropy has a softmax of its own: give it logits."
        )
        return False, says, sums
    return True, "The outputs are no probabilities yet.", sums


@check
def norm_statistics(subject: Subject) -> Verdict:
    """See whether each norm gives each position a mean square of 1, apart
    from its own gains and offsets.

    Ba et al. (2016), equation 4. Norms are known by the name of their class.
    """
    seen = []
    for path, part, _, gave in calls(subject):
        if not is_norm(part) or not gave or gave[0].ndim < 3:
            continue
        x = without_gains(part, gave[0])
        seen.append(squares := x.square().mean(-1))
        least = 0.9 * (1 - 1 / x.shape[-1])  # an unbiased norm's is below 1
        wrong = ~((squares > least) & (squares < 1.1))
        if wrong.any():
            b, t, *_ = wrong.nonzero()[0].tolist()
            says = (
                f"After {path}, position {t} of row {b} has a mean square of "
                f"{squares[b, t].item():.2f}, not 1. Look at the axis of its "
                "mean and variance, and at the square root."
            )
            return False, says, squares
    if not seen:
        raise NotJudgedError("No module's class has the name of a norm.")
    says = "After each norm, each position has a mean square of 1."
    return True, says, seen[0]


def is_norm(part: nn.Module) -> bool:
    """Whether a module is a norm, and does not only hold one."""
    inner = [type(p).__name__.lower() for p in part.modules()]
    return "norm" in inner[0] and not any("norm" in x for x in inner[1:])


def without_gains(norm: nn.Module, x: Tensor) -> Tensor:
    """Take a norm's offsets and gains out of what it gave."""
    for name, undo in (("bias", torch.sub), ("weight", torch.div)):
        own = getattr(norm, name, None)
        if isinstance(own, Tensor) and own.shape == x.shape[-1:]:
            x = undo(x, own.detach())
    return x
