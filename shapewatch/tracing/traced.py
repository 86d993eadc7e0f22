"""A traced run: how it prints, and what can be asked of it."""

from typing import Any

from torch import Tensor

from shapewatch.tracing.calls import Axes, Calls
from shapewatch.tracing.lines import kept_value
from shapewatch.tracing.listing.listing import AnnotatedSource, annotate
from shapewatch.tracing.questions import costs
from shapewatch.tracing.questions.attention import Attention, find_attention
from shapewatch.tracing.questions.finite import FirstNan, first_nan
from shapewatch.tracing.record.models import ModelCall
from shapewatch.tracing.record.state import gc_paused
from shapewatch.tracing.record.tensors import name_of
from shapewatch.tracing.tables import Printable, Sheet, Table
from shapewatch.tracing.tree.tree import Tree

FEW_LINES = 40  # lines of calls


class TracedCalls(Printable):
    """The torch calls of a run, and their kept values."""

    def __init__(self, calls: Calls, call: ModelCall):
        self._calls, self._call = calls, call
        self.model, self.inputs = call.model, call.inputs
        self.notes, self.steps = calls.notes, calls.steps
        self.result = calls.run.result
        self.sizes = [run.sizes for run in calls.runs]

    @property
    def axes(self) -> list[Axes]:
        """The named axes of what each call reads, and of what it makes."""
        return self._calls.axes

    def calls(self) -> Table:
        """List every torch call."""
        return self._calls.table

    def at(self, pattern: str) -> Table:
        """Show a module, and all within it; * stands for anything."""
        return self._calls.table.at(pattern)

    def __getitem__(self, name: str | tuple[str, int]) -> Tensor:
        """Give a kept value by "path:variable", or by a variable that only
        one module has; with a number after it, one of several of that name."""
        text, nth = name if isinstance(name, tuple) else (name, None)
        kept = self._calls.run.values.kept
        return kept_value(self._calls.names, kept, text, nth)

    def __len__(self) -> int:
        return len(self.steps)


class PrintedCalls(TracedCalls):
    """The calls of a run, to be printed."""

    @gc_paused()
    def tree(self, depth: int | None = None) -> Tree:
        """Show the modules in the order in which they first ran, with named
        shapes and parameters, and equal neighbours folded.

        `depth` says how many levels; without it, as many as fit a screen.
        Raises ValueError for a depth below 0.
        """
        root, name = self._call.root, name_of(self.model)
        return Tree(self._calls, root, name, depth)

    @property
    def _printed(self) -> Table | Tree:
        """What is printed: the calls, if they fit in 40 lines, or if there
        are no modules in what ran; else the tree."""
        table = self._calls.table
        many = max(len(table.rows), len(table._lines())) > FEW_LINES
        return tree if many and (tree := self.tree())._shown else table

    def _lines(self) -> list[str]:
        return self._printed._lines()

    def _repr_html_(self) -> str:
        return self._printed._repr_html_()


class Trace(PrintedCalls):
    """The torch calls of a run of `model` with `inputs`, with named shapes.

    `steps` are the calls in order, `axes` the named axes of what each reads
    and makes, `sizes` those of the dimensions in this run and in the probes.
    `result` is what `model` gave, and `notes` say what could not be found
    out. Print it, or show it in a notebook: it lists the calls if they fit in
    40 lines, else the modules that made them. `calls` and `tree` give the one
    or the other, `at` a part.

    Whatever is asked, the model, its inputs and the random numbers are as
    before afterwards.
    """

    def parameters(self) -> Sheet:
        """Count the parameters of each module; those of several names once."""
        rows = costs.sizes_of(self._call.root, name_of(self.model))
        return Sheet(rows, [])

    def flops(self) -> Sheet:
        """Count the multiply-adds of each module, by another run."""
        return costs.flops_of(self._call)

    def first_nan(self) -> FirstNan:
        """Find the first call that makes NaN or infinity of numbers that
        have none, by another run: where it stands, and what it reads. It is
        false where there is none.

        NaN that comes in with a parameter or an input is found too. -inf
        does not count as long as it masks: it does where NaN comes of it, or
        where it reaches the result.

        >>> trace(torch.log, torch.tensor([1.0, -1.0])).first_nan()
        The first NaN is made outside every module, ...
          log ...
        It makes 1 NaN in 2 numbers. It reads:
          tensor 1: from -1 to 1...
        """
        return first_nan(self._calls, self._call)

    @gc_paused()
    def source(
        self, thing: Any, path: str | None = None, nth: int = 0
    ) -> AnnotatedSource:
        """Show a function's source with the named shapes beside its lines.

        `path` is the module to look in, and `nth` which of its runs. Raises
        TypeError and ValueError for what cannot be shown.
        """
        return annotate(self._calls, thing, path, nth)

    @gc_paused()
    def attention(self) -> list[Attention]:
        """Give every attention that the data shows: `scores`, `masked` and
        `weights`, with their named shape. Needs what was kept: keep=True."""
        return find_attention(self._calls)
