"""Cards of models: what they say is what a model with weights has and does."""

import json
import sys
import tomllib
from functools import cache
from math import prod

import pytest
import torch

from shapewatch import flops
from shapewatch.tracing.axes.sizes import run_sizes
from tests.helpers.project import ROOT

transformers = pytest.importorskip("transformers")

from card import main  # noqa: E402
from model_cards.card import Card, measure  # noqa: E402
from model_cards.configs import Plan, read_plan  # noqa: E402
from model_cards.costs import (  # noqa: E402
    Formula,
    Line,
    cache_shapes,
)
from model_cards.facts import card_data, card_text  # noqa: E402

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
    "Phi3ForCausalLM": SMALL | GROUPED | {"pad_token_id": 0},
    "GPT2LMHeadModel": HEADS,
    "BertForMaskedLM": HEADS,
    "T5ForConditionalGeneration": HEADS | {"d_kv": 7},
    "OPTForCausalLM": HEADS | {"ffn_dim": 30, "word_embed_proj_dim": 24},
}


def plan(kind: str) -> Plan:
    """A small model that is tried."""
    return Plan(getattr(transformers, kind), TRIED[kind])


@cache
def card_of(kind: str) -> Card:
    """Its card, measured once."""
    return measure(plan(kind))


FOR_FULL = {"DeepseekV3ForCausalLM", "Gemma3ForCausalLM", "MixtralForCausalLM"}


def marked(*case: str):
    """A case, for `make full` alone where its model takes long."""
    slow = pytest.mark.full if case[0] in FOR_FULL else pytest.mark.slow
    return pytest.param(*case, marks=slow)


@pytest.mark.parametrize("kind", [*map(marked, TRIED)])
def test_formulas_hold_at_sizes_at_which_nothing_was_counted(kind):
    card, small = card_of(kind), plan(kind)
    own = {n: 3 * x for n, x in small.dims.items() if isinstance(x, int)}
    own |= {"group": small.dims.get("group", 0)}
    sizes = run_sizes(small.dims | own)
    model, inputs = small.build(**sizes)
    count = sum(x.numel() for x in model.parameters())
    assert card.parameters.value(sizes) == count
    with torch.no_grad():
        kept = cache_shapes(model(*inputs))
        done = flops(model, *inputs)[""].flops
    assert card.flops.value(sizes) == done
    assert card.kept.value(sizes) == sum(prod(shape) for _, shape in kept)


@pytest.mark.slow
def test_a_model_with_weights_has_what_its_card_says():
    small, card = plan("Qwen3ForCausalLM"), card_of("Qwen3ForCausalLM")
    model = small.kind(small.config).eval()
    with torch.no_grad():
        found = model(torch.arange(14).view(2, 7))
    kept = [x for layer in found.past_key_values.layers
            for x in (layer.keys, layer.values)]  # fmt: skip
    assert card.kept.value(card.run | {"T": 7}) == sum(x.numel() for x in kept)
    assert card.parameters.value(card.run) == model.num_parameters()
    assert "norm of queries and keys" in card.parts


PARTS = [
    ("LlamaForCausalLM", "heads", "3 heads share keys and values"),
    ("LlamaForCausalLM", "norm", "RMSNorm"),
    ("LlamaForCausalLM", "feed-forward", "gated"),
    ("GPT2LMHeadModel", "norm place", "before each part"),
    ("GPT2LMHeadModel", "feed-forward", "plain"),
    ("GPT2LMHeadModel", "biases", "in all products"),
    ("BertForMaskedLM", "norm place", "after each sum"),
    ("BertForMaskedLM", "stacks", "encoder"),
    ("Gemma3ForCausalLM", "norm place", "before and after each part"),
    ("DeepseekV3ForCausalLM", "expert layers", "2 of 8 for each word, a"),
    ("DeepseekV3ForCausalLM", "heads", "keys and values of all heads fr"),
    ("Phi3ForCausalLM", "feed-forward", "gated"),
    ("T5ForConditionalGeneration", "positions", "a bias by distance"),
    ("T5ForConditionalGeneration", "embedding and output", "one table"),
    ("MixtralForCausalLM", "feed-forward", "gated"),
    ("OPTForCausalLM", "positions", "learned"),
]


