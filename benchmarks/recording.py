"""What recording costs: tools that look at a run, against a plain one."""

from functools import partial

from benchmarks.models import MODELS
from benchmarks.rounds import rows_in_turns
from benchmarks.tools import TOOLS


def tool_rows(model: str, tool: str) -> list[dict]:
    """Let a tool and a plain run take turns; the plain run has a row beside
    the first tool alone."""
    net, inputs = MODELS[model]()
    runs = {"a plain run": partial(net, *inputs)}
    runs[tool] = TOOLS[tool](net, inputs)
    rows = rows_in_turns(runs)
    return rows if tool == next(iter(TOOLS)) else rows[1:]
