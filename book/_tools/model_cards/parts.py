"""Which kinds of parts a model has, read off its configuration, its modules
and its trace."""

import copy
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

from model_cards import NAMES
from model_cards.costs import Formula, product
from model_cards.layers import layer_steps
from shapewatch.properties.structure import is_norm
from shapewatch.tracing.axes.sizes import Sizes
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Step
from shapewatch.tracing.record.visits import Visit
from shapewatch.tracing.traced import Trace

PLACE_TABLES = re.compile(r"pos(ition)?s?(_|\b)|wpe")
QUERY_NORM = re.compile(r"(?<!indexer\.)\b(q|k|qk)_?(layer)?norm")
ADDITIONS = "__add__", "add", "__iadd__", "add_"
# By which letter words have there: each sees all, or those before it.
STACKS = {"encoder": "S", "decoder": "T"}
NEAR = "sliding_attention", "chunked_attention"


def part_kinds(
    record: Trace, parameters: Formula, config: Any = None
) -> dict[str, str]:
    """Say which kind of each part a model has, in some words; what a model
    does not have is left out."""
    model, sizes = root_module(record.model), record._calls.run.sizes
    paths = [path for path, _ in model.named_modules()]
    normed = any(map(QUERY_NORM.search, paths))
    attends = any(map(is_attention, record.steps))
    kinds = {
        "stacks": " and ".join(x for x in STACKS if STACKS[x] in sizes),
        "heads": heads(sizes) * attends,
        **layer_kinds(config),
        "positions": positions(model),
        "norm": norm(model),
        "norm place": norm_place(record),
        "scores": scores(model, config) * attends,
        "norm of queries and keys": "before the scores" * normed,
        "feed-forward": feed_forward(parameters),
        "activation": activation(config),
        "expert layers": experts(sizes, paths, config),
        "biases": biases(model),
        "embedding and output": tables(sizes, model),
        "limit of the logits": "by tanh"
        * bool(getattr(config, "final_logit_softcapping", 0)),
    }
    return {name: text for name, text in kinds.items() if text}


def heads(sizes: Sizes) -> str:
    """Say how heads share keys and values."""
    if "kv_rank" in sizes:
        return "keys and values of all heads from one short vector"
    if "kv_heads" not in sizes:
        return "keys and values for each head"
    if sizes["kv_heads"] == 1:
        return "one key and one value for all heads"
    return f"{sizes['group']} heads share keys and values"


def layer_kinds(config: Any) -> dict[str, str]:
    """Say how many layers are of which kind, as a configuration has them."""
    kinds = Counter(getattr(config, "layer_types", None) or NEAR[:1])
    turned = getattr(config, "no_rope_layers", None) or [1]
    counts = {
        name: sum(kinds[x] for x in some)
        for name, some in NAMES["layers"].items()
    }
    parts = {x: f"{n} of {kinds.total()}" for x, n in counts.items() if n}
    near = sum(kinds[x] for x in NEAR)
    width = value(config, "windows")
    if near and width:
        some = f"{near} of {kinds.total()}"
        where = some if near < kinds.total() else "all"
        blocks = ", in blocks" * (kinds[NEAR[1]] > 0)
        parts["window"] = f"{width:,} positions in {where} layers{blocks}"
    if blind := turned.count(0):
        parts["layers without positions"] = f"{blind} of {len(turned)}"
    return parts


def value(config: Any, what: str) -> Any:
    """Give what a configuration says under the first key that it has."""
    values = (getattr(config, key, None) for key in NAMES["keys"][what])
    return next(filter(None, values), "")


def positions(model: nn.Module) -> str:
    """Say how a model knows the order of its words."""
    kinds = " ".join({type(x).__name__ for x in model.modules()})
    learned = {
        weight.requires_grad
        for path, weight in model.named_parameters()
        if PLACE_TABLES.search(path)
    }
    paths = " ".join(path for path, _ in model.named_modules())
    ways = {
        "turned queries and keys": "Rotary" in kinds,
        "a bias by distance": "relative_att" in paths,
        "sinusoids": "Sinus" in kinds or False in learned,
        "learned": True in learned,
    }
    return ", ".join(text for text, there in ways.items() if there)


