"""explore(seen): the attentions of any run, number by number."""

import base64
import json
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoModel, BloomConfig, LlamaConfig, T5Config

from explorer import explore
from explorer.exploring import MODULES
from tests.helpers import layouts
from tests.helpers.scripts import answer
from tformer_lite import (
    EncoderDecoder,
    Trace,
    running_example,
    running_trace,
    tiny_translator,
    trace,
)

PARTS = ["queries", "keys", "values", "scores", "masked", "weights", "mixed"]
# The farthest that a number is from the arithmetic that is written out for
# it, by attention and part.
CELLS = """(text) => attentions(text).map((one) => {
  const apart = {};
  for (const [name, part] of Object.entries(one.parts)) {
    const rows = ["keys", "values"].includes(name) ? one.columns : one.rows;
    apart[name] = 0;
    for (let h = 0; h < one.heads; h++) for (const i of rows.keys()) {
      for (let j = 0; j < part.width; j++) {
        const made = madeOf(one, name, h, i, j).value;
        const far = Math.abs(made - part(h, i, j));
        if (made !== part(h, i, j)) apart[name] = Math.max(apart[name], far);
      }
    }
  }
  return apart;
})"""


def data_of(explored) -> list[dict]:
    """What is written into the output."""
    pattern = r'<script type="application/json">(.*?)</script>'
    return json.loads(re.search(pattern, explored._repr_html_())[1])


def apart(explored) -> list[dict]:
    return answer(MODULES, CELLS, json.dumps(data_of(explored)))


def numbers(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f4")


@pytest.mark.slow
@pytest.mark.parametrize("example", [0, 1])
def test_all_numbers_of_a_run_are_written_and_explained(example):
    seen = running_trace()
    explored = explore(seen, example=example)
    for one, found in zip(data_of(explored), seen.attention()):
        assert [name for name in PARTS if name in one] == PARTS
        for name in PARTS:
            theirs = getattr(found, name)[example].numpy().ravel()
            np.testing.assert_array_equal(numbers(one[name]), theirs)
    for one in apart(explored):
        assert max(one.values()) < 1e-5, one


# Plain ones, with heads joined to the batch, with keys in rows; one whose
# factors are not found, and one in which no softmax saw the mask.
LAYOUTS = [layouts.nanogpt, layouts.fairseq, layouts.transposed_scores]
LAYOUTS += [layouts.transposed_to_the_end, layouts.heads_in_a_stack]
LAYOUTS += [layouts.powers_masked]


@pytest.mark.slow
@pytest.mark.parametrize("attend", LAYOUTS, ids=lambda f: f.__name__)
def test_an_attention_is_explained_as_far_as_its_factors_are_found(attend):
    layer = layouts.Layer(attend).eval()
    source, x = torch.randn(2, 7, 12), torch.randn(2, 5, 12)
    sizes = {"B": 2, "H": 3, "D": 4, "T": 5, "S": 7}
    explored = explore(trace(layer, source, x, keep=True, dims=sizes))
    (attention,) = data_of(explored)
    assert len(attention["columns"]) == 7
    told = "queries" in attention and "mixed" in attention
    assert told == (attend is not layouts.heads_in_a_stack)
    (gaps,) = apart(explored)
    if attend is layouts.powers_masked:
        del gaps["weights"]
    assert max(gaps.values()) < 1e-5, gaps


def of_pytorch() -> Trace:
    model = nn.MultiheadAttention(12, 3, batch_first=True).eval()
    return trace(model, *[torch.randn(2, 6, 12)] * 3, keep=True)


def of_ours(**own) -> Trace:
    src, tgt, *_ = running_example()
    model = EncoderDecoder(replace(tiny_translator, **own)).eval()
    return trace(model, src, tgt, keep=True)


def of_transformers(config: type, **sizes: int) -> Trace:
    model = AutoModel.from_config(config(vocab_size=60, **sizes)).eval()
    ids = torch.tensor([[5, 9, 13, 2, 7, 8], [3, 4, 6, 10, 1, 1]])
    options = {"decoder_input_ids": ids} if config is T5Config else {}
    return trace(model, ids, attention_mask=ids != 1, keep=True, **options)


BLOOM = {"hidden_size": 16, "n_layer": 2, "n_head": 2}
LLAMA = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
LLAMA |= {"num_key_value_heads": 2, "intermediate_size": 48}
T5 = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_kv": 8, "d_ff": 32}
RUNS = {
    "rotary": partial(of_ours, positions="rotary"),
    "multihead": of_pytorch,
    "bloom": partial(of_transformers, BloomConfig, **BLOOM),
    "llama": partial(of_transformers, LlamaConfig, **LLAMA),
    "t5": partial(of_transformers, T5Config, **T5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_newer_models_and_those_of_others_are_explained(name):
    explored = explore(RUNS[name](), example=1)
    for one in data_of(explored):
        assert {"queries", "mixed"} <= one.keys()
    for one in apart(explored):
        assert max(one.values()) < 1e-5, one


def test_where_no_script_runs_the_same_tables_stand():
    seen = running_trace()
    words = "abcdefg<"
    explored = explore(seen, rows=list(words))
    html = explored._repr_html_()
    still = re.search(r'<div class="still">(.*?)</div>', html)[1]
    tables = re.findall(r"<table>(.*?)</table>", still)
    attentions = seen.attention()
    assert still.count("<details>") == len(attentions) == 3
    weights = [t for t in tables if "<caption>weights, head 1<" in t]
    for table, found in zip(weights, attentions, strict=True):
        cells = re.findall(r"<td>(\d.\d\d)</td>", table)
        want = found.weights[0, 1].flatten().tolist()
        assert [float(x) for x in cells] == pytest.approx(want, abs=0.006)
        assert table.count("&lt;</th>") == 2


@pytest.mark.slow
def test_what_does_not_fit_is_said():
    seen, none = running_trace(), trace(nn.Linear(3, 3), torch.ones(2, 3))
    for explored, said in (
        (partial(explore, seen, rows=["a"]), "1 words for 8 rows"),
        (partial(explore, seen, example=2), "this run has 2 sentences"),
        (partial(explore, seen, step="logits"), "step 'logits': known are k"),
        (partial(explore, none), "no attention in this run"),
    ):
        with pytest.raises(ValueError, match=said):
            explored()
