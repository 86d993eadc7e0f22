"""The command `trace`: the shapes of a model of one's own."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch

from shapewatch.commands.checking import made
from shapewatch.tracing import Trace, trace


def trace_model(args: Namespace) -> None:
    """Print the shapes of a model while it runs. A factory gives the model,
    and what it reads; with `--dims` and `--axes`, axes have names that were
    proved at other sizes."""
    model, inputs = made(args.factory)
    named = inputs[0] if inputs and isinstance(inputs[0], dict) else {}
    inputs = () if named else inputs
    names = {"dims": sizes(args.dims), "axes": args.axes}
    with torch.no_grad():
        try:
            seen = trace(model, *inputs, **names, **named)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{args.factory}: {error}") from error
        show(args, seen)


def sizes(text: str | None) -> dict[str, Any] | None:
    """Read the sizes of axes: B=2,C=H*D."""
    if text is None:
        return None
    found = {}
    for pair in text.split(","):
        name, sign, size = (x.strip() for x in pair.partition("="))
        if not (name and sign and size):
            raise ValueError(f"--dims {text}: write B=2,T=8")
        found[name] = int(size) if size.isdecimal() else size
    return found


def show(args: Namespace, seen: Trace) -> None:
    """Print the modules, every torch call, or those in a module; write them
    as JSON."""
    if args.json:
        Path(args.json).write_text(seen.to_json(), "utf8")
        print(f"Trace saved to {args.json}", flush=True)
    try:
        if args.path or args.calls:
            print(seen.at(args.path) if args.path else seen.calls())
        elif not args.json or args.depth:
            tree = seen.tree(args.depth)
            tree.more = "--depth {}", "--calls"
            print(tree)
    except KeyError as error:
        raise ValueError(error.args[0]) from None
