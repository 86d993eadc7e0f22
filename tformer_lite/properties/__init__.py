"""Properties: what holds for every right model, checked on the reader's own.

No reference is needed. Each check runs a model, on ids of the reader's or,
for the models of this module, on the running example:

    finding = causality(model)           # or causality(model, src, tgt)
    print(finding)                       # what was seen, where to look
    heatmap(finding.seen, kind="scores")

and `report(model)` runs them all.
"""

from tformer_lite.properties.agreement import same
from tformer_lite.properties.attention import (
    provenance,
    score_scale,
    weight_rows,
)
from tformer_lite.properties.counted import padding_in_loss, words_in_loss
from tformer_lite.properties.finding import Finding, Report
from tformer_lite.properties.future import causality
from tformer_lite.properties.hearing import (
    batch_independence,
    order_sensitivity,
    padding_invariance,
    past,
    source_coverage,
    source_dependence,
    unknown_words,
)
from tformer_lite.properties.learning import live_parameters
from tformer_lite.properties.losses import loss_gradient, next_word
from tformer_lite.properties.norms import norm_statistics
from tformer_lite.properties.numbers import finite, logits, repeatable
from tformer_lite.properties.reporting import report
from tformer_lite.properties.softmax import loss_softmax
from tformer_lite.properties.structure import identity

__all__ = [
    "Finding",
    "Report",
    "batch_independence",
    "causality",
    "finite",
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
