"""Which kinds of parts a model has, read off its modules and its trace."""

import copy
import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from model_cards.costs import FACTORS
from shapewatch.properties.structure import is_norm
from shapewatch.tracing.axes.sizes import Sizes
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.tracer import Trace

LAYER_PATH = re.compile(r".*?\.\d+(?=\.|$)")
PLACE_TABLES = re.compile(r"pos(ition)?s?(_|\b)|wpe")
QUERY_NORM = re.compile(r"\b[qk]_?(layer)?norm")
ADDITIONS = "__add__", "add", "__iadd__", "add_"
# By whether norms of a layer stand before its parts, after them, or after the
# sum with what goes past them.
NORM_PLACES = {
    ("before",): "before each part",
    ("after",): "after each part",
    ("after", "before"): "before and after each part",
    ("sum",): "after each sum",
}
TABLE_COUNTS = "", "one table", "two tables", "three tables"


def part_kinds(record: Trace, config: Any = None) -> dict[str, str]:
    """Say which kind of each part a model has, in some words; what a model
    does not have is left out."""
    model, sizes = root_module(record.model), record._calls.run.sizes
    paths = [path for path, _ in model.named_modules()]
    query_norms = any(map(QUERY_NORM.search, paths))
    kinds = {
        "stacks": stacks(sizes),
        "heads": heads(sizes),
        "window": window(config),
        "positions": positions(model),
        "norm": norm(model),
        "norm place": norm_place(record),
        "norm of queries and keys": "before the scores" * query_norms,
        "feed-forward": feed_forward(record),
        "expert layers": experts(sizes, paths),
        "biases": biases(model),
        "embedding and output": tables(sizes, model),
    }
    return {name: text for name, text in kinds.items() if text}


def stacks(sizes: Sizes) -> str:
    """Say which stacks there are: where the words are told apart, each sees
    those before it in a decoder, and all in an encoder."""
    if "S" in sizes and "T" in sizes:
        return "encoder and decoder"
    return "encoder" if "S" in sizes else "decoder"


def heads(sizes: Sizes) -> str:
    """Say how heads share keys and values."""
    if "kv_rank" in sizes:
        return "keys and values of all heads from one short vector"
    if "kv_heads" not in sizes:
        return "keys and values for each head"
    if sizes["kv_heads"] == 1:
        return "one key and one value for all heads"
    return f"{sizes['group']} heads share keys and values"


def window(config: Any) -> str:
    """Say how far attention looks, where that is not everywhere."""
    names = "local_attention", "sliding_window"
    widths = (getattr(config, name, None) for name in names)
    width = next(filter(None, widths), 0)
    layers = getattr(config, "layer_types", None) or ["sliding_attention"]
    near = [layer for layer in layers if layer.startswith("sliding")]
    if not width or not near:
        return ""
    where = f"{len(near)} of {len(layers)}" if near != layers else "all"
    return f"{width:,} positions in {where} layers"


def positions(model: nn.Module) -> str:
    """Say how a model knows the order of its words."""
    kinds = " ".join({type(x).__name__ for x in model.modules()})
    learned = {
        weight.requires_grad
        for path, weight in model.named_parameters()
        if PLACE_TABLES.search(path)
    }
    ways = {
        "turned queries and keys": "Rotary" in kinds,
        "a bias by distance": any(
            "relative_att" in path for path, _ in model.named_modules()
        ),
        "sinusoids": "Sinus" in kinds or False in learned,
        "learned": True in learned,
    }
    return ", ".join(text for text, there in ways.items() if there)


def norm(model: nn.Module) -> str:
    """Tell a LayerNorm from an RMSNorm, by what it does to numbers that are
    all larger by one: a LayerNorm takes the mean away."""
    for module in filter(is_norm, model.modules()):
        layer = copy.deepcopy(module).to_empty(device="cpu").float()
        for weight in layer.parameters():
            nn.init.constant_(weight, 1)
        width = next((x.numel() for x in layer.parameters()), 0)
        if width > 1:
            x = torch.linspace(-1, 1, width)[None]
            same = torch.allclose(layer(x), layer(x + 1), atol=1e-3)
            return "LayerNorm" if same else "RMSNorm"
    return ""


