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


def check_step(step):
    assert list(step) == [
        *("module", "nth", "kind", "call", "variable", "function"),
        *("inputs", "outputs"),
    ]
    for name in "module", "kind", "call", "variable", "function":
        assert type(step[name]) is str
    assert step["call"]
    assert step["function"]
    assert type(step["nth"]) is int
    assert step["nth"] >= 0
    assert step["outputs"]
    for tensor in step["inputs"] + step["outputs"]:
        check_tensor(tensor)


def check_tensor(tensor):
    assert list(tensor) == ["number", "shape", "axes", "dtype", "device"]
    assert type(tensor["number"]) is int
    assert len(tensor["shape"]) == len(tensor["axes"])
    for size, axis in zip(tensor["shape"], tensor["axes"]):
        assert type(size) is int
        assert list(axis) == ["name", "known"]
        assert axis["known"] in ("proved", "value", "unknown")
        assert axis["name"]
        if axis["known"] == "unknown":
            assert axis["name"] == str(size)
    assert isinstance(getattr(torch, tensor["dtype"]), torch.dtype)
    assert torch.device(tensor["device"]).type == "cpu"


@pytest.mark.slow
def test_the_json_keeps_to_its_schema(seen):
    data = json.loads(to_json(seen))
    assert list(data) == ["version", "dims", "steps", "notes"]
    assert data["version"] == 1
    assert all(type(size) is int for size in data["dims"].values())
    assert all(type(note) is str for note in data["notes"])
    assert len(data["steps"]) == len(seen.steps) > 0
    for step in data["steps"]:
        check_step(step)


def test_tensors_are_numbered_from_0_as_they_appear(seen):
    appeared, seen_as = [], {}
    steps = json.loads(to_json(seen))["steps"]
    for step, data in zip(seen.steps, steps):
        visit = data["module"], data["nth"], data["kind"]
        assert visit == (step.visit.path, step.visit.nth, step.visit.kind)
        marks = [*step.reads, *step.makes]
        for mark, tensor in zip(marks, data["inputs"] + data["outputs"]):
            appeared.append(tensor["number"])
            assert (
                seen_as.setdefault(mark.number, appeared[-1]) == appeared[-1]
            )
            assert tuple(tensor["shape"]) == mark.shape
    assert list(dict.fromkeys(appeared)) == list(range(len(seen_as)))


def test_the_table_can_be_printed_from_the_json_alone(seen):
    table = from_json(to_json(seen))
    assert str(table) == str(seen.calls())
    assert table._repr_html_() == seen.calls()._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("make", ALL)
def test_the_same_run_gives_the_same_json(make):
    assert to_json(make()) == to_json(make())


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


def test_runs_of_one_module_are_told_apart():
    steps = json.loads(to_json(of_a_function()))["steps"]
    relus = [s["nth"] for s in steps if s["kind"] == "ReLU"]
    assert relus == sorted(relus)
    assert set(relus) == {0, 1}


def test_notes_and_calls_that_failed_are_written_and_read():
    data = json.loads(to_json(refused()))
    assert data["notes"]
    data["steps"][-1]["outputs"] = []
    lines = str(from_json(json.dumps(data))).splitlines()
    assert lines[-1] == f"note: {data['notes'][-1]}"
    assert lines[1].endswith("-> failed")


def test_a_text_that_is_no_json_is_refused():
    with pytest.raises(ValueError, match="Expecting value"):
        from_json("module  call")
