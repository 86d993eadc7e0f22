"""The JSON of a trace: its schema, checked by hand, and the way back."""

import json
from dataclasses import replace

import pytest
import torch
from torch import nn

from shapewatch.tracing.questions.saved import from_json, to_json
from tests.helpers.small import words
from tformer_lite import EncoderDecoder, tiny_translator, trace

DIMS = {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": "H*D"}


def factory(B, S, T, H, D):
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": 4 * H * D}
    model = EncoderDecoder(replace(tiny_translator, max_len=16, **sizes))
    return model.eval(), (words(1024, B, S), words(1024, B, T))


def whole():
    return trace(build=factory, dims=DIMS)


def by_value():
    model, inputs = factory(2, 8, 6, 3, 4)
    return trace(model, *inputs, dims={"B": 2, "T": 6, "F": 48, "D": 4})


def of_pytorch():
    layer = nn.TransformerEncoderLayer(12, 3, 48, batch_first=True)
    x = torch.randn(2, 8, 12)
    return trace(layer, x, dims={"B": 2, "T": 8}, axes=["B T C"])


def of_a_function():
    def function(पद):
        first, *rest = torch.stack([पद, पद]).unbind()
        पद += 1
        relu = nn.ReLU()
        return {"first": first, "rest": (rest, relu(relu(पद)))}

    return trace(function, words(9, 2, 3))


def refused():
    def picky(x):
        assert len(x) == 3, "three"
        return x.relu()

    return trace(picky, torch.randn(3, 4), dims={"B": 3}, axes=["B C"])


ALL = whole, by_value, of_pytorch, of_a_function, refused


@pytest.fixture(scope="module", params=ALL, ids=lambda make: make.__name__)
def seen(request):
    return request.param()


def test_the_table_can_be_printed_from_the_json_alone(seen):
    table = from_json(to_json(seen))
    assert str(table) == str(seen.calls())
    assert table._repr_html_() == seen.calls()._repr_html_()


def test_a_call_of_cross_attention_reads_as_the_schema_says():
    data = json.loads(to_json(whole()))
    assert data["dims"] == {"B": 2, "S": 8, "T": 8, "H": 3, "D": 4, "C": 12}
    path = "decoder.blocks.0.cross_attention"
    [step] = [
        step
        for step in data["steps"]
        if step["module"] == path and step["variable"] == "scores"
        and step["function"] == "add"
    ]  # fmt: skip
    assert step["kind"] == "MultiHeadAttention"
    assert step["nth"] == 0
    hide = "penalty.to(scores)"
    assert step["call"] == f"scores + {hide}"
    [output] = step["outputs"]
    assert output["shape"] == [2, 3, 8, 8]
    assert output["axes"] == [
        {"name": name, "known": "proved"} for name in "BHTS"
    ]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"version": 2, "steps": [], "notes": []}', "2"),
        ('{"version": "1", "steps": [], "notes": []}', "'1'"),
        ('{"steps": [], "notes": []}', "None"),
        ("[1]", "None"),
    ],
)
def test_another_version_is_refused(text, version):
    with pytest.raises(ValueError, match=f"its version is {version}"):
        from_json(text)


def test_notes_and_calls_that_failed_are_written_and_read():
    data = json.loads(to_json(refused()))
    assert data["notes"]
    data["steps"][-1]["outputs"] = []
    lines = str(from_json(json.dumps(data))).splitlines()
    assert lines[-1] == f"note: {data['notes'][-1]}"
    assert lines[1].endswith("-> failed")
