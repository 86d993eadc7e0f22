"""What the page of names says is one tensor: in each library it comes from
the tensors before it, by the functions of this book."""

import math

import pytest
import torch
from naming import library
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from tests.helpers.named_tensors import Tensors, added, rotated, seen
from tformer_lite import join_heads, softmax, split_heads

ATTENTION = ["here", "MHA", "BERT", "GPT-2", "Llama"]
WHOLE = ["here", "BERT", "GPT-2", "Llama"]
STREAM = "enters", "between", "leaves"
ACTIVATIONS = {
    "here": torch.relu,
    "BERT": functional.gelu,
    "GPT-2": lambda x: functional.gelu(x, approximate="tanh"),
    "Llama": functional.silu,
}


def asked(name: str) -> tuple[Tensor, Tensor]:
    """What queries, and what keys and values are made of."""
    if name == "here":
        path = "decoder.blocks.0.cross_attention"
        return seen(name, f"{path}(x)"), seen(name, f"{path}(source)")
    if name == "MHA":
        query, key = seen(name, "(query)"), seen(name, "(key)")
        return query.transpose(0, 1), key.transpose(0, 1)
    x = Tensors(name)["enters" if name == "BERT" else "normed"]
    return x, x


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
def test_ids_are_looked_up_in_the_named_table_and_positions_added(name):
    one = Tensors(name)
    ids, table = one.all("ids")[-1], one["token_table"]
    scale = math.sqrt(table.shape[1]) if name == "here" else 1
    assert_close(one["embedded"], x := table[ids] * scale)
    if name != "Llama":
        places = one["position_table"][: ids.shape[1]]
        assert_close(one["positions"].squeeze(0), places)
        x = x + places
    if name == "BERT":
        embeddings = library(name).seen.model.bert.embeddings
        types = embeddings.token_type_embeddings.weight[0]
        x = embeddings.LayerNorm(x + types)
    assert_close(one["enters"], x)


@pytest.mark.parametrize("name", ATTENTION)
def test_queries_keys_and_values_come_from_the_named_weights(name):
    one = Tensors(name)
    x, source = asked(name)
    if len(one.all("projected")) == 1:  # all three side by side
        (whole,) = one.times(x, "query_weight")
        assert_close(one["projected"], whole)
    elif name == "MHA":
        (q,), (kv,) = (one.times(y, "query_weight") for y in (x, source))
        parts = q.chunk(3, -1)[0], *kv.chunk(3, -1)[1:]
        assert_close(one.all("projected"), list(parts))
    else:
        made = one.times(x, "query_weight") + one.times(source, "key_weight")
        assert_close(one.all("projected"), made)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTENTION)
def test_heads_are_split_as_here(name):
    one = Tensors(name)
    whole = one.all("projected")
    whole = whole if len(whole) == 3 else whole[0].chunk(3, -1)
    d = one.sizes["D"]
    split = [split_heads(x, x.shape[-1] // d) for x in whole]
    assert_close(one.all("split"), split)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTENTION)
def test_scores_weights_and_heads_follow_the_equation(name):
    one = Tensors(name)
    q, k, v = one.all("split")
    if name == "Llama":
        q, k = (rotated(x, *one.all("positions")) for x in (q, k))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if one.rows("scores"):
        assert_close(one["scores"], scores)
    masked = scores + added(name)
    assert added(name).min() < -1e38  # something is hidden
    assert_close(one["masked"], masked)
    weights, *means = one.all("weights")
    assert_close(weights, softmax(masked))
    for mean in means:
        assert_close(mean, weights.mean(1))
    for heads in one.all("heads"):
        assert_close(heads, weights @ v)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTENTION)
def test_heads_are_joined_and_projected_by_the_named_weights(name):
    one = Tensors(name)
    joined = join_heads(one["heads"])
    assert_close(one["joined"], joined)
    (made,) = one.times(joined, "output_weight")
    assert_close(one["attended"], made)


@pytest.mark.parametrize("name", WHOLE)
def test_the_feed_forward_layer_is_made_of_the_named_weights(name):
    one = Tensors(name)
    hidden, activated = one.all("hidden"), one.all("activated")
    path = one.rows("hidden")[0].names[0]
    x = library(name).given[path][0]
    (x,) = [value for value in x.values() if isinstance(value, Tensor)]
    assert_close(hidden, one.times(x, "hidden_weight"))
    after = ACTIVATIONS[name](hidden[0])
    assert_close(activated[0], after)
    if name == "Llama":
        assert_close(activated[1], after * hidden[1])
    (made,) = one.times(activated[-1], "narrowing_weight")
    assert_close(one["narrowed"], made)


@pytest.mark.parametrize("name", WHOLE)
def test_the_residual_stream_is_the_sum_of_what_it_is_given(name):
    one = Tensors(name)
    enters, between, leaves = map(one.__getitem__, STREAM)
    if name == "here":
        attended = seen(name, "decoder.blocks.0.self_attention")
        assert_close(between, enters + attended)
        assert_close(leaves, between + one["attended"] + one["narrowed"])
        return
    if name == "BERT":
        block = library(name).seen.model.bert.encoder.layer[0]
        first, second = (
            block.attention.output.LayerNorm,
            block.output.LayerNorm,
        )
    else:
        first = second = nn.Identity()
    assert_close(between, first(enters + one["attended"]))
    assert_close(leaves, second(between + one["narrowed"]))


@pytest.mark.parametrize("name", WHOLE)
def test_logits_come_from_what_leaves_the_last_block(name):
    one, model = Tensors(name), library(name).seen.model
    x = one["leaves"]
    if name == "BERT":
        x = model.cls.predictions.transform(x)
    else:
        path = one.rows("final")[0].names[0]
        x = model.get_submodule(path)(x)
        assert_close(one["final"], x)
    (made,) = one.times(x, "head_weight")
    assert_close(one["logits"], made)
    (row,), (table,) = one.rows("head_weight"), one.rows("token_table")
    weights = [model.get_parameter(r.names[0]) for r in (row, table)]
    shared = "the token table itself" in row.note
    assert shared == (weights[0] is weights[1])


@pytest.mark.parametrize("name", WHOLE)
def test_a_norm_has_the_named_gain(name):
    one, model = Tensors(name), library(name).seen.model
    norm, gain = (one.rows(t)[0].names[0] for t in ("normed", "gain"))
    assert model.get_submodule(norm).weight is model.get_parameter(gain)


def test_the_function_returns_weights_times_values():
    one = Tensors("SDPA")
    q, k, v = one.all("split")
    hidden = ~seen("SDPA", "(attn_mask)")
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    weights = softmax(scores.masked_fill(hidden, -math.inf))
    assert_close(one["heads"], weights @ v)


def test_memory_is_what_the_decoder_is_given():
    assert_close(Tensors("here")["memory"], seen("here", "encoder"))
    name = "BERT as a decoder"
    path = "bert.encoder.layer.0.crossattention.self"
    given = Tensors(name)["memory"]
    layer = library(name).seen.model.get_submodule(path)
    keys = split_heads(layer.key(given), layer.num_attention_heads)
    assert_close(seen(name, f"{path}:key_layer"), keys)
