"""Which kinds of parts a model has, read off its modules and its trace."""

import copy
import re
from typing import Any

import torch
from torch import Tensor, nn

from model_cards.costs import FACTORS
from shapewatch.properties.structure import is_norm
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.tracer import Trace

LAYER_PATH = re.compile(r".*?\.\d+(?=\.|$)")
PLACE_TABLES = re.compile(r"pos(ition)?s?(_|\b)|wpe")
QUERY_NORM = re.compile(r"\b[qk]_?(layer)?norm")
ADDITIONS = "__add__", "add", "__iadd__", "add_"


def part_kinds(seen: Trace, config: Any = None) -> dict[str, str]:
    """Say which kind of each part a model has, in some words; what a model
    does not have is left out."""
    model, sizes = root_module(seen.model), seen._calls.run.sizes
    found = {
        "stacks": stacks(sizes),
        "heads": heads(sizes),
        "window": window(config),
        "positions": positions(model),
        "norm": norm(model),
        "norm place": norm_place(seen),
        "norm of queries and keys": "before the scores"
        * has_part(model, QUERY_NORM),
        "feed-forward": feed_forward(seen),
        "expert layers": experts(sizes, model),
        "biases": biases(model),
        "embedding and output": tables(sizes, model),
    }
    return {name: text for name, text in found.items() if text}


def has_part(model: nn.Module, pattern: re.Pattern[str]) -> bool:
    """Whether the path of a module fits a pattern."""
    return any(pattern.search(path) for path, _ in model.named_modules())


def stacks(sizes: dict[str, int]) -> str:
    """Say which stacks there are: where the words are told apart, each sees
    those before it in a decoder, and all in an encoder."""
    if "S" in sizes and "T" in sizes:
        return "encoder and decoder"
    return "encoder" if "S" in sizes else "decoder"


def heads(sizes: dict[str, int]) -> str:
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
    width = next((w for n in names if (w := getattr(config, n, None))), None)
    if width is None:
        return ""
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    some = [kind for kind in kinds if kind.startswith("sliding")]
    where = (
        "all" if len(some) == len(kinds) else f"{len(some)} of {len(kinds)}"
    )
    return f"{width:,} positions in {where} layers" if some else ""


def positions(model: nn.Module) -> str:
    """Say how a model knows the order of its words."""
    kinds = {type(x).__name__ for x in model.modules()}
    learned = {
        weight.requires_grad
        for path, weight in model.named_parameters()
        if PLACE_TABLES.search(path)
    }
    found = {
        "turned queries and keys": any("Rotary" in x for x in kinds),
        "a bias by distance": has_part(model, re.compile("relative_att")),
        "sinusoids": any("Sinus" in x for x in kinds) or False in learned,
        "learned": True in learned,
    }
    return ", ".join(text for text, there in found.items() if there)


def norm(model: nn.Module) -> str:
    """Tell a LayerNorm from an RMSNorm, by what it does to numbers that are
    all larger by one: a LayerNorm takes the mean away."""
    for module in filter(is_norm, model.modules()):
        tried = copy.deepcopy(module).to_empty(device="cpu").float()
        for weight in tried.parameters():
            nn.init.constant_(weight, 1)
        width = next((x.numel() for x in tried.parameters()), 0)
        if width > 1:
            x = torch.linspace(-1, 1, width)[None]
            same = torch.allclose(tried(x), tried(x + 1), atol=1e-3)
            return "LayerNorm" if same else "RMSNorm"
    return ""


def first_layer(seen: Trace) -> list[Step]:
    """Give the steps of the first layer that attends."""
    for step in seen.steps:
        layer = LAYER_PATH.match(step.visit.path)
        if layer and is_attention(step):
            inside = f"{layer[0]}."
            return [
                x for x in seen.steps if f"{x.visit.path}.".startswith(inside)
            ]
    return []


def is_attention(step: Step) -> bool:
    """Whether a step makes the weights of an attention."""
    softmax = "softmax" in step.name and len(step.makes[0].shape) > 3
    return softmax or step.name == "scaled_dot_product_attention"


def norm_place(seen: Trace) -> str:
    """Say where the norms of a layer stand: before its parts, after them, or
    after the sum with what goes past them.

    A norm before a part reads a sum, and what it makes goes into none; one
    after a part is in the sum; one after the sum reads one, and its result
    goes past the next part, too.
    """
    kinds = dict(root_module(seen.model).named_modules())
    steps = first_layer(seen)
    layer = {step.visit.path for step in steps}
    summed = {m.number for x in seen.steps if is_sum(x) for m in x.makes}
    adds = {m.number for x in seen.steps if is_sum(x) for m in x.reads}
    made = {m.number for x in steps for m in x.makes}
    found = set[str]()
    for visit in seen._calls.run.visits:
        part = kinds.get(visit.path)
        if visit.path not in layer or not (part and visit.makes):
            continue
        if is_norm(part) and not QUERY_NORM.search(visit.path):
            source, goal = visit.given[0].number, visit.makes[0].number
            late = goal in adds
            early = source in summed or source not in made
            found.add(["before", "after", "sum"][late + (late and early)])
    return {
        "before": "before each part",
        "after": "after each part",
        "after before": "before and after each part",
        "sum": "after each sum",
    }.get(" ".join(sorted(found)), "")


def is_sum(step: Step) -> bool:
    """Whether a step adds two tensors of one shape."""
    shapes = {mark.shape for mark in step.reads}
    return step.name in ADDITIONS and len(step.reads) == 2 and len(shapes) == 1


def feed_forward(seen: Trace) -> str:
    """Tell a gated feed-forward layer, in which two products go up for one
    that goes down, from a plain one."""
    steps, width = first_layer(seen), seen._calls.run.sizes.get("C", 0)
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


def experts(sizes: dict[str, int], model: nn.Module) -> str:
    """Say how many experts there are, and how many work for a word."""
    if "experts" not in sizes:
        return ""
    shared = has_part(model, re.compile("shared_expert"))
    more = ", and one for every word" * shared
    paths = [path for path, _ in model.named_modules()]
    some = sum(path.endswith(".experts") for path in paths)
    of = sum(path.endswith((".self_attn", ".attn")) for path in paths)
    where = f", in {some} of {of} layers" * (some < of)
    return f"{sizes['top_k']} of {sizes['experts']} for each word{more}{where}"


def biases(model: nn.Module) -> str:
    """Say which products of matrices add a bias."""
    weights = {path for path, x in model.named_parameters() if x.dim() > 1}
    has = [
        isinstance(getattr(module, "bias", None), Tensor)
        for path, module in model.named_modules()
        if f"{path}.weight" in weights and not isinstance(module, nn.Embedding)
    ]
    layers = has[: -1 if has and not has[-1] else None]
    words = "in all products" if all(layers) else "in some products"
    return words if any(has) else ""


def tables(sizes: dict[str, int], model: nn.Module) -> str:
    """Say how many tables of words there are: one may serve to read a source
    and a target, and to write."""
    kinds = nn.Embedding | nn.Linear
    found = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, kinds) and len(module.weight) == sizes.get("V")
    }
    return ("", "one table", "two tables", "three tables")[len(found)]
