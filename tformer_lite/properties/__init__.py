"""Properties: what holds for every right model, checked on the reader's own.

No reference is needed. Each check runs a model, on ids of the reader's or,
for the models of this module, on the running example:

    finding = causality(model)           # or causality(model, src, tgt)
    print(finding)                       # what was seen, where to look
    heatmap(finding.seen, kind="scores")

and `report(model)` runs them all. In a test, `assert_causal(model, ids)`
raises AssertionError with what is wrong: there is one for each property.
"""

from tformer_lite.properties.agreement import same
from tformer_lite.properties.asserting import (
    assert_activations,
    assert_batch_independence,
    assert_cached_run,
    assert_causal,
    assert_distinct_heads,
    assert_distinct_words,
    assert_dropout,
    assert_exact_gradients,
    assert_finite,
    assert_first_loss,
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
    assert_provenance,
    assert_relative_positions,
    assert_repeatable,
    assert_score_scale,
    assert_source_coverage,
    assert_source_dependence,
    assert_unknown_words,
    assert_weight_rows,
    assert_words_in_loss,
)
from tformer_lite.properties.attention import (
    provenance,
    score_scale,
    weight_rows,
)
from tformer_lite.properties.beginning import first_loss
from tformer_lite.properties.caching import cached_run
from tformer_lite.properties.counted import padding_in_loss, words_in_loss
from tformer_lite.properties.dropping import dropout
from tformer_lite.properties.finding import Finding, Report
from tformer_lite.properties.future import causality
from tformer_lite.properties.generating import generation
from tformer_lite.properties.heads import distinct_heads
from tformer_lite.properties.hearing import (
    batch_independence,
    order_sensitivity,
    padding_invariance,
    past,
    source_dependence,
    unknown_words,
)
from tformer_lite.properties.learning import live_parameters
from tformer_lite.properties.losses import loss_gradient, next_word
from tformer_lite.properties.matrices import activations
from tformer_lite.properties.norms import norm_statistics
from tformer_lite.properties.numbers import finite, logits, repeatable
from tformer_lite.properties.reporting import report
from tformer_lite.properties.results import NotJudgedError as NotJudgedError
from tformer_lite.properties.rotations import relative_positions
from tformer_lite.properties.slopes import exact_gradients
from tformer_lite.properties.softmax import loss_softmax
from tformer_lite.properties.sources import source_coverage
from tformer_lite.properties.structure import identity
from tformer_lite.properties.vocabulary import distinct_words

__all__ = [
    "Finding",
    "Report",
    "activations",
    "assert_activations",
    "assert_batch_independence",
    "assert_cached_run",
    "assert_causal",
    "assert_distinct_heads",
    "assert_distinct_words",
    "assert_dropout",
    "assert_exact_gradients",
    "assert_finite",
    "assert_first_loss",
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
    "assert_provenance",
    "assert_relative_positions",
    "assert_repeatable",
    "assert_score_scale",
    "assert_source_coverage",
    "assert_source_dependence",
    "assert_unknown_words",
    "assert_weight_rows",
    "assert_words_in_loss",
    "batch_independence",
    "cached_run",
    "causality",
    "distinct_heads",
    "distinct_words",
    "dropout",
    "exact_gradients",
    "finite",
    "first_loss",
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
    "provenance",
    "relative_positions",
    "repeatable",
    "report",
    "same",
    "score_scale",
    "source_coverage",
    "source_dependence",
    "unknown_words",
    "weight_rows",
    "words_in_loss",
]
