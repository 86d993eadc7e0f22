"""The commands `trace` and `check`: a model of one's own, its shapes and what
is wrong with it."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from shapewatch.commands.factories import (
    GIVES,
    call_factory,
    error_with_line,
)
from shapewatch.commands.parsing import Parser, count, number
from shapewatch.properties import report
from shapewatch.properties.subject import accepts_names
from shapewatch.tracing import trace

ABOUT = (
    "See the shapes of a PyTorch model, and check what holds for it: `trace` "
    "does the one, `check` the other, and neither of them both. The exit code "
    "is 1 when something is broken."
)
EXAMPLES = [
    "my_model.py:make",
    "trace my_model.py:make --axes 'B T' --dims H=3,D=4",
    "trace my_package.my_module:make --calls",
    "check my_model.py:make --pad 0 --json report.json",
    "check bert.py:make --no-causal",
]


def read(argv: Sequence[str] | None = None) -> Namespace:
    """Read what was typed."""
    parser = Parser(ABOUT, EXAMPLES, prog="python -m shapewatch")
    parser.add_argument("command", nargs="?", choices=["trace", "check"])
    text = "module:function or file.py:function that returns (model, inputs)"
    parser.add("factory", text, metavar="FACTORY")
    parser.add("--dims", "sizes of axes, as B=2,T=8,H=3,D=4,C=H*D")
    text = "the axes of an input, as 'B T C'; once for each input"
    parser.add("--axes", text, action="append", metavar="TEXT")
    text = "levels of modules to print (default: what fits a screen)"
    parser.add("--depth", text, type=count)
    text = "print every torch call, not the modules"
    parser.add("--calls", text, action="store_true")
    parser.add("--pad", "the id of padding", type=number)
    text = "outputs may depend on the future, as in an encoder"
    parser.add("--no-causal", text, action="store_true")
    parser.add("--json", "a file to write the report to, as JSON")
    args = parser.parse_intermixed_args(argv)
    if args.json and args.command == "trace":
        parser.error("--json writes the report, which `trace` does not make")
    args.run = run_command
    return args


def run_command(args: Namespace) -> int:
    """Print the shapes of a model, or what is wrong with it, or both; give 1
    when something is broken."""
    model, inputs = call_factory(args.factory)
    options = {"pad": args.pad, "causal": not args.no_causal}
    try:
        if args.command != "check":
            print_trace(args, model, inputs)
        if args.command == "trace":
            return 0
        findings = report(model, *inputs, **options)
    except TypeError as error:
        raise ValueError(f"{args.factory}: {error}; {GIVES}") from error
    print(findings, flush=True)
    if args.json:
        Path(args.json).write_text(findings.to_json(), "utf8")
        print(f"Report saved to {args.json}")
    return int(not findings.ok)


def print_trace(args: Namespace, model: Any, inputs: tuple) -> None:
    """Trace a model, with the names that were typed, and print it. What stops
    it comes with the trace up to there."""
    alone, named = inputs[0] if len(inputs) == 1 else None, {}
    if isinstance(alone, Mapping) and accepts_names(model, alone):
        inputs, named = (), dict(alone)
    dims = args.dims and dict(map(read_size, args.dims.split(",")))
    try:
        with torch.no_grad():
            seen = trace(model, *inputs, dims=dims, axes=args.axes, **named)
    except Exception as error:
        if not hasattr(error, "trace"):  # what was typed is wrong
            raise
        notes = getattr(error, "__notes__", ())
        print(error.trace.tree(args.depth), "", *notes, sep="\n", flush=True)
        says = f"{args.factory} does not run: {error_with_line(error)}"
        raise ValueError(says) from error
    tree = seen.tree(args.depth)
    both = "" if args.command else f"trace {args.factory} "
    tree.more = "--depth {}", f"{both}--calls"
    print(seen.calls() if args.calls else tree, flush=True)


def read_size(pair: str) -> tuple[str, Any]:
    """Read the size of an axis, B=2; it may be written with others, C=H*D."""
    name, _, size = pair.partition("=")
    if not size:
        raise ValueError(f"--dims {pair}: write B=2,T=8")
    return name.strip(), int(size) if size.isdecimal() else size
