"""Cards of models: what they say is what a model with weights has and does."""

import json
import sys
import tomllib
from functools import cache
from math import prod

import pytest
import torch

from shapewatch import flops, trace
from shapewatch.tracing.axes.sizes import run_sizes
from tests.helpers.project import ROOT

transformers = pytest.importorskip("transformers")

from card import main  # noqa: E402
from model_cards.card import Card, card_data, card_text, measure  # noqa: E402
from model_cards.configs import Plan, read_plan  # noqa: E402
from model_cards.costs import Formula, Line, cache_shapes  # noqa: E402
from model_cards.layers import traced  # noqa: E402

MODELS = tomllib.loads((ROOT / "book/_tools/atlas.toml").read_text("utf8"))
ATLAS = json.loads((ROOT / "book/_static/atlas.json").read_text("utf8"))
SMALL = {"hidden_size": 24, "num_hidden_layers": 3, "vocab_size": 50}
GROUPED = {"num_attention_heads": 6, "num_key_value_heads": 2}
HEADS = SMALL | {"num_attention_heads": 6}
LATENT = {
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "q_lora_rank": 10,
    "kv_lora_rank": 12,
    "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4,
    "v_head_dim": 5,
    "intermediate_size": 40,
    "moe_intermediate_size": 14,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
}
# Small models of which no formula has seen the sizes, and what they have.
TRIED = {
    "LlamaForCausalLM": SMALL | GROUPED | {"intermediate_size": 36},
    "Qwen3ForCausalLM": SMALL | GROUPED | {"head_dim": 10},
    "MixtralForCausalLM": SMALL | GROUPED | {"num_local_experts": 4},
    "DeepseekV3ForCausalLM": SMALL | LATENT,
    "Gemma3ForCausalLM": SMALL | GROUPED | {"head_dim": 8},
    "GPT2LMHeadModel": HEADS,
    "BertForMaskedLM": HEADS,
    "T5ForConditionalGeneration": HEADS | {"d_kv": 7},
}


def plan(kind: str) -> Plan:
    """A small model that is tried."""
    return Plan(getattr(transformers, kind), TRIED.get(kind, {}))


@cache
def card_of(kind: str) -> Card:
    """Its card, measured once."""
    return measure(plan(kind))


FOR_FULL = {"DeepseekV3ForCausalLM", "Gemma3ForCausalLM", "MixtralForCausalLM"}
FOR_FULL |= {"Qwen3ForCausalLM", "NemotronHForCausalLM"}


def marked(*case: str):
    """A case, for `make full` alone where its model takes long."""
    slow = pytest.mark.full if case[0] in FOR_FULL else pytest.mark.slow
    return pytest.param(*case, marks=slow)


@pytest.mark.parametrize("kind", [*map(marked, TRIED)])
def test_formulas_hold_at_sizes_at_which_nothing_was_counted(kind):
    card, small = card_of(kind), plan(kind)
    larger = {n: 3 * x for n, x in small.dims.items() if isinstance(x, int)}
    larger |= {"group": small.dims.get("group", 0)}
    sizes = run_sizes(small.dims | larger)
    model, inputs = small.build(**sizes)
    count = sum(x.numel() for x in model.parameters())
    assert card.parameters.value(sizes) == count
    with torch.no_grad():
        kept = cache_shapes(model(*inputs))
        work = flops(model, *inputs)[""].flops
    assert card.flops.value(sizes) == work
    assert card.cache.value(sizes) == sum(prod(shape) for _, shape in kept)


@pytest.mark.slow
def test_one_layer_of_a_kind_stands_for_all():
    small = plan("SmolLM3ForCausalLM")
    with torch.no_grad():
        short, *_ = traced(small.build, small.dims)
        whole = trace(build=small.build, dims=small.dims)
    assert short.axes == whole.axes


PARTS = [
    ("LlamaForCausalLM", "heads", "3 heads share keys and values"),
    ("LlamaForCausalLM", "norm", "RMSNorm"),
    ("GPT2LMHeadModel", "feed-forward", "plain"),
    ("BertForMaskedLM", "norm place", "after each sum"),
    ("BertForMaskedLM", "stacks", "encoder"),
    ("Gemma3ForCausalLM", "norm place", "before and after each part"),
    ("DeepseekV3ForCausalLM", "expert layers", "2 of 8 for each word, a"),
    ("DeepseekV3ForCausalLM", "heads", "keys and values of all heads fr"),
    ("T5ForConditionalGeneration", "positions", "a bias by distance"),
    ("T5ForConditionalGeneration", "scores", "not divided"),
    ("SmolLM3ForCausalLM", "layers without positions", "9 of 36"),
    ("GptOssForCausalLM", "scores", "divided, with a learned one more"),
    ("NemotronHForCausalLM", "recurrent layers", "1 of 4"),
]


