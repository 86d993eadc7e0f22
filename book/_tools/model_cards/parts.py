"""Which kinds of parts a model has, read off its modules and its trace."""

import copy
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from model_cards.configs import REACH
from model_cards.costs import FACTORS
from model_cards.layers import layer_of, layer_steps
from model_cards.sights import Sight, attends, is_attention
from shapewatch.properties.structure import is_norm
from shapewatch.tracing.axes.names import Axis
from shapewatch.tracing.axes.sizes import Sizes
from shapewatch.tracing.calls import Axes
from shapewatch.tracing.record.models import root_module
from shapewatch.tracing.record.recorder import Step, sources_of
from shapewatch.tracing.traced import Trace

PLACE_TABLES = re.compile(r"pos(ition)?s?(_|\b)|wpe")
QUERY_NORM = re.compile(r"\b[qk]_?(layer)?norm")
SCALES = "__mul__", "mul", "__imul__", "__truediv__", "div"
# What norms are made of, and activations, by the names of torch's calls.
NORMS = {"rsqrt", "rms_norm", "layer_norm", "normalize"}
ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU", "erf": "GELU", "tanh": "GELU"}
ACTIVATIONS |= {"silu": "SiLU", "sigmoid": "SiLU"}
SQUARES = {"square", "pow", "__pow__"}
ADDITIONS = "__add__", "add", "__iadd__", "add_"
# By whether norms of a layer stand before its parts, after them, or after the
# sum with what goes past them.
NORM_PLACES = {
    ("before",): "before each part",
    ("after",): "after each part",
    ("after", "before"): "before and after each part",
    ("sum",): "after each sum",
}
NONE = Axis(0, "", "unknown")  # of a step that is no product
Product = tuple[Step, Axis, Axis]
TABLE_COUNTS = "", "one table", "two tables", "three tables"


def part_kinds(
    record: Trace, sights: list[Sight], config: Any = None
) -> dict[str, str]:
    """Say which kind of each part a model has, in some words; what a model
    does not have is left out."""
    model, sizes = root_module(record.model), record._calls.run.sizes
    layers, feed = layer_steps(record), feed_steps(record, sights)
    kinds = {
        "stacks": stacks(sizes),
        "heads": heads(sizes) * attends(record.steps, sizes),
        "recurrent layers": share(sights, lambda x: x.kind == "recurrent"),
        "convolutions": share(sights, lambda x: x.kind == "convolution"),
        "feed-forward layers alone": share(
            sights, lambda x: x.kind == "alone"
        ),
        "window": window(config, sights),
        "positions": positions(model),
        "layers without positions": blind(sights),
        "norm": norm(model),
        "norm place": norm_place(record),
        **score_kinds(record),
        "feed-forward": feed_forward(feed),
        "activation": activation(feed),
        "expert layers": experts(sizes, layers),
        "biases": biases(model),
        "embedding and output": tables(sizes, model),
        "limit of the logits": "by tanh"
        * any(x.name == "tanh" for x in record.steps if not layer_of(x)),
    }
    return {name: text for name, text in kinds.items() if text}


def share(sights: list[Sight], holds: Callable[[Sight], bool]) -> str:
    """Say in how many layers something holds, if in any."""
    some = sum(map(holds, sights))
    return f"{some} of {len(sights)}" * bool(some)


def blind(sights: list[Sight]) -> str:
    """Say how many layers attend to all, whatever their order, if others
    know it."""
    some = [x for x in sights if x.attends]
    if not any(x.ordered for x in some):
        return ""
    return share(sights, lambda x: x.kind == "attention" and not x.ordered)


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


def window(config: Any, sights: list[Sight]) -> str:
    """Say how far attention looks, where that is not everywhere."""
    near = [sight for sight in sights if sight.kind == "near"]
    widths = (getattr(config, name, None) for name in sorted(REACH))
    width = next((x for x in widths if isinstance(x, int) and x), 0)
    if not width or not near:
        return ""
    some = f"{len(near)} of {len(sights)}"
    where = some if len(near) < len(sights) else "all"
    blocks = ", in blocks" * near[0].in_blocks
    return f"{width:,} positions in {where} layers{blocks}"


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
        x = torch.linspace(-1, 1, width or 9)[None]
        with suppress(TypeError, RuntimeError):  # it reads more than this
            same = torch.allclose(layer(x), layer(x + 1), atol=1e-3)
            return "LayerNorm" if same else "RMSNorm"
    return ""


def first_layer(record: Trace) -> list[Step]:
    """Give the steps of the first layer that attends."""
    sizes = record._calls.run.sizes
    layers = (steps for path, steps in layer_steps(record).items() if path)
    return next((x for x in layers if attends(x, sizes)), [])


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


