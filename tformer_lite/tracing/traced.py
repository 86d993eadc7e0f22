"""Questions: what one may ask of a traced run."""

from typing import Any

from tformer_lite.tracing.calls import Calls
from tformer_lite.tracing.listing.listing import Listing, annotate
from tformer_lite.tracing.questions import costs
from tformer_lite.tracing.questions.compare import Comparison, compare
from tformer_lite.tracing.questions.export import to_json
from tformer_lite.tracing.questions.scores import Attention, attention
from tformer_lite.tracing.questions.scrambles import Scramble, scrambles
from tformer_lite.tracing.tables import Sheet


class Trace(Calls):
    """The torch calls of a run, with named shapes.

    `steps` are the calls in order, `axes` the named axes of what each reads
    and makes, `result` is what the model gave, and `notes` say what could
    not be found out. Print it, or show it in a notebook; `at` shows a part.
    """

    def __init__(self, *calls: Any, ran: tuple[Any, tuple, dict]):
        super().__init__(*calls)
        self.model, self.inputs, self.options = ran

    def source(
        self, thing: Any, path: str | None = None, nth: int = 0
    ) -> Listing:
        """Show a function's source with the named shapes beside its lines.

        `path` is the module to look in, and `nth` which of its runs.
        """
        return annotate(self, thing, path, nth)

    def check_axes(self) -> list[Scramble]:
        """Find reshapes that keep every size and scramble the elements."""
        return scrambles(self)

    def attention(self) -> list[Attention]:
        """Give every attention that the data shows: `scores`, `masked` and
        `weights`, with their named shape. Needs what was kept: keep=True."""
        return attention(self)

    def compare(self, reference: "Trace") -> Comparison:
        """Find the first call at which this run and a reference part."""
        return compare(self, reference)

    def parameters(self) -> Sheet:
        """Count the parameters of each module."""
        return costs.parameters(self.model)

    def flops(self) -> Sheet:
        """Count the multiply-adds of each module, by another run."""
        return costs.flops(self.model, *self.inputs, **self.options)

    def gradients(self) -> Sheet:
        """List the shape of each parameter's gradient, by another run."""
        return costs.gradients(self.model, *self.inputs, **self.options)

    def to_json(self) -> str:
        """Write the trace as JSON; `questions.export` has the schema."""
        return to_json(self)
