"""Questions: what one may ask of a traced run."""

from tformer_lite.tracing.runs import Calls
from tformer_lite.tracing.scores import Attention, attention
from tformer_lite.tracing.scrambles import Scramble, scrambles


class Trace(Calls):
    """The torch calls of a run, with named shapes.

    `steps` are the calls in order, `result` is what the model gave, and
    `notes` say what could not be found out. Print it, or show it in a
    notebook; `at` shows a part.
    """

    def check_axes(self) -> list[Scramble]:
        """Find reshapes that keep every size and scramble the elements."""
        rows = zip(self.steps, self.table.rows, self.axes)
        return scrambles(rows, self.given)

    def attention(self) -> list[Attention]:
        """Give every attention that the data shows: `scores`, `masked` and
        `weights`, with their named shape. Needs what was kept: keep=True."""
        return attention(self.steps, self.axes, self.runs[0].values)
