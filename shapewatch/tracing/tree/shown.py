"""What is shown of a run: its calls, if these are few, or its modules."""

from typing import Any

from shapewatch.tracing.calls import Calls
from shapewatch.tracing.record.aside import gc_paused
from shapewatch.tracing.tables import Table
from shapewatch.tracing.tree.graph import mermaid_of
from shapewatch.tracing.tree.tree import Tree

FEW_LINES = 40  # lines of calls


class Shown(Calls):
    """The calls of a run of `model`, and how they are printed."""

    model: Any

    def calls(self) -> Table:
        """List every torch call."""
        return self.table

    @gc_paused()
    def tree(self, depth: int | None = None) -> Tree:
        """Show the modules in the order in which they first ran, with named
        shapes and parameters, and equal neighbours folded.

        `depth` says how many levels; without it, as many as fit a screen.
        Raises ValueError for a depth below 0.
        """
        return Tree(self, self.model, depth)

    @gc_paused()
    def to_mermaid(self, depth: int | None = None) -> str:
        """Write the modules and what goes from one to another as a graph
        that Mermaid draws: GitHub and Jupyter do, in Markdown.

        `depth` says how many levels, as in `tree`.
        """
        tree = self.tree(depth)
        return mermaid_of(tree.root, tree.depth)

    @property
    def shown(self) -> Table | Tree:
        """What is printed: the calls, if they fit in 40 lines, or if there
        are no modules in what ran; else the tree."""
        many = (
            len(self.steps) > FEW_LINES or len(self.table.lines()) > FEW_LINES
        )
        return tree if many and (tree := self.tree()).shown else self.table

    def lines(self) -> list[str]:
        """Write the calls, or the modules."""
        return self.shown.lines()

    def _repr_html_(self) -> str:
        return self.shown._repr_html_()