@pytest.mark.parametrize(
    ("kind", "name", "says"), [marked(*case) for case in PARTS]
)
def test_parts_are_told_apart(kind, name, says):
    assert card_of(kind).parts[name].startswith(says)


def counted(lines, sizes, left_out=()):
    """What the lines of a stored card add up to, without some modules."""
    parts = tuple(f"{part}." for part in left_out)
    kept = [
        Line(path, tuple(axes.split()), times)
        for path, axes, times in lines
        if not path.startswith(parts)
    ]
    return Formula(kept).value(sizes)


PUBLISHED = [
    pytest.param(model[said], name, part, model.get(left_out, ()), id=name)
    for name, model in MODELS.items()
    for said, part, left_out in (
        ("published", "parameters", "without"),
        ("active", "active", "idle"),
    )
    if model[said]
]


@pytest.mark.parametrize(("said", "name", "part", "left_out"), PUBLISHED)
def test_the_number_of_parameters_is_the_published_one(
    said, name, part, left_out
):
    """Rounded to the digits that are said, or cut, as one of them does."""
    number, unit = said.split()
    digits = number if "." in number else number.rstrip("0")
    last = 10.0 ** (len(number) - len(digits))
    last *= 10.0 ** -len(number.partition(".")[2])
    count = counted(ATLAS[name][part], ATLAS[name]["run"], left_out)
    count /= {"M": 1e6, "B": 1e9}[unit]
    forms = count, count - count % last
    assert min(abs(form - float(number)) for form in forms) <= last / 2


IN_FULL = [pytest.param(x, marks=pytest.mark.full)
           for x in ("vit_b_16", "modernbert_base")]  # fmt: skip
ANEW = [pytest.param("gpt_2", marks=pytest.mark.slow), *IN_FULL]


@pytest.mark.parametrize("name", ANEW)
def test_a_model_measured_anew_has_the_card_that_is_stored(name):
    kind = getattr(transformers, MODELS[name]["model"])
    data = card_data(measure(Plan(kind, MODELS[name]["config"])))
    data = json.loads(json.dumps(data))
    assert {key: ATLAS[name][key] for key in data} == data


def write(folder, **data):
    """Write a configuration."""
    (folder / "config.json").write_text(json.dumps(data), "utf8")
    return f"{folder}/config.json"


@pytest.mark.slow
def test_a_configuration_alone_gives_a_card_and_a_page(tmp_path, capsys):
    file = write(tmp_path, **TRIED["GPT2LMHeadModel"], model_type="gpt2")
    assert main([file]) is None
    said = capsys.readouterr().out
    assert said == f"{card_text(card_of('GPT2LMHeadModel'))}\n"
    assert main([file, str(tmp_path / "card.html")]) is None
    assert "GPT2LMHeadModel" in (tmp_path / "card.html").read_text("utf8")


def test_a_configuration_names_its_model_or_the_part_that_reads(tmp_path):
    gemma = {"model_type": "gemma3_text"}
    for kind, data in {
        "Gemma3ForCausalLM": {"model_type": "gemma3", "text_config": gemma},
        "T5Model": {"model_type": "t5", "architectures": ["T5Model"]},
    }.items():
        assert read_plan(write(tmp_path, **data)).kind.__name__ == kind


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"hidden_size": 5}, 'and "model_type": None.'),
        ({"model_type": "llama", "hidden_size": 65}, "not a multiple of the"),
        ({"model_type": ["llama"]}, "gives no card: TypeError"),
    ],
)
def test_what_is_no_model_is_told_in_a_line(data, says, tmp_path):
    said = main([write(tmp_path, **data)])
    assert says in said
    assert "\n" not in said


def test_what_is_no_configuration_is_answered():
    assert "gives no card: JSONDecodeError" in main([__file__])
    assert "usage: card.py CONFIG [PAGE]" in main(["--help"])


def test_without_transformers_a_sentence_says_what_to_install(
    monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "transformers", None)
    said = main([write(tmp_path, model_type="llama")])
    assert said.endswith("not installed: pip install transformers")
