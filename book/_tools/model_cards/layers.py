"""The layers of a model: which are alike, so that the first of a kind stands
for all while its shapes are proved."""

import re
from collections import defaultdict
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from torch import nn

from model_cards.costs import cache_shapes, parameter_shapes
from shapewatch.tracing.axes.sizes import Dims, run_sizes
from shapewatch.tracing.calls import Axes, Calls
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Step, step_shapes
from shapewatch.tracing.traced import Trace
from shapewatch.tracing.tracer import trace

LAYER_PATH = re.compile(r".*?\.\d+(?=\.|$)")
Twins = dict[str, str]  # of each layer the first that is alike, by their paths


def traced(build: Callable, dims: Dims) -> tuple[Trace, Any, Any]:
    """Trace a model, of which all layers run once, and at other sizes only
    the first of those that are alike; and give the shapes of its parameters
    and of its cache in each run."""
    model, inputs = build(**run_sizes(dims))
    whole = trace(model, *inputs)
    alike, found = twins(whole), SimpleQueue()  # a list would be put back

    def built(**sizes: int) -> Any:
        model, inputs = build(**sizes)
        shorten(model, alike)
        model.register_forward_hook(
            lambda model, _, result: found.put(
                (str(sizes), (parameter_shapes(model), cache_shapes(result)))
            )
        )
        return model, inputs

    try:
        record = as_twins(whole, trace(build=built, dims=dims), alike)
    except Exception:  # a layer gives something to others, or is run by them
        alike.clear()
        record = trace(build=built, dims=dims)
    shapes = dict(found.get() for _ in range(found.qsize()))
    learned, kept = zip(*(shapes[str(x.sizes)] for x in record._calls.runs))
    return record, [*learned], [cache_shapes(whole.result), *kept[1:]]


def layer_steps(record: Trace) -> dict[str, list[Step]]:
    """List the steps of each layer, the outermost that they are in, by its
    path, and under "" those outside."""
    steps = defaultdict[str, list[Step]](list)
    for step in record.steps:
        steps[layer_of(step)].append(step)
    return steps


def layer_of(step: Step) -> str:
    """The path of the layer that a step is in; "" outside of all."""
    layer, visit = "", step.visit
    while visit:
        if found := LAYER_PATH.match(visit.path):
            layer = found[0]
        visit = visit.parent
    return layer


def twins(record: Trace) -> Twins:
    """Find of each layer the first in its list with such calls and shapes."""
    alike, first = Twins(), dict[Any, str]()
    for path, steps in layer_steps(record).items():
        if path:
            layer = root_module(record.model).get_submodule(path)
            learned = parameter_shapes(layer)
            calls = [(step.call, str(step_shapes(step))) for step in steps]
            look = path.rpartition(".")[0], type(layer), *learned, *calls
            alike[path] = first.setdefault(look, path)
    return alike


def shorten(model: nn.Module, alike: Twins) -> None:
    """Let each layer give what the first that is alike has given."""
    given = dict[str, Any]()
    for path, twin in alike.items():
        layer = model.get_submodule(path)
        if path == twin:
            layer.register_forward_hook(
                lambda *run, path=path: given.update({path: run[-1]})
            )
        else:
            layer.forward = lambda *_, twin=twin, **__: given[twin]


def as_twins(whole: Trace, short: Trace, alike: Twins) -> Trace:
    """Name the axes of a run by those of one in which some layers stand for
    others; ValueError where they do other things there."""
    named = defaultdict[str, list[Axes]](list)
    for step, axes in zip(short.steps, short.axes):
        named[layer_of(step)].append(axes)
    turns = {path: iter(named[alike.get(path, "")]) for path in [*alike, ""]}
    axes = [next(turns[layer_of(x)], None) for x in whole.steps]
    if None in axes or any(next(turn, None) for turn in turns.values()):
        raise ValueError("layers do not stand for each other")
    run, proved = whole._calls.run, short._calls
    run.sizes = proved.run.sizes
    calls = Calls(run, proved.runs[1:], proved.notes, proved.given)
    vars(calls)["axes"] = axes
    return Trace(calls, whole._call)
