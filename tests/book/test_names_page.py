"""The page of names: its tables are made of the runs, and its code runs."""

import re

import pytest
import torch
from libraries import bert_config
from names_page import ATTENTION, PAGE, filled, looked, read, rows, shape
from naming import library
from polarity import RUNS, meaning
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close
from transformers import GPT2Config, LlamaConfig
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from tests.helpers.project import ROOT
from tformer_lite import MultiHeadAttention, split_heads, tiny_translator

TEXT = PAGE.read_text("utf8")
PLAIN = re.sub(r"</?code>|<wbr>|\{axis\}|`", "", TEXT)


@pytest.mark.slow
def test_the_tables_of_the_page_are_made_of_the_runs():
    """`PYTHONPATH=. .venv/bin/python book/_tools/names_page.py` does it."""
    assert filled(TEXT) == TEXT
    assert set(re.findall(r"<!-- (\w+) -->", TEXT)) == {*rows(), "end"}


def test_the_page_says_which_versions_were_run():
    pins = (ROOT / "requirements.txt").read_text("utf8")
    said = re.search(r"with PyTorch (\S+) and transformers\s+(\d+\.\d+)", TEXT)
    for package, version in zip(("torch", "transformers"), said.groups()):
        assert f"{package}=={version}." in pins


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("here", tiny_translator),
        ("MHA", nn.MultiheadAttention(12, 3)),
        ("BERT", bert_config(3, 4, 20, 37, 16)),
        ("GPT-2", GPT2Config()),
        ("Llama", LlamaConfig()),
    ],
)
def test_each_size_has_the_name_that_the_page_says(name, has):
    sizes = PLAIN.split("## Sizes")[1]
    line = re.search(rf"^\| {name} \| (.*) \|$", sizes, re.MULTILINE)[1]
    names = re.findall(r"\b[a-z]\w*_\w+", line)
    assert len(names) >= 2
    assert [one for one in names if not hasattr(has, one)] == []


def run_code(layer: MultiHeadAttention, x: torch.Tensor) -> dict:
    """Run the page's code, with a layer of ours."""
    known = {"torch": torch, "n_heads": 3, "d_model": 12, "x": x}
    known["MultiHeadAttention"] = lambda d_model, n_heads: layer
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 2
    exec("".join(blocks), known)
    return known


@torch.no_grad()
def test_the_pages_code_turns_our_weights_into_those_of_others():
    torch.manual_seed(0)
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    made = run_code(layer, x)
    assert_close(made["q"], split_heads(layer.query(x), 3).transpose(1, 2))
    v = split_heads(layer.value(x), 3).transpose(1, 2)
    out = torch.einsum("bthd,hdc->btc", v, made["W_O"])
    assert_close(out, layer.output(layer.value(x)))
    torchs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    torchs.in_proj_weight.copy_(made["fused"])
    torchs.out_proj.weight.copy_(layer.output.weight)
    assert_close(torchs(x, x, x)[0], layer(x))
    config = GPT2Config(n_embd=12, n_head=3, attn_implementation="eager")
    gpt2 = GPT2Attention(config, layer_idx=0).eval()
    gpt2.c_attn.weight.copy_(made["fused"].mT)
    gpt2.c_proj.weight.copy_(layer.output.weight.mT)
    assert_close(gpt2(x)[0], layer(x))


def test_the_batch_comes_second_unless_it_is_asked_to_come_first():
    layer, first = (
        nn.MultiheadAttention(12, 3, batch_first=one) for one in (False, True)
    )
    first.load_state_dict(layer.state_dict())
    x = torch.randn(5, 2, 12)
    y = x.transpose(0, 1)
    assert_close(layer(x, x, x)[0].transpose(0, 1), first(y, y, y)[0])


def test_confused_axes_let_sentences_attend_to_each_other():
    layer, x = nn.MultiheadAttention(12, 3), torch.randn(2, 5, 12)
    other = x.clone()
    other[0, 3] += 1
    outs = [layer(y, y, y)[0] for y in (x, other)]
    moved = (outs[0] - outs[1]).abs().sum(-1) > 1e-6
    assert moved.nonzero().tolist() == [[0, 3], [1, 3]]


def test_a_mask_of_numbers_is_added():
    hidden = torch.ones(5, 5).triu(1).bool()
    numbers = torch.zeros(5, 5).masked_fill(hidden, -torch.inf)
    layer, x = nn.MultiheadAttention(12, 3), torch.randn(5, 2, 12)
    by_layer = [layer(x, x, x, attn_mask=m)[0] for m in (hidden, numbers)]
    assert_close(*by_layer)
    x = x.transpose(0, 1)
    by_function = [
        scaled_dot_product_attention(x, x, x, attn_mask=m)
        for m in (~hidden, numbers)
    ]
    assert_close(*by_function)


@pytest.mark.parametrize("name", ["BERT", "GPT-2", "Llama"])
def test_hugging_face_returns_its_weights_when_asked(name):
    one = library(name)
    model, inputs = one.seen.model, one.seen.inputs
    with torch.no_grad():
        (weights,) = model(*inputs, output_attentions=True).attentions
    (row,) = (row for row in rows()["weights"] if row.library == name)
    assert_close(weights, one[looked(row.names[0])].value)


def test_the_layer_returns_the_weights_of_each_head_when_asked():
    one = library("MHA")
    query, key, value, *masks = one.seen.inputs
    options = {"key_padding_mask": masks[0], "attn_mask": masks[2]}
    _, weights = one.seen.model(
        query, key, value, average_attn_weights=False, **options
    )
    assert_close(weights, one[":attn_output_weights@3"].value)


def test_a_mask_means_what_the_page_says():
    said = {
        (row.library, row.names[0].partition("(")[2].removesuffix(")"))
        for row in rows()["masks"]
        if row.library not in ("TransformerLens", "nanoGPT")
    }
    assert said == set(RUNS)
    torch_own = {mask: meaning("MHA", mask) for _, mask in MHA_MASKS}
    assert set(torch_own.values()) == {"is hidden"}
    assert meaning("SDPA", "attn_mask") == "may attend"


MHA_MASKS = [key for key in RUNS if key[0] == "MHA"]


def test_a_mask_that_hides_nothing_is_noticed(monkeypatch):
    run = RUNS["SDPA", "attn_mask"]
    monkeypatch.setitem(
        RUNS, ("SDPA", "attn_mask"), lambda x: run(x) + x.sum()
    )
    with pytest.raises(ValueError, match="SDPA, attn_mask: heard"):
        meaning("SDPA", "attn_mask")


@pytest.mark.parametrize(
    "line",
    ["BERT: ~:query_lair", "BERT: ~.query.wait", "BERT: ~:query_layer@2"],
)
def test_a_name_that_does_not_exist_stops_the_page(line):
    with pytest.raises(KeyError):
        shape(read(line))


def test_axes_that_are_not_the_proved_ones_stop_the_page():
    line = "MHA: :attn_output@2 | "
    assert "T" in shape(read(f"{line}T*B C"))
    with pytest.raises(ValueError, match="has .'B.T', 'C'."):
        shape(read(f"{line}T*H C"))
    assert ATTENTION["BERT"] in read("BERT: ~").names
