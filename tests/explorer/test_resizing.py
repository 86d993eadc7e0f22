"""The page with sliders: what it says of a preset at any sizes is what a model
of these sizes has, makes and needs."""

import json
import re
import tomllib
from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import Path
from random import Random

import pytest
import sizes
import torch
from model_cards.configs import Plan
from model_cards.costs import axis_size, cache_shapes
from sizes import BLOCK, build_preset, probes
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from explorer.scripts import FOLDER
from shapewatch.tracing import flops
from shapewatch.tracing.axes.sizes import plain_sizes, run_sizes
from tests.helpers.project import ROOT
from tests.helpers.scripts import answer
from tformer_lite import cached, trace

MODULES = [FOLDER / "sizes.mjs"]
PAGE = json.loads(sizes.SIZES_FILE.read_text("utf8"))
BERT = "src_embedding.tokens.bert"
COMPUTED = """({preset, tried}) => tried.map((sizes) => {
  const costs = new Costs(preset);
  const every = costs.every(sizes);
  const shapes = costs.steps.map((step) => [step.path, step.call,
    step.shapes.map((shape) => shape.map(({size}) => size(every)))]);
  return {...costs.totals(every), shapes};
})"""
SAID = """(texts) => texts.map((text) => {
  try {
    return formula(text)({B: 2, T: 3, S: 5});
  } catch (error) {
    return error.message;
  }
})"""


def own_of(name: str) -> dict[str, int]:
    """The sizes of a preset that can be chosen."""
    return plain_sizes(PAGE[name]["dims"])


def tried(name: str) -> list[dict[str, int]]:
    """Sizes that no formula was found at, or tried at; the smallest, too."""
    random, own = Random(name), own_of(name)
    least = {"D": 2, **PAGE[name]["least"]}
    found = [{n: least.get(n, 1) for n in own}]
    for _ in range(3):
        drawn = {n: random.randint(least.get(n, 1), 17) for n in own}
        found.append(drawn | {"n_layers": random.randint(1, 4)})
    for one in found:
        if "max_len" in own:
            one["max_len"] = max(one["T"], one.get("S", 0)) + 3
    assert not [one for one in found[1:] if one in probes(list(own))]
    return found


def computed(preset: dict, some: list[dict[str, int]]) -> list[dict]:
    """What the page computes of a preset, or of a card, at some sizes."""
    return answer(MODULES, COMPUTED, {"preset": preset, "tried": some})


def kept(model: nn.Module, *ids: Tensor) -> int:
    """The bytes that training keeps, counted as chapter 16 does."""
    storages = {}

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return x

    with torch.enable_grad(), saved_tensors_hooks(keep, lambda x: x):
        model.train()(*ids)
    for weight in model.eval().parameters():
        storages.pop(weight.data_ptr(), None)
    return sum(storages.values())


def cache(model: nn.Module, *ids: Tensor) -> int:
    """The bytes of all keys and values, as chapter 16 counts them."""
    keeper = cached(model)
    keeper(*ids)
    found = (vars(part).get(n) for part in keeper.modules()
             for n in ("keys", "values"))  # fmt: skip
    return sum(x.nbytes for x in found if isinstance(x, Tensor))


def made(model: nn.Module, *ids: Tensor) -> Iterator[list]:
    """The sizes of all that a run makes; of equal blocks the first."""
    seen = trace(model, *ids)
    for step, row in zip(seen.steps, seen.calls().rows):
        path, number = step.visit.path, BLOCK.match(step.visit.path)
        checks = Path(step.code.co_filename).stem == "checks"
        later = number and number[2] != "0"
        if checks or later or f"{path}.".startswith(f"{BERT}."):
            continue
        path = BLOCK.sub(r"\1.blocks.*", path)
        shapes = [[axis.size for axis in shape] for shape in row.outputs]
        yield [path, row.call, shapes]


MARKS = dict.fromkeys(PAGE, pytest.mark.full) | {"building_blocks": ()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MARKS[name]) for name in PAGE]
)
def test_shapes_and_costs_are_those_of_a_model_of_these_sizes(name):
    for chosen, said in zip(tried(name), computed(PAGE[name], tried(name))):
        model, ids = build_preset(sizes.PRESETS[name], **chosen)
        with torch.no_grad():
            shapes = [x for x in said.pop("shapes") if x[0] != BERT]
            assert shapes == list(made(model, *ids))
            assert said == {
                "parameters": sum(p.numel() for p in model.parameters()),
                "flops": flops(model, *ids)[""].flops,
                "activations": kept(model, *ids),
                "cache": cache(model, *ids),
            }, chosen