def feed_steps(record: Trace, sights: list[Sight]) -> list[Product]:
    """Give the steps of a feed-forward layer from its first product on: of
    one after an attention, or of one that is a layer of its own. With each
    stand the axis that it sums over, if it is a product, and its last."""
    sizes, layers = record._calls.run.sizes, dict[str, list[Product]]()
    for step, axes in zip(record.steps, record.axes):
        made = step, *product_axes(step, axes)
        layers.setdefault(layer_of(step), []).append(made)
    layers.pop("", None)
    order = "alone", "recurrent", "convolution"  # and first what attends
    ranks = [x.kind in order and 1 + order.index(x.kind) for x in sights]
    pairs = zip(ranks or [0] * len(layers), layers.values())
    for _, steps in sorted(pairs, key=lambda pair: pair[0]):
        last = [i for i, x in enumerate(steps) if is_attention(x[0], sizes)]
        for i, (_, ins, outs) in enumerate(steps):
            if i > max(last, default=0) and is_up(ins, outs):
                return steps[i:]
    return []


def product_axes(step: Step, axes: Axes) -> tuple[Axis, Axis]:
    """Give the axis that a product of matrices sums over, and the last that
    a step makes."""
    reads, (made, *_) = axes
    *_, rows, outs = NONE, NONE, *made
    if step.name not in FACTORS:
        return NONE, outs
    outs = rows if outs.size == 1 else outs  # an expert's, for one word
    return reads[FACTORS[step.name]][-1], outs


def is_up(ins: Axis, outs: Axis) -> bool:
    """Whether a product goes from the channels of a word to others."""
    return ins.name == "C" != outs.name


def feed_forward(steps: list[Product]) -> str:
    """Tell a gated feed-forward layer, in which two products go up for one
    that goes down, from a plain one."""
    up = sum(outs.size for _, ins, outs in steps if is_up(ins, outs))
    down = sum(ins.size for _, ins, outs in steps if is_up(outs, ins))
    return ("gated" if up > 1.5 * down else "plain") if down else ""


def activation(feed: list[Product]) -> str:
    """Name what is between the products of a feed-forward layer; a router's
    choice of experts is none."""
    names = [
        x.name for x, _, outs in feed if outs.name not in ("1", "experts")
    ]
    for i, name in enumerate(names):
        if kind := ACTIVATIONS.get(name):
            follows = "".join(names[i + 1 : i + 2])
            return f"{kind}, squared" if follows in SQUARES else kind
    return ""


def score_kinds(record: Trace) -> dict[str, str]:
    """Say what is done with scores, and before them with queries and keys.

    What an attention is made of is found backwards: to the products that
    make scores, and from there to those that make queries and keys.
    """
    steps, sources = record.steps, sources_of(record.steps)
    sizes = record._calls.run.sizes
    made = [i for i, x in enumerate(steps) if is_attention(x, sizes)][:1]
    if not made:
        return {}
    after, scores = way_back(steps, sources, made)
    reads = [j for i in scores for j in sources[i]]
    before, _ = way_back(steps, sources, reads)
    layer, names = layer_of(steps[made[0]]), {steps[i].name for i in after}
    own = [steps[i] for i in (*before, *after, *scores)]
    own = [step for step in own if layer_of(step) == layer]
    divided = is_divided(record, steps[made[0]], own)
    says = ["divided" if divided else "not divided"]
    says += ["kept within limits by tanh"] * ("tanh" in names)
    says += ["with a learned one more for each head"] * ("cat" in names)
    normed = any(
        x.name in NORMS or QUERY_NORM.search(x.visit.path) for x in own
    )
    return {
        "scores": ", ".join(says),
        "norm of queries and keys": "before the scores" * normed,
    }


def is_divided(record: Trace, weights: Step, steps: list[Step]) -> bool:
    """Whether scores, or queries, are multiplied by a number; by one does
    not count."""
    modules = dict(root_module(record.model).named_modules())
    if getattr(modules.get(weights.visit.path), "scaling", None) == 1:
        return False
    return weights.name == "scaled_dot_product_attention" or any(
        step.name == "baddbmm"
        or (step.name in SCALES and len(step.reads) == 1)
        for step in steps
    )


def way_back(
    steps: list[Step], sources: list[list[int | None]], ends: list
) -> tuple[list[int], list[int]]:
    """Find the steps that led to some, back to products of matrices, and
    those products."""
    found, products, todo = dict[int, None](), dict[int, None](), [*ends]
    while todo:
        i = todo.pop()
        if i is None or i in found or i in products:
            continue
        if steps[i].name in FACTORS:
            products[i] = None
        else:
            found[i] = None
            todo += sources[i]
    return [*found], [*products]


def experts(sizes: Sizes, layers: dict[str, list[Step]]) -> str:
    """Say how many experts there are, and how many work for a word."""
    if not {"experts", "top_k"} <= sizes.keys():
        return ""
    paths = [[x.visit.path for x in steps] for x, steps in layers.items() if x]
    shared = any("shared_expert" in path for path in chain(*paths))
    has = [any(".experts" in path for path in some) for some in paths]
    if not any(has):
        return ""
    more = ", and one for every word" * shared
    where = f", in {sum(has)} of {len(has)} layers" * (not all(has))
    dense = has.index(True)
    where += f", after {dense} without" * (dense == has.count(False) > 0)
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
