"""The beginning: what a model that has learned nothing should give."""

import math

from torch import Tensor
from torch.nn.functional import cross_entropy

from shapewatch.properties.distances import judged_by_position
from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.reach import undisturbed
from shapewatch.properties.subject import NotJudgedError, Subject

MOST = 1.5  # times the loss of a guess


@check
def first_loss(subject: Subject) -> Verdict:
    """See whether the loss of the next words is about ln V, or less: so much
    has a guess among V words.

    A new model that is worse is sure of what it cannot know.
    """
    losses, size = losses_of(subject)
    loss = losses.sum().item() / max(losses.count_nonzero().item(), 1)
    guess = math.log(size)
    says = f"The loss of the next words is {loss:.2f}; a guess among {size} "
    says += f"words has ln {size} = {guess:.2f}."
    if not loss > MOST * guess:
        return True, says, losses
    says += (
        " If the model is new, its first weights are too large: look at the "
        "standard deviation of embeddings and of the head. If it is trained, "
        "these are not the words that it knows."
    )
    return False, says, losses, UNUSUAL


def losses_of(subject: Subject) -> tuple[Tensor, int]:
    """Give the loss of each next word, 0 where there is none, (B, T - 1), and
    the number of words to choose from."""
    judged_by_position(subject)
    outputs, ids = undisturbed(subject), subject.inputs[-1]
    size, real = outputs.shape[-1], subject.real[-1]
    words = not ids.is_floating_point() and outputs.ndim == 3
    if not words or not subject.causal or ids.max() >= size:
        raise NotJudgedError("The outputs are no logits of next words.")
    both = real[:, 1:] & real[:, :-1]
    if not both.any():
        raise NotJudgedError("There is no next word.")
    losses = outputs.new_zeros(both.shape)
    losses[both] = cross_entropy(
        outputs[:, :-1][both], ids[:, 1:][both], reduction="none"
    )
    return losses, size