@pytest.mark.full
def test_the_page_has_the_formulas_that_are_found_now():
    """Of the running model; all of them hold at other sizes, as above."""
    name = "tiny_translator"
    with torch.no_grad():
        now = json.loads(sizes.text_of({name: sizes.preset_data(name)}))
    assert now[name] == PAGE[name], "they are old: run `make sizes`"


MODELS = tomllib.loads((ROOT / "book/_tools/atlas.toml").read_text("utf8"))
CARDS = json.loads((sizes.BOOK / "_static" / "atlas.json").read_text("utf8"))
# One that writes, one with two kinds of layers, one that reads and writes,
# one that sees, and one that reads.
SOME = "llama_3_8b", "deepseek_v3", "t5_base", "vit_b_16", "bert_base"


def drawn(name: str) -> dict[str, int]:
    """Sizes of a card that can be: Llama's C is divisible by H, and DeepSeek's
    experts are chosen in groups."""
    random, dims = Random(name), CARDS[name]["dims"]
    own = plain_sizes(dims)
    found = {n: 2 * random.randint(1, 5) for n in own}
    some = {"C": 4 * run_sizes(dims | found)["H"], "experts": 32, "top_k": 6}
    found |= {n: size for n, size in some.items() if n in own}
    return found | {"n_layers": random.randint(4, 6)}


def built(name: str, n_layers: int, **chosen: int) -> tuple:
    """A model of a card's kind, with other sizes, and what it reads."""
    library = pytest.importorskip("transformers")
    kind, config = (MODELS[name][x] for x in ("model", "config"))
    layers = dict.fromkeys((n for n in config if "layers" in n), n_layers)
    plan = Plan(getattr(library, kind), config | layers)
    return plan.build(**run_sizes(CARDS[name]["dims"] | chosen))


@pytest.mark.parametrize("name", SOME)
def test_a_card_at_other_sizes_is_a_model_of_transformers_of_these(name):
    chosen = drawn(name)
    [said] = computed(CARDS[name], [chosen])
    model, inputs = built(name, **chosen)
    with torch.no_grad():
        kept = cache_shapes(model(*inputs))
        assert said["parameters"] == sum(p.numel() for p in model.parameters())
        assert said["flops"] == flops(model, *inputs)[""].flops
        assert said.get("cache", 0) == 2 * sum(prod(x) for _, x in kept)
    assert "activations" not in said


def test_formulas_are_read_as_the_tracer_writes_them_or_it_is_said_why():
    right = {"2B*T": 12, "3B*(T-2)": 6, "(3T-1)/2": 4, "⌈S/2⌉*B+1": 7}
    right |= {"⌊(T+2)/2⌋": 2, "-B+12": 10, "7": 7}
    wrong = {
        "2X": "2X: X has no size.",
        "B$": "B$: what does $ mean?",
        "(B": "(B: ( needs a ).",
    }
    both = right | wrong
    assert answer(MODULES, SAID, [*both]) == [*both.values()]


def at(text: str) -> dict[str, int]:
    """Sizes of a model, with those that a button of the page sets, which has
    this in it."""
    page = (ROOT / "book" / "resize.md").read_text("utf8")
    [button] = re.findall(rf'data-sizes="([^"]*{text}[^"]*)"', page)
    (_, name), *pairs = (pair.split("=") for pair in button.split("&amp;"))
    own = plain_sizes((PAGE | CARDS)[name]["dims"])
    return own | {n: int(size) for n, size in pairs}


def work_in(preset: dict, chosen: dict[str, int], path: str) -> int:
    """The operations of a part, once, at some sizes."""
    every = run_sizes(preset["dims"] | chosen)
    steps = (x for x in preset["steps"] if x["path"].startswith(path))
    return sum(axis_size(x.get("flops", "0"), every) for x in steps)


def test_attention_and_feed_forward_meet_where_the_page_says():
    chosen, path = at("S="), "encoder.blocks.*."
    work = partial(work_in, PAGE["paper_base"], chosen)
    assert work(f"{path}self_attention") == work(f"{path}feed_forward") > 0
    chosen, path = at("llama_3_8b"), "model.layers.*."
    work = partial(work_in, CARDS["llama_3_8b"], chosen)
    assert work(f"{path}self_attn") == work(f"{path}mlp") > 0
    config = MODELS["llama_3_8b"]["config"]
    assert chosen["T"] == 2 * config["max_position_embeddings"]
