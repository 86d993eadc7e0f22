"""The report: all checks on one model."""

from collections.abc import Callable

from torch import Tensor

from tformer_lite.properties.finding import Report
from tformer_lite.properties.heads import (
    provenance,
    score_scale,
    weight_rows,
)
from tformer_lite.properties.hearing import (
    causality,
    padding_invariance,
    past,
    unknown_words,
)
from tformer_lite.properties.numbers import (
    finite,
    logits,
    norm_statistics,
    repeatable,
)
from tformer_lite.properties.sources import (
    batch_independence,
    order_sensitivity,
    source_coverage,
    source_dependence,
)
from tformer_lite.properties.structure import identity, live_parameters
from tformer_lite.properties.subject import Subject

CHECKS = (
    finite,
    repeatable,
    logits,
    norm_statistics,
    weight_rows,
    score_scale,
    provenance,
    causality,
    past,
    padding_invariance,
    unknown_words,
    source_dependence,
    source_coverage,
    order_sensitivity,
    batch_independence,
    live_parameters,
    identity,
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
    """
    subject = Subject(model, inputs, pad, unknown, causal)
    return Report([checked(subject) for checked in CHECKS])
