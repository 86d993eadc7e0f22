"""The report: all checks on one model."""

from collections.abc import Callable

from torch import Tensor

from tformer_lite.properties import attention, hearing, numbers, structure
from tformer_lite.properties.finding import Report
from tformer_lite.properties.subject import Subject

CHECKS = (
    numbers.finite,
    numbers.repeatable,
    numbers.logits,
    numbers.norm_statistics,
    attention.weight_rows,
    attention.score_scale,
    attention.provenance,
    hearing.causality,
    hearing.past,
    hearing.padding_invariance,
    hearing.unknown_words,
    hearing.source_dependence,
    hearing.source_coverage,
    hearing.order_sensitivity,
    hearing.batch_independence,
    structure.live_parameters,
    structure.identity,
)


def report(
    model: Callable,
    *inputs: Tensor,
    pad: int | None = None,
    unknown: int | None = None,
    causal: bool = True,
) -> Report:
    """Run all checks on a model, and show a table of what they saw.

    `model` is any module or function from ids (or vectors) to one row for
    each position: (B, T) -> (B, T, V), or (B, S), (B, T) -> (B, T, V). The
    models of this module bring their own ids; others need `inputs`, with
    different words in each row. `pad` and `unknown` are the ids of [PAD]
    and [UNK]; `causal` says whether the future should be hidden. Nothing is
    raised for a broken model.

    >>> report(running_model())["causality"]
    causality: ✓ holds. No position hears a later one.
    """
    subject = Subject(model, inputs, pad, unknown, causal)
    return Report([check(subject) for check in CHECKS])
