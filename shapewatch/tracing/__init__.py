"""Watch a PyTorch model run. Knows nothing of Transformers.

`trace` records a run and names its axes: a `Trace`, which prints itself as a
`Table` of one `Row` a torch call, or, where these are many, as the tree of its
modules, and gives each tensor an `Axis` a side. What it has found is an
`Attention`, or a `Sheet` of numbers. A `Diff` shows what was changed in a
text, line by line.
`print_shapes` prints while a model runs. `flops` counts without a trace;
`shape_text`, `shape_html` and `html_table` write.
"""

from shapewatch.tracing.axes.names import Axis, shape_text
from shapewatch.tracing.listing.changes import Diff
from shapewatch.tracing.markup import html_table, shape_html
from shapewatch.tracing.printing import print_shapes
from shapewatch.tracing.questions.attention import Attention
from shapewatch.tracing.questions.costs import flops
from shapewatch.tracing.tables import Row, Sheet, Table
from shapewatch.tracing.traced import Trace
from shapewatch.tracing.tracer import trace

__all__ = [
    "Attention",
    "Axis",
    "Diff",
    "Row",
    "Sheet",
    "Table",
    "Trace",
    "flops",
    "html_table",
    "print_shapes",
    "shape_html",
    "shape_text",
    "trace",
]
