"""What one can type: `trace` and `check`, or none of them, and their
options."""

import re
import sys
from argparse import Namespace
from collections.abc import Sequence

from shapewatch.commands.checking import run_check
from shapewatch.commands.parsing import (
    COUNT,
    FLAG,
    TEXT,
    WHOLE_NUMBER,
    Command,
    Options,
    Program,
    read_command,
)
from shapewatch.commands.tracing import trace_and_check, trace_model
from shapewatch.properties.subject import POSITIONS

FACTORY = (
    "factory",
    None,
    "module:function or file.py:function; it gives (model, inputs) or "
    "(model, a dictionary)",
)
# How a run is shown, and what a model is checked with, here and wherever
# another command line has these commands, too.
TRACE_OPTIONS: Options = {
    "path": (TEXT, "print every call in this module; * is anything"),
    "json": (TEXT, "a file to write all to, as JSON; - is the screen"),
    "calls": (FLAG, "print every torch call, not the modules"),
    "depth": (COUNT, "levels of modules to print, if not what fits a screen"),
}
CHECK_OPTIONS: Options = {
    "pad": (WHOLE_NUMBER, "the id of padding"),
    "unknown": (WHOLE_NUMBER, "the id of unknown words"),
    "no-causal": (FLAG, "outputs may depend on the future, as in an encoder"),
    "check positions": (COUNT, "positions of an input to push, at most"),
    "output": (TEXT, "what to judge of what the model gives, by its name"),
    "loss": (TEXT, "a function for training: loss(model, *inputs) is called"),
    "expect": (
        {"metavar": "NAME=REASON", "action": "append"},
        "a finding that is known, and why; may be given again",
    ),
}
NAMES: Options = {
    "dims": (TEXT, "sizes of axes to be named, as B=2,T=8,H=3,D=4,C=H*D"),
    "axes": (
        {"metavar": "TEXT", "action": "append"},
        "the axes of an input, as 'B T C'; once for each input",
    ),
}
TRACE_DEFAULTS = dict.fromkeys(TRACE_OPTIONS) | {"calls": False}
BOTH_DEFAULTS = dict.fromkeys(CHECK_OPTIONS) | {
    "no-causal": False,
    "check positions": POSITIONS,
}
CHECK_DEFAULTS = BOTH_DEFAULTS | {"json": None}
BOTH = "both"  # the command that is meant where none is typed
EXAMPLES = {
    "": [
        "my_model.py:make",
        "trace my_model.py:make --axes 'B T'",
        "check my_model.py:make --pad 0",
    ],
    "both": ["my_model.py:make", "my_model.py:make --axes 'B T' --pad 0"],
    "trace": [
        "my_model.py:make",
        "model.py:make --axes 'B T' --dims H=3,D=4 --calls",
        "my_package.my_module:make --path 'blocks.0.*'",
    ],
    "check": [
        "my_package.my_module:make",
        "path/to/file.py:make --pad 0 --positions 8",
        "bert.py:make --no-causal --output logits",
        "gpt.py:make --loss loss --json report.json",
        "t5.py:make --expect 'score_scale=as in T5'",
    ],
}
COMMAND_LINE = Program(
    name="python -m shapewatch",
    about="See the shapes of a PyTorch model, and check what holds for it.",
    commands={
        BOTH: Command(
            trace_and_check,
            {"depth": None} | dict.fromkeys(NAMES) | BOTH_DEFAULTS,
            FACTORY,
        ),
        "trace": Command(
            trace_model, TRACE_DEFAULTS | dict.fromkeys(NAMES), FACTORY
        ),
        "check": Command(run_check, CHECK_DEFAULTS, FACTORY),
    },
    options={**TRACE_OPTIONS, **NAMES, **CHECK_OPTIONS},
    examples=EXAMPLES,
)


def read(argv: Sequence[str] | None = None) -> Namespace:
    """Read what was typed: a factory alone is traced and checked."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    first = "".join(words[:1])
    if re.match(r"[^-].*(:|\.py$)", first):
        words = [BOTH, *words]
    return read_command(COMMAND_LINE, words)
