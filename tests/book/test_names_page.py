"""The page of names: the libraries that we have know them, its code runs, and
what it says of masks is so."""

import inspect
import re

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close
from transformers import AutoModel, BertConfig, GPT2Config
from transformers.models.bert import modeling_bert
from transformers.models.gpt2 import modeling_gpt2
from transformers.models.llama import modeling_llama

from tests.helpers.house import MODEL, OTHER_PARTS
from tests.helpers.project import ROOT
from tformer_lite import MultiHeadAttention, split_heads, tiny_translator

TEXT = (ROOT / "book" / "names.md").read_text("utf8").replace("<wbr>", "")
PLAIN = re.sub(r"</?code>|\{axis\}|`", "", TEXT)
NAMES = re.compile(r"[A-Za-z_]\w+")
OURS = [*MODEL.glob("*.py"), *OTHER_PARTS.glob("*.py")]
MASKING = inspect.getmodule(modeling_bert.create_causal_mask)
# Where the names of each library are looked up.
CODE = {
    "here": "".join(file.read_text("utf8") for file in OURS),
    "MHA": inspect.getsource(nn.modules.activation)
    + inspect.getsource(nn.functional),
    "SDPA": "query key value attn_mask scaled_dot_product_attention",
    "BERT": inspect.getsource(modeling_bert) + inspect.getsource(MASKING),
    "GPT-2": inspect.getsource(modeling_gpt2) + inspect.getsource(MASKING),
    "Llama": inspect.getsource(modeling_llama) + inspect.getsource(MASKING),
}


def unknown(row: str) -> set[str]:
    """The names in a row of a table that its libraries have not."""
    _, who, *cells = row.split("|")
    used = NAMES.findall(" ".join(re.findall("<code>(.*?)</code>", row)))
    libraries = [name.strip() for name in who.split(",")]
    return {
        name
        for library in libraries
        if library in CODE and len(cells) == 3
        for name in used
        if not re.search(rf"\b{name}\b", CODE[library])
    }


def test_the_code_of_the_libraries_has_the_names_of_the_page():
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    assert len(rows) > 150
    assert {row: found for row in rows if (found := unknown(row))} == {}
    assert unknown("| BERT, Llama | <code>query_lair</code> | (T) |")


def test_the_page_says_which_versions_were_run():
    pins = (ROOT / "requirements.txt").read_text("utf8")
    said = re.search(r"with PyTorch (\S+) and transformers\s+(\d+\.\d+)", TEXT)
    for package, version in zip(("torch", "transformers"), said.groups()):
        assert f"{package}=={version}." in pins


def test_each_size_has_the_name_that_the_page_says():
    sizes = PLAIN.split("## Sizes")[1]
    libraries = {
        "here": tiny_translator,
        "MHA": nn.MultiheadAttention(12, 3),
        "BERT": BertConfig(),
        "GPT-2": GPT2Config(),
    }
    for name, has in libraries.items():
        line = re.search(rf"^\| {name} \| (.*) \|$", sizes, re.MULTILINE)[1]
        names = re.findall(r"\b[a-z]\w*_\w+", line)
        assert len(names) >= 2
        assert [one for one in names if not hasattr(has, one)] == []


@torch.no_grad()
def test_the_pages_code_turns_our_weights_into_those_of_others():
    layer, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    scope = {"torch": torch, "n_heads": 3, "d_model": 12, "x": x}
    scope["MultiHeadAttention"] = lambda d_model, n_heads: layer
    exec("".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)), scope)
    assert_close(scope["q"], split_heads(layer.query(x), 3).transpose(1, 2))
    v = split_heads(layer.value(x), 3).transpose(1, 2)
    out = torch.einsum("bthd,hdc->btc", v, scope["W_O"])
    assert_close(out, layer.output(layer.value(x)))
    torchs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    torchs.in_proj_weight.copy_(scope["fused"])
    torchs.out_proj.weight.copy_(layer.output.weight)
    assert_close(torchs(x, x, x)[0], layer(x))
    config = GPT2Config(n_embd=12, n_head=3, attn_implementation="eager")
    gpt2 = modeling_gpt2.GPT2Attention(config, layer_idx=0).eval()
    gpt2.c_attn.weight.copy_(scope["fused"].mT)
    gpt2.c_proj.weight.copy_(layer.output.weight.mT)
    assert_close(gpt2(x)[0], layer(x))


MARKS = torch.tensor([True, False, True])
SIZES = {"hidden_size": 12, "num_attention_heads": 3, "vocab_size": 20}
SIZES |= {"num_hidden_layers": 1, "intermediate_size": 20}


def by_layer(x, **mask):
    """PyTorch's layer, which has the batch second."""
    x = x.transpose(0, 1)
    return nn.MultiheadAttention(12, 3)(x, x, x, **mask)[0].transpose(0, 1)


def by_model(config):
    """A model of Hugging Face's, from vectors instead of ids."""
    model = AutoModel.from_config(config).eval()
    mask = MARKS[None].long()
    return lambda x: model(inputs_embeds=x, attention_mask=mask)[0]


# The rows of the page's table, and what each speaks of.
ATTEND = {
    "here.*mask": lambda x: MultiHeadAttention(12, 3)(
        x, mask=MARKS[None, None, None]
    ),
    "MHA.*attn_mask": lambda x: by_layer(x, attn_mask=MARKS.expand(3, 3)),
    "MHA.*key_padding_mask": lambda x: by_layer(
        x, key_padding_mask=MARKS[None]
    ),
    "SDPA.*attn_mask": lambda x: scaled_dot_product_attention(
        x, x, x, attn_mask=MARKS
    ),
    "BERT,.*attention_mask": by_model(BertConfig(**SIZES)),
}


@pytest.mark.parametrize(("row", "attend"), ATTEND.items(), ids=ATTEND)
def test_a_mask_means_what_the_page_says(row, attend):
    """Of two positions one is marked, and the gradient at a third tells which
    of the two it depends on."""
    masks = TEXT.split("## Masks")[1]
    said = re.search(rf"^\| {row}.*\*\*(.*)\*\*", masks, re.MULTILINE)[1]
    x = torch.randn(1, 3, 12, requires_grad=True)
    out = attend(x)[0, -1]
    (slope,) = torch.autograd.grad(out @ torch.randn(len(out)), x)
    marked, other, _ = (slope[0].abs().sum(-1) > 1e-6).tolist()
    assert marked != other
    assert said == ("may attend" if marked else "is hidden")