def norm(model: nn.Module) -> str:
    """Tell a LayerNorm from an RMSNorm, by what it does to numbers that are
    all larger by one: a LayerNorm takes the mean away."""
    for module in filter(is_norm, model.modules()):
        layer = copy.deepcopy(module).to_empty(device="cpu").float()
        widths = [nn.init.ones_(x).numel() for x in layer.parameters()]
        x = torch.linspace(-1, 1, *widths[:1] or [9])[None]
        with suppress(TypeError, RuntimeError):  # it reads more than this
            same = torch.allclose(layer(x), layer(x + 1), atol=1e-3)
            return "LayerNorm" if same else "RMSNorm"
    return ""


def is_attention(step: Step) -> bool:
    """Whether a step makes the weights of an attention."""
    softmax = "softmax" in step.name and len(step.makes[0].shape) > 3
    return softmax or step.name == "scaled_dot_product_attention"


def norm_place(record: Trace) -> str:
    """Say where the norms of the first layer that attends stand.

    A norm before a part reads a sum, or what comes into the layer, and what
    it makes goes into none; one after a part is in the sum; one after the sum
    reads one, and its result goes past the next part, too.
    """
    layers = (steps for path, steps in layer_steps(record).items() if path)
    steps = next((x for x in layers if any(map(is_attention, x))), [])
    adds = (x for x in record.steps if x.name in ADDITIONS)
    sums = [x for x in adds if len({y.shape for y in x.reads}) < len(x.reads)]
    made = {mark.number for step in steps for mark in step.makes}
    summed = {mark.number for step in sums for mark in step.makes}
    addends = {mark.number for step in sums for mark in step.reads}
    places = set[str]()
    for visit in norm_visits(record, {step.visit.path for step in steps}):
        source, result = visit.given[0].number, visit.makes[0].number
        after = "sum" if source in summed or source not in made else "after"
        places.add(after if result in addends else "before")
    if "sum" in places:
        return "after each sum" * (len(places) == 1)
    text = " and ".join(sorted(places, reverse=True))
    return f"{text} each part" * bool(text)


def norm_visits(record: Trace, paths: set[str]) -> Iterator[Visit]:
    """Give the runs of norms with some paths; those of queries are none."""
    model = root_module(record.model)
    modules = dict(model.named_modules(remove_duplicate=False))
    own = {x for x in paths & modules.keys() if not QUERY_NORM.search(x)}
    for visit in record._calls.run.visits:
        if visit.path in own and visit.makes and is_norm(modules[visit.path]):
            yield visit


def scores(model: nn.Module, config: Any) -> str:
    """Say what is done with scores, as far as a model tells."""
    scales = {getattr(x, "scaling", None) for x in model.modules()}
    says = ["not divided" if 1 in scales else "divided"]
    if getattr(config, "attn_logit_softcapping", 0):
        says.append("kept within limits by tanh")
    if any(path.endswith("sinks") for path, _ in model.named_parameters()):
        says.append("with a learned one more for each head")
    return ", ".join(says)


def feed_forward(parameters: Formula) -> str:
    """Tell a gated feed-forward layer, which has twice as many parameters on
    one side of its hidden channels as on the other, from a plain one."""
    sides = {True: [0, 0], False: [0, 0]}  # of experts, and of others
    for path, axes, times in parameters.lines:
        for side, axis in enumerate(axes[-2:] * (len(axes) > 1)):
            letters, number = product([axis])
            if {"F", "expert_F"} & {*letters} or (letters and number == 4):
                sides[".experts." in path][side] += number * times
    least, most = max(map(sorted, sides.values()))
    return ("gated" if most > 1.5 * least else "plain") if least else ""


def activation(config: Any) -> str:
    """Name the activation of a configuration."""
    name = value(config, "activation")
    names = NAMES["activations"].items()
    return next((x for start, x in names if name.startswith(start)), name)


def experts(sizes: Sizes, paths: list[str], config: Any) -> str:
    """Say how many experts there are, and how many work for a word."""
    some = sum(path.endswith(".experts") for path in paths)
    if not some or not {"experts", "top_k"} <= sizes.keys():
        return ""
    more = ", and one for every word"
    more *= any("shared_expert" in path for path in paths)
    many = config.num_hidden_layers
    where = f", in {some} of {many} layers" * (some < many)
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
    """Say how many tables of words there are: one may serve several times."""
    kinds = nn.Embedding | nn.Linear
    weights = {
        id(module.weight)
        for module in model.modules()
        if isinstance(module, kinds) and len(module.weight) == sizes.get("V")
    }
    return ("", "one table", "two tables", "three tables")[len(weights)]
