"""The page with sliders: what it says of a preset at any sizes is what a model
of these sizes has, makes and needs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import sizes
import torch
from sizes import BLOCK, Finder, NoFormulaError, build_preset, probes
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from shapewatch.cards.costs import axis_size
from shapewatch.tracing import flops
from shapewatch.tracing.axes.sizes import plain_sizes, run_sizes
from tests.helpers.project import ROOT
from tests.helpers.scripts import answer
from tformer_lite import cached, trace
from tformer_lite.explorer.scripts import FOLDER

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


@pytest.mark.parametrize(
    "name",
    [*list(PAGE)[:-1], pytest.param("bert_window", marks=pytest.mark.full)],
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
@pytest.mark.parametrize("name", PAGE)
def test_the_page_has_the_formulas_that_are_found_now(name):
    with torch.no_grad():
        now = json.loads(sizes.text_of({name: sizes.preset_data(name)}))
    assert now[name] == PAGE[name], "they are old: run `make sizes`"


def test_what_no_formula_gives_is_an_error():
    runs = probes(["B", "T", "H", "D", "V"])
    finder = Finder(runs)
    assert finder.text("it", [run["B"] * run["T"] for run in runs]) == "B*T"
    with pytest.raises(NoFormulaError, match="it: no formula gives"):
        finder.text("it", [run["B"] ** run["T"] for run in runs])


def test_formulas_are_read_as_the_tracer_writes_them_or_it_is_said_why():
    right = {"2B*T": 12, "3B*(T-2)": 6, "(3T-1)/2": 4, "⌈S/2⌉*B+1": 7}
    right |= {"2(B+T)*S-1": 49, "⌊(T+2)/2⌋": 2, "-B+12": 10, "7": 7}
    wrong = {
        "2X": "2X: X has no size.",
        "B$": "B$: what does $ mean?",
        "(B": "(B: ( needs a ).",
        "B*": "B*: a number or a letter is missing.",
        "B)": "B): ) is one too many.",
    }
    both = right | wrong
    assert answer(MODULES, SAID, [*both]) == [*both.values()]


def at(text: str) -> dict[str, int]:
    """Sizes of the paper's model, with those that a button of the page sets,
    which has this in it."""
    page = (ROOT / "book" / "resize.md").read_text("utf8")
    [button] = re.findall(rf'data-sizes="([^"]*{text}[^"]*)"', page)
    pairs = (pair.split("=") for pair in button.split("&amp;")[1:])
    return own_of("paper_base") | {n: int(size) for n, size in pairs}


def test_more_heads_of_the_same_channels_change_the_activations_alone():
    both = [own_of("paper_base"), at("H=16")]
    before, after = computed(PAGE["paper_base"], both)
    changed = {what for what in before if before[what] != after[what]}
    assert changed == {"activations", "shapes"}


def test_attention_and_feed_forward_meet_where_the_page_says():
    every = run_sizes(PAGE["paper_base"]["dims"] | at("S="))
    path = "encoder.blocks.*."
    work = {"self_attention": 0, "feed_forward": 0}
    for step in PAGE["paper_base"]["steps"]:
        for part in work:
            if step["path"].startswith(path + part) and "flops" in step:
                work[part] += axis_size(step["flops"], every)
    assert work["self_attention"] == work["feed_forward"] > 0


def test_with_one_table_the_papers_model_has_nearly_65_million():
    chosen = at("V=37000")
    [said] = computed(PAGE["paper_base"], [chosen])
    held = said["parameters"]
    table = chosen["V"] * chosen["H"] * chosen["D"]
    assert held > 100e6
    assert abs(held - 2 * table - 65e6) < 2e6
