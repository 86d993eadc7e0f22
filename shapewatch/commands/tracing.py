"""The command `trace`: shapes of a model of one's own; and with a report."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from shapewatch.commands.checking import (
    call_factory,
    error_with_line,
    report_on,
    write_text,
)
from shapewatch.properties.finding import BROKEN, UNUSUAL, of_level
from shapewatch.properties.subject import accepts_names
from shapewatch.tracing import Trace, trace


def trace_model(args: Namespace) -> None:
    """Print the shapes of a model while it runs. A factory gives the model,
    and what it reads; with `--axes`, which name the axes of its inputs, axes
    have names that were proved at other sizes."""
    show(args, trace_of(args, *call_factory(args.factory)))


def trace_and_check(args: Namespace) -> int:
    """Print the shapes of a model, and what is wrong with it: what no command
    means. The exit code is 1 when something is broken."""
    model, inputs = call_factory(args.factory)
    tree = trace_of(args, model, inputs).tree(args.depth)
    tree.more = "--depth {}", f"trace {args.factory} --calls"
    print(tree, flush=True)
    seen = report_on(args, model, inputs)
    for level in BROKEN, UNUSUAL:
        if (found := of_level(seen, level)).findings:
            print("", found, sep="\n")
    counts = Counter(x.verdict for x in seen.findings)
    texts = (f"{n} {verdict}" for verdict, n in counts.items())
    print(f"\n{len(seen.findings)} checks: {', '.join(texts)}")
    print(f"check {args.factory} lists them all")
    return int(not seen.ok)


def trace_of(args: Namespace, model: Any, inputs: tuple) -> Trace:
    """Trace a model, with the names that were typed."""
    inputs, named = called_with(model, inputs)
    axes = by_name(args.axes, named) if named else args.axes
    dims = sizes(args.dims)
    with torch.no_grad():
        try:
            return trace(model, *inputs, dims=dims, axes=axes, **named)
        except Exception as error:
            if seen := getattr(error, "trace", None):
                notes = getattr(error, "__notes__", ())
                print(seen.tree(args.depth), "", *notes, sep="\n", flush=True)
            raise ValueError(f"{args.factory}{fault(error)}") from error


def called_with(model: Any, inputs: tuple) -> tuple[tuple, dict[str, Any]]:
    """Give what a model is called with, by place and by name: a dictionary
    has the names, unless it is itself what the model takes."""
    alone = inputs[0] if len(inputs) == 1 else None
    if isinstance(alone, Mapping) and accepts_names(model, alone):
        return (), dict(alone)
    return inputs, {}


def fault(error: Exception) -> str:
    """Say what is wrong: what was typed, or the model, whose own errors come
    with the trace up to there."""
    own = hasattr(error, "trace")
    if isinstance(error, (TypeError, ValueError)) and not own:
        return f": {error}"
    return f" does not run: {error_with_line(error)}"


def by_name(
    axes: list[str] | None, named: Mapping[str, Any]
) -> dict[str, str] | None:
    """Give each tensor that has a name its axes, in order."""
    if axes is None:
        return None
    there = [name for name, x in named.items() if isinstance(x, Tensor)]
    if len(axes) != len(there):
        raise ValueError(f"--axes: give one for each of {', '.join(there)}")
    return dict(zip(there, axes))


def sizes(text: str | None) -> dict[str, Any] | None:
    """Read the sizes of axes: B=2,C=H*D."""
    if text is None:
        return None
    found: dict[str, Any] = {}
    for pair in text.split(","):
        name, sign, size = (x.strip() for x in pair.partition("="))
        if not (name.isidentifier() and sign and size) or name in found:
            raise ValueError(f"--dims {text}: write B=2,T=8")
        found[name] = int(size) if size.isdecimal() else size
    return found


def show(args: Namespace, seen: Trace) -> None:
    """Print the modules, every torch call, or those in a module; write them
    as JSON."""
    if args.json:
        write_text(args.json, seen.to_json(), "Trace")
    try:
        if args.path or args.calls:
            print(seen.at(args.path) if args.path else seen.calls())
        elif not args.json or args.depth:
            tree = seen.tree(args.depth)
            tree.more = "--depth {}", "--calls"
            print(tree)
    except KeyError as error:
        raise ValueError(error.args[0]) from None