@pytest.mark.parametrize(
    ("kind", "name", "says"), [marked(*case) for case in PARTS]
)
def test_parts_are_told_apart(kind, name, says):
    assert card_of(kind).parts[name].startswith(says)


def millions(lines, sizes, left_out=()):
    """What the lines of a stored card add up to, without some modules."""
    parts = tuple(f"{part}." for part in left_out)
    found = [
        Line(path, tuple(axes.split()), times)
        for path, axes, times in lines
        if not path.startswith(parts)
    ]
    return Formula(found).value(sizes) / 1e6


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_parameters_is_the_published_one(name):
    card, model = ATLAS[name], MODELS[name]
    pairs = [
        ("published", "parameters", "without"),
        ("active", "active", "idle"),
    ]
    for said, counted, left_out in pairs:
        if not model[said]:
            continue
        number, unit = model[said].split()
        digits = number if "." in number else number.rstrip("0")
        last = 10.0 ** (len(number) - len(digits))
        last *= 10.0 ** -len(number.partition(".")[2])
        found = millions(card[counted], card["run"], model.get(left_out, ()))
        found /= {"M": 1, "B": 1000}[unit]
        cut = found - found % last  # as one of them does
        assert (
            min(abs(found - float(number)), abs(cut - float(number)))
            <= last / 2
        )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gpt_2", marks=pytest.mark.slow),
        pytest.param("vit_b_16", marks=pytest.mark.full),
        pytest.param("modernbert_base", marks=pytest.mark.full),
    ],
)
def test_a_model_measured_anew_has_the_card_that_is_stored(name):
    kind = getattr(transformers, MODELS[name]["model"])
    data = json.loads(
        json.dumps(card_data(measure(Plan(kind, MODELS[name]["config"]))))
    )
    assert {key: ATLAS[name][key] for key in data} == data


def write(folder, **data):
    """Write a configuration."""
    (folder / "config.json").write_text(json.dumps(data), "utf8")
    return str(folder)


@pytest.mark.slow
def test_a_configuration_alone_gives_a_card_and_a_page(tmp_path, capsys):
    config = TRIED["GPT2LMHeadModel"] | {"model_type": "gpt2"}
    folder = write(tmp_path, **config)
    assert main([folder]) is None
    said = capsys.readouterr().out
    assert said == f"{card_text(card_of('GPT2LMHeadModel'))}\n"
    page = str(tmp_path / "card.html")
    assert main([f"{folder}/config.json", page]) is None
    assert "GPT2LMHeadModel" in (tmp_path / "card.html").read_text("utf8")


def test_what_sees_and_reads_is_read_by_its_part_that_reads(tmp_path):
    text = TRIED["Gemma3ForCausalLM"] | {"model_type": "gemma3_text"}
    folder = write(tmp_path, model_type="gemma3", text_config=text)
    assert read_plan(folder).kind.__name__ == "Gemma3ForCausalLM"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"model_type": "llma"}, " (is llama meant?)."),
        ({"hidden_size": 5}, 'has no "model_type"'),
        ({"model_type": "llama", "hidden_size": 65}, "not a multiple of the"),
        ({"model_type": "gpt2", "n_head": 0}, "cannot be built and run "),
        ({"model_type": ["llama"]}, " describes no model: TypeError"),
    ],
)
def test_what_is_no_model_is_told_in_a_line(data, says, tmp_path):
    said = main([write(tmp_path, **data)])
    assert says in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("nothing.json", "there is no file nothing.json"),
        ("LlamaForCausal", "is LlamaForCausalLM meant?"),
        ("LlamaConfig", "transformers has no model LlamaConfig"),
        ("--help", "usage: card.py CONFIG [PAGE]"),
    ],
)
def test_what_is_no_configuration_is_answered(word, says):
    assert says in main([word])


def test_without_transformers_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    said = main(["LlamaForCausalLM"])
    assert said.endswith("not installed: pip install transformers")