def first_layer(record: Trace) -> list[Step]:
    """Give the steps of the first layer that attends."""
    for step in filter(is_attention, record.steps):
        if layer := LAYER_PATH.match(step.visit.path):
            path = f"{layer[0]}."
            return [
                x for x in record.steps if f"{x.visit.path}.".startswith(path)
            ]
    return []


def is_attention(step: Step) -> bool:
    """Whether a step makes the weights of an attention."""
    softmax = "softmax" in step.name and len(step.makes[0].shape) > 3
    return softmax or step.name == "scaled_dot_product_attention"


def is_sum(step: Step) -> bool:
    """Whether a step adds two tensors of one shape."""
    shapes = {mark.shape for mark in step.reads}
    return step.name in ADDITIONS and len(step.reads) == 2 and len(shapes) == 1


def norm_place(record: Trace) -> str:
    """Say where the norms of a layer stand.

    A norm before a part reads a sum, or what comes into the layer, and what
    it makes goes into none; one after a part is in the sum; one after the sum
    reads one, and its result goes past the next part, too.
    """
    steps, sums = first_layer(record), list(filter(is_sum, record.steps))
    made = {mark.number for step in steps for mark in step.makes}
    summed = {mark.number for step in sums for mark in step.makes}
    addends = {mark.number for step in sums for mark in step.reads}
    places = set[str]()
    for source, result in norm_numbers(record, steps):
        reads_sum = source in summed or source not in made
        if result in addends:
            places.add("sum" if reads_sum else "after")
        else:
            places.add("before")
    return NORM_PLACES.get(tuple(sorted(places)), "")


def norm_numbers(
    record: Trace, steps: list[Step]
) -> Iterator[tuple[int, int]]:
    """Give what each norm in some steps reads and makes, by their numbers,
    without those of queries and keys."""
    paths = {step.visit.path for step in steps}
    model = root_module(record.model)
    norms = {
        path
        for path, module in model.named_modules(remove_duplicate=False)
        if path in paths and is_norm(module) and not QUERY_NORM.search(path)
    }
    for visit in record._calls.run.visits:
        if visit.path in norms and visit.makes:
            yield visit.given[0].number, visit.makes[0].number


def feed_forward(record: Trace) -> str:
    """Tell a gated feed-forward layer, in which two products go up for one
    that goes down, from a plain one."""
    steps, width = first_layer(record), record._calls.run.sizes.get("C", 0)
    last = max((i for i, x in enumerate(steps) if is_attention(x)), default=0)
    up = down = 0
    for step in steps[last:]:
        if step.name in FACTORS:
            ins = step.reads[FACTORS[step.name]].shape[-1]
            *_, rows, outs = 1, *step.makes[0].shape
            outs = rows if outs == 1 else outs  # an expert's, for one word
            up += outs * (ins == width != outs)
            down += ins * (outs == width and up > 0)
    return ("gated" if up > 1.5 * down else "plain") if down else ""


def experts(sizes: Sizes, paths: list[str]) -> str:
    """Say how many experts there are, and how many work for a word."""
    if "experts" not in sizes:
        return ""
    shared = any("shared_expert" in path for path in paths)
    more = ", and one for every word" * shared
    some = sum(path.endswith(".experts") for path in paths)
    layers = sum(path.endswith((".self_attn", ".attn")) for path in paths)
    where = f", in {some} of {layers} layers" * (some < layers)
    return f"{sizes['top_k']} of {sizes['experts']} for each word{more}{where}"


def biases(model: nn.Module) -> str:
    """Say which products of matrices add a bias."""
    weights = {path for path, x in model.named_parameters() if x.dim() > 1}
    biased = [
        isinstance(getattr(module, "bias", None), Tensor)
        for path, module in model.named_modules()
        if f"{path}.weight" in weights and not isinstance(module, nn.Embedding)
    ]
    if not any(biased):
        return ""
    layers = biased if biased[-1] else biased[:-1]  # without the head
    return "in all products" if all(layers) else "in some products"


def tables(sizes: Sizes, model: nn.Module) -> str:
    """Say how many tables of words there are: one may serve to read a source
    and a target, and to write."""
    kinds = nn.Embedding | nn.Linear
    weights = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, kinds) and len(module.weight) == sizes.get("V")
    }
    return TABLE_COUNTS[len(weights)]
