"""The commands `trace` and `check`: a model of one's own, its shapes and what
is wrong with it."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from shapewatch.commands.factories import (
    GIVES,
    call_factory,
    error_with_line,
)
from shapewatch.properties import Report, report
from shapewatch.properties.finding import BROKEN, UNUSUAL, of_level
from shapewatch.properties.subject import accepts_names
from shapewatch.tracing import Trace, trace


def trace_model(args: Namespace) -> None:
    """Print the shapes of a model while it runs. A factory gives the model,
    and what it reads; with `--axes`, which name the axes of its inputs, axes
    have names that were proved at other sizes."""
    traced = trace_of(args, *call_factory(args.factory))
    if args.calls:
        print(traced.calls(), flush=True)
    else:
        print_tree(args, traced, "--calls")
    if args.json:
        write_text(args.json, traced.to_json(), "Trace")


def run_check(args: Namespace) -> int:
    """Check a model for bugs that raise no error, in causality, padding,
    order, gradients and more. A factory gives the model, and what it reads.
    The exit code is 1 when something is broken."""
    findings = report_on(args, *call_factory(args.factory))
    print(findings, flush=True)
    if args.json:
        write_text(args.json, findings.to_json(), "Report")
    return int(not findings.ok)


def trace_and_check(args: Namespace) -> int:
    """Print the shapes of a model, and what is wrong with it. It is done where
    no command is typed. The exit code is 1 when something is broken."""
    model, inputs = call_factory(args.factory)
    traced = trace_of(args, model, inputs)
    print_tree(args, traced, f"trace {args.factory} --calls")
    findings = report_on(args, model, inputs)
    for level in BROKEN, UNUSUAL:
        if (faults := of_level(findings, level)).findings:
            print("", faults, sep="\n")
    counts = Counter(x.verdict for x in findings.findings)
    texts = (f"{n} {verdict}" for verdict, n in counts.items())
    print(f"\n{counts.total()} checks: {', '.join(texts)}")
    print(f"check {args.factory} lists them all")
    return int(not findings.ok)


def trace_of(args: Namespace, model: Any, inputs: tuple) -> Trace:
    """Trace a model, with the names that were typed. What stops it comes with
    the trace up to there."""
    inputs, named = called_with(model, inputs)
    axes = by_name(args.axes, named) if named and args.axes else args.axes
    dims = args.dims and dict(map(read_size, args.dims.split(",")))
    try:
        with torch.no_grad():
            return trace(model, *inputs, dims=dims, axes=axes, **named)
    except Exception as error:
        traced = getattr(error, "trace", None)
        if traced is None and isinstance(error, (TypeError, ValueError)):
            raise ValueError(f"{args.factory}: {error}") from error  # as typed
        if traced:  # it made a call
            notes = getattr(error, "__notes__", ())
            print(traced.tree(args.depth), "", *notes, sep="\n", flush=True)
        says = f"{args.factory} does not run: {error_with_line(error)}"
        raise ValueError(says) from error


def print_tree(args: Namespace, traced: Trace, more: str) -> None:
    """Print the tree of a trace, with what shows more."""
    tree = traced.tree(args.depth)
    tree.more = "--depth {}", more
    print(tree, flush=True)


def called_with(model: Any, inputs: tuple) -> tuple[tuple, dict[str, Any]]:
    """Give what a model is called with, by place and by name: a dictionary
    has the names, unless it is itself what the model takes."""
    alone = inputs[0] if len(inputs) == 1 else None
    if isinstance(alone, Mapping) and accepts_names(model, alone):
        return (), dict(alone)
    return inputs, {}


def by_name(axes: list[str], named: Mapping[str, Any]) -> dict[str, str]:
    """Give each tensor that has a name its axes, in order."""
    names = [name for name, x in named.items() if isinstance(x, Tensor)]
    if len(axes) != len(names):
        raise ValueError(f"--axes: give one for each of {', '.join(names)}")
    return dict(zip(names, axes))


def read_size(pair: str) -> tuple[str, Any]:
    """Read the size of an axis, B=2; it may be written with others, C=H*D."""
    name, _, size = (x.strip() for x in pair.partition("="))
    if not name.isidentifier() or not size:
        raise ValueError(f"--dims {pair}: write B=2,T=8")
    return name, int(size) if size.isdecimal() else size


def report_on(args: Namespace, model: Any, inputs: tuple) -> Report:
    """Ask all checks about a model, with the options that were typed."""
    causal = not args.no_causal
    try:
        return report(model, *inputs, pad=args.pad, causal=causal)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{args.factory}: {error}; {GIVES}") from error


def write_text(file: str, text: str, what: str) -> None:
    """Write a text into a file, and say so."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf8")
    print(f"{what} saved to {file}", flush=True)
