"""What a trace gives: JSON as its schema says, and documented names alone."""

import json
import re

import pytest
import torch
from torch import nn

from shapewatch.tracing import Diff, trace
from shapewatch.tracing.questions import as_json
from tests.helpers.small import build, small, words
from tformer_lite import DecoderOnly

IDS = words(11, 2, 5)


@pytest.fixture(scope="module")
def seen():
    model = build(DecoderOnly, small("char_lm"))
    dims = {"H": 3, "D": 4, "C": "H*D"}
    return trace(model, IDS, dims=dims, axes="B T", keep=True)


PUBLIC = {
    "Trace": "at attention axes calls check_axes compare first_nan flops "
    "inputs model notes parameters result save sizes source steps to_json "
    "tree",
    "Step": "call code function line makes name place reads turn visit",
    "Table": "at notes rows",
    "Row": "call expression inputs makes outputs path reads types variable",
    "Tree": "depth more notes",
    "Sheet": "headers notes rows",
    "AnnotatedSource": "",
    "Diff": "notes",
    "Axis": "name proof size",
    "Attention": "axes keys masked mixed path queries scores values weights",
}


def test_nothing_inside_shows_beside_what_is_documented(seen):
    """What completion offers: each is a documented method, or is named in
    the docstring of the class or of what it is a kind of."""
    things = [seen, seen.steps[0], seen.calls(), seen.tree()]
    things += [seen.calls().rows[0], seen.parameters(), Diff("a", "b")]
    things += [seen.source(DecoderOnly), seen.axes[-1][0][0][0]]
    things += [seen.attention()[0]]
    assert {type(thing).__name__ for thing in things} == {*PUBLIC}
    for thing in things:
        kind, tuples = type(thing), {*dir(tuple)}
        shown = [x for x in dir(thing) if x[0] != "_" and x not in tuples]
        assert shown == sorted(PUBLIC[kind.__name__].split())
        texts = " ".join(x.__doc__ or "" for x in kind.__mro__[:-1])
        told = {*re.findall(r"`(\w+)", texts)}
        assert [
            name
            for name in shown
            if name not in told and not getattr(kind, name, None).__doc__
        ] == []


def test_the_json_is_as_its_schema_says():
    """Written by hand from the schema, which is the module's docstring."""
    layer, x = nn.Sequential(nn.ReLU()), torch.randn(3, 4)
    seen = trace(layer, x, dims={"B": 3, "C": 4}, axes=["B C"])
    axes = [{"name": name, "known": "proved"} for name in "BC"]
    tensor = {"shape": [3, 4], "axes": axes, "dtype": "float32"}
    step = {"module": "0", "nth": 0, "kind": "ReLU", "call": "relu"}
    step |= {"variable": "", "function": "relu"}
    tensors = [{"number": i, **tensor, "device": "cpu"} for i in (0, 1)]
    step |= {"inputs": tensors[:1], "outputs": tensors[1:]}
    dims = {"B": 3, "C": 4}
    assert json.loads(seen.to_json()) == {
        "version": 1, "dims": dims, "steps": [step], "notes": []
    }  # fmt: skip


def keys_in(data: object) -> set[str]:
    """All keys in JSON but the dimensions, which a reader has named."""
    inner = data if isinstance(data, dict) else {}
    parts = [x for key, x in inner.items() if key != "dims"]
    parts += data if isinstance(data, list) else []
    return {*inner}.union(*map(keys_in, parts))


def test_every_field_of_the_json_is_in_the_schema_and_no_other(seen):
    schema = as_json.__doc__.partition("The same run gives")[0]
    told = {*re.findall(r"`(\w+)`", schema)}
    data = json.loads(seen.to_json())
    assert keys_in(data) == told
    known = re.findall(r'"known": ("\w+")', seen.to_json())
    assert {*known} <= {*re.findall(r'"\w+"', schema)}
