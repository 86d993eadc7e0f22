"""Properties: what holds for every right model, checked on the reader's own.

No reference is needed. Each check runs a model on inputs of the reader's:

    finding = causality(model, src, tgt)
    print(finding)                       # what was seen, where to look
    finding.seen                         # what was measured: a matrix

and `report(model, src, tgt)` runs them all. In a test,
`assert_holds(causality, model, ids)` raises AssertionError with what is wrong.
"""

from shapewatch.properties.activations import activations
from shapewatch.properties.attention import score_scale, weight_rows
from shapewatch.properties.batches import batch_independence
from shapewatch.properties.caching import cached_run
from shapewatch.properties.closeness import same
from shapewatch.properties.dependence import causality, source_coverage
from shapewatch.properties.finding import Finding, Report
from shapewatch.properties.learning import live_parameters
from shapewatch.properties.losses import next_word, padding_in_loss
from shapewatch.properties.numbers import finite, logits, repeatable
from shapewatch.properties.order import order_sensitivity
from shapewatch.properties.padding import padding_invariance
from shapewatch.properties.past import past
from shapewatch.properties.positions import relative_positions
from shapewatch.properties.precision import precision
from shapewatch.properties.provenance import provenance
from shapewatch.properties.reporting import assert_holds, report
from shapewatch.properties.residuals import identity
from shapewatch.properties.structure import norm_statistics
from shapewatch.properties.subject import NotJudgedError as NotJudgedError

__all__ = [
    "Finding",
    "Report",
    "activations",
    "assert_holds",
    "batch_independence",
    "cached_run",
    "causality",
    "finite",
    "identity",
    "live_parameters",
    "logits",
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
]
