"""What one can type: `trace` and `check`, or none of them, and their
options."""

import re
import sys
from argparse import Namespace
from collections.abc import Sequence

from shapewatch.commands.parsing import Parser, add_commands, count, number
from shapewatch.commands.running import (
    run_check,
    trace_and_check,
    trace_model,
)

PROGRAM = "python -m shapewatch"
ABOUT = "See the shapes of a PyTorch model, and check what holds for it."
FACTORY = (
    "module:function or file.py:function; it returns (model, inputs) or "
    "(model, a dictionary)"
)
BOTH = "both"  # the command that is meant where none is typed
COMMANDS = {BOTH: trace_and_check, "trace": trace_model, "check": run_check}
EXAMPLES = {
    "": [
        "my_model.py:make",
        "trace my_model.py:make --axes 'B T'",
        "check my_model.py:make --pad 0",
    ],
    BOTH: ["my_model.py:make", "my_model.py:make --axes 'B T' --pad 0"],
    "trace": [
        "my_model.py:make",
        "model.py:make --axes 'B T' --dims H=3,D=4 --calls",
        "my_package.my_module:make --depth 2",
    ],
    "check": [
        "my_package.my_module:make",
        "path/to/file.py:make --pad 0 --json report.json",
        "bert.py:make --no-causal",
    ],
}


def add_names(parser: Parser) -> None:
    """Add what names the axes of a run, and how deep its tree is printed."""
    parser.add("--dims", "sizes of axes, as B=2,T=8,H=3,D=4,C=H*D")
    text = "the axes of an input, as 'B T C'; once for each input"
    parser.add("--axes", text, action="append", metavar="TEXT")
    text = "levels of modules to print (default: what fits a screen)"
    parser.add("--depth", text, type=count)


def add_check_options(parser: Parser) -> None:
    """Add what a model is checked with."""
    parser.add("--pad", "the id of padding", type=number)
    text = "outputs may depend on the future, as in an encoder"
    parser.add("--no-causal", text, action="store_true")


def read(argv: Sequence[str] | None = None) -> Namespace:
    """Read what was typed: a factory alone is traced and checked."""
    top, parsers = add_commands(PROGRAM, ABOUT, COMMANDS, EXAMPLES)
    for parser in parsers.values():
        parser.add("factory", FACTORY, metavar="FACTORY")
    for name in BOTH, "trace":
        add_names(parsers[name])
    for name in BOTH, "check":
        add_check_options(parsers[name])
    for name in "trace", "check":
        parsers[name].add("--json", "a file to write all to, as JSON")
    text = "print every torch call, not the modules"
    parsers["trace"].add("--calls", text, action="store_true")
    words = [*(sys.argv[1:] if argv is None else argv)]
    alone = re.match(r"[^-].*(:|\.py$)", "".join(words[:1]))
    return top.parse_args([BOTH, *words] if alone else words)
