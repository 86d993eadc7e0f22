"""Sources: that each position of a target hears all of them."""

from shapewatch.properties.finding import UNUSUAL, Verdict, check
from shapewatch.properties.hearing import first, like_padding
from shapewatch.properties.mixing import crossing
from shapewatch.properties.subject import NotJudgedError, Subject
from shapewatch.properties.variants import whatever_weights


@check
@whatever_weights
def source_coverage(subject: Subject) -> Verdict:
    """See whether each target position gives a weight to each real source
    position, in some head of each cross-attention."""
    crossed = crossing(subject) if subject.last == 1 else []
    sizes = tuple(x.shape[1] for x in reversed(subject.inputs))
    found = [one for one in crossed if one.weights.shape[-2:] == sizes]
    if not found:
        raise NotJudgedError("No target asks a source in any attention.")
    real, asks = subject.real
    for one in found:
        weights = one.weights.reshape(len(real), -1, *sizes).amax(1)
        missed = (weights == 0) & real[:, None] & asks[:, :, None]
        if missed.any():
            b, t, s = first(missed)
            if hint := like_padding(subject.inputs[0], missed.any(1)):
                says = f"Row {b}: in {one.path}, source position {s} {hint}"
                return False, says, weights[b], UNUSUAL
            says = (
                f"Row {b}: in {one.path}, target position {t} gives no "
                f"weight to source position {s}. Look at the memory's mask: "
                "it hides padding, and nothing else."
            )
            return False, says, weights[b]
    return True, "Each target position hears the whole source.", weights[0]
