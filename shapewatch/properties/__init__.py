"""Properties: what holds for every right model, checked on the reader's own.

No reference is needed. Each check runs a model on inputs of the reader's:

    finding = causality(model, src, tgt)
    print(finding)                       # what was seen, where to look
    finding.seen                         # what was measured: a matrix

and `report(model, src, tgt)` runs them all. In a test,
`assert_causal(model, ids)` raises AssertionError with what is wrong: there is
one for each property.
"""

from shapewatch.properties.attention import (
    provenance,
    score_scale,
    weight_rows,
)
from shapewatch.properties.batches import batch_independence
from shapewatch.properties.caching import cached_run
from shapewatch.properties.dependence import (
    causality,
    order_sensitivity,
    past,
    source_coverage,
)
from shapewatch.properties.finding import Finding, Report
from shapewatch.properties.generating import generation
from shapewatch.properties.gradients import exact_gradients
from shapewatch.properties.learning import live_parameters
from shapewatch.properties.losses import (
    loss_gradient,
    loss_softmax,
    next_word,
    padding_in_loss,
    words_in_loss,
)
from shapewatch.properties.numbers import dropout, finite, logits, repeatable
from shapewatch.properties.padding import padding_invariance
from shapewatch.properties.perturbation import same
from shapewatch.properties.positions import relative_positions
from shapewatch.properties.precision import precision
from shapewatch.properties.reporting import (
    assert_activations,
    assert_batch_independence,
    assert_cached_run,
    assert_causal,
    assert_dropout,
    assert_exact_gradients,
    assert_finite,
    assert_generation,
    assert_identity,
    assert_live_parameters,
    assert_logits,
    assert_loss_gradient,
    assert_loss_softmax,
    assert_next_word,
    assert_norm_statistics,
    assert_order_sensitivity,
    assert_padding_in_loss,
    assert_padding_invariance,
    assert_past,
    assert_precision,
    assert_provenance,
    assert_relative_positions,
    assert_repeatable,
    assert_score_scale,
    assert_source_coverage,
    assert_weight_rows,
    assert_words_in_loss,
    report,
)
from shapewatch.properties.structure import (
    activations,
    identity,
    norm_statistics,
)
from shapewatch.properties.subject import NotJudgedError as NotJudgedError

__all__ = [
    "Finding",
    "Report",
    "activations",
    "assert_activations",
    "assert_batch_independence",
    "assert_cached_run",
    "assert_causal",
    "assert_dropout",
    "assert_exact_gradients",
    "assert_finite",
    "assert_generation",
    "assert_identity",
    "assert_live_parameters",
    "assert_logits",
    "assert_loss_gradient",
    "assert_loss_softmax",
    "assert_next_word",
    "assert_norm_statistics",
    "assert_order_sensitivity",
    "assert_padding_in_loss",
    "assert_padding_invariance",
    "assert_past",
    "assert_precision",
    "assert_provenance",
    "assert_relative_positions",
    "assert_repeatable",
    "assert_score_scale",
    "assert_source_coverage",
    "assert_weight_rows",
    "assert_words_in_loss",
    "batch_independence",
    "cached_run",
    "causality",
    "dropout",
    "exact_gradients",
    "finite",
    "generation",
    "identity",
    "live_parameters",
    "logits",
    "loss_gradient",
    "loss_softmax",
    "next_word",
    "norm_statistics",
    "order_sensitivity",
    "padding_in_loss",
    "padding_invariance",
    "past",
    "precision",
    "provenance",
    "relative_positions",
    "repeatable",
    "report",
    "same",
    "score_scale",
    "source_coverage",
    "weight_rows",
    "words_in_loss",
]
