"""A saved trace is what it was: printed, indexed, asked and compared."""

import copy
import json
import pickle
import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.testing._internal.two_tensor import TwoTensor

from shapewatch.tracing import SavedTrace, diff, from_json, load_trace, trace
from shapewatch.tracing.questions import saved as files
from tests.helpers.own_models import GPT
from tests.helpers.small import words

IDS = words(37, 2, 5)
X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def seen():
    torch.manual_seed(0)
    sizes = {"B": 2, "T": 5, "H": 3, "C": 12}
    named = {"dims": sizes, "axes": ["B T", "B T"], "keep": True}
    return trace(GPT(3, 12, 8).eval(), IDS, IDS.clone(), **named)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "before.pt"


@pytest.fixture
def saved(seen, file):
    seen.save(str(file))
    return load_trace(file)


def test_it_is_what_the_trace_was(seen, saved):
    assert isinstance(saved, SavedTrace)
    assert str(saved.calls()) == str(seen.calls())
    assert saved._repr_html_() == seen._repr_html_()
    assert str(saved.at("*.0")) == str(seen.at("*.0"))
    assert len(saved) == len(seen)
    assert saved.to_json() == seen.to_json()
    assert saved.notes == seen.notes
    own = [next(iter(x[0])) for x in seen._calls.names]
    once = [x for x in own if own.count(x) == 1 and x[-1] != ":"]
    assert len(once) > 5
    assert all(saved[name].equal(seen[name]) for name in once)


@pytest.mark.parametrize("depth", [1, 12])
def test_a_trace_can_be_pickled_and_copied(depth, file):
    """It prints the same, calls or modules, and is what a file gives."""
    model = nn.Sequential(*(Block() for _ in range(depth)))
    traced = trace(model, X, keep=True)
    traced.save(file)
    other = copy.deepcopy(pickle.loads(pickle.dumps(traced)))
    for one in (copy.deepcopy(traced), other, load_trace(file)):
        assert isinstance(one, SavedTrace)
        assert str(one) == str(traced)
        assert one._repr_html_() == traced._repr_html_()
        assert str(one.calls()) == str(traced.calls())
        assert one["0:hidden"].equal(traced["0:hidden"])
        assert (one.sizes, one.axes) == (traced.sizes, traced.axes)


SHARED = "at attention axes calls compare notes result sizes steps"
SHARED += " to_json"
RUNS = "check_axes first_nan flops inputs model parameters"
RUNS += " save source tree"
PUBLIC = {
    "Trace": f"{SHARED} {RUNS}",
    "SavedTrace": SHARED,
    "Step": "call code function line makes name place reads turn visit",
    "Table": "at notes rows",
    "Row": "call expression inputs makes outputs path reads types variable",
    "Tree": "depth more notes",
    "Sheet": "headers notes rows",
    "AnnotatedSource": "",
    "Diff": "notes titles versions whole",
    "Axis": "name proof size",
    "Attention": "axes keys masked mixed path queries scores values weights",
}


def test_nothing_inside_shows_beside_what_is_documented(seen, saved):
    """What completion offers: each is a documented method, or is named in
    the docstring of the class or of what it is a kind of."""
    things = [seen, saved, seen.steps[0], seen.calls(), seen.tree()]
    things += [seen.calls().rows[0], seen.parameters(), seen.source(GPT)]
    things += [diff("a", "b"), seen.axes[-1][0][0][0], seen.attention()[0]]
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


def test_attention_is_the_same(seen, saved, file):
    found = saved.attention()
    for mine, theirs in zip(found, seen.attention(), strict=True):
        assert repr(mine) == repr(theirs)
        assert_close(mine[2:], theirs[2:])
    trace(seen.model, IDS, IDS).save(file)
    with pytest.raises(ValueError, match="not kept: trace with keep=True"):
        load_trace(file).attention()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x):
        hidden = self.first(x).relu()
        return self.last(hidden)


class Slipped(Block):
    def forward(self, x):
        hidden = self.first(x).relu() * 1.01
        return self.last(hidden)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Block, "They agree."),
        (Slipped, "the values are up to"),
    ],
)
def test_a_run_before_a_change_is_compared_with_one_after(file, kind, said):
    trace(Block(), X, keep=True).save(file)
    before, after = load_trace(file), trace(kind(), X, keep=True)
    live = str(after.compare(trace(Block(), X, keep=True)))
    assert said in live
    assert str(after.compare(before)) == live
    after.save(file)
    assert str(load_trace(file).compare(before)) == live


def test_a_call_that_failed_is_saved(file):
    with pytest.raises(RuntimeError) as error:
        trace(lambda x: x @ x, X)
    error.value.trace.save(file)
    assert str(load_trace(file)).endswith("-> failed")


def test_what_others_classes_hold_is_left_out(file):
    def model(x, y):
        theirs = y + 1
        plain = x + 1
        return theirs, plain

    trace(model, X, TwoTensor(X, X), keep=True).save(file)
    saved = load_trace(file)
    assert saved[":plain"].equal(X + 1)
    with pytest.raises(KeyError, match="not kept"):
        saved[":theirs"]


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('run')",)


FOREIGN = {
    "a text": lambda file: file.write_text("module  call"),
    "weights": lambda file: torch.save(Block().state_dict(), file),
    "a tensor": lambda file: torch.save(X, file),
    "a pickle": lambda file: file.write_bytes(pickle.dumps({"a": 1})),
    "code": lambda file: torch.save(Evil(), file),
    "a part": lambda file: torch.save(
        {"format": "tformer_lite trace", "version": 1}, file
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_refused(file, name):
    FOREIGN[name](file)
    with pytest.raises(ValueError, match=r"before.pt is no saved trace"):
        load_trace(file)


def test_another_version_is_refused_and_no_file_is_not_found(saved, file):
    data = torch.load(file, weights_only=True)
    torch.save(data | {"version": 2}, file)
    with pytest.raises(ValueError, match="of version 2, and version 1 is"):
        load_trace(file)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        load_trace(file)


def test_the_json_is_as_its_schema_says():
    """Written by hand from the schema, which is the module's docstring."""
    layer = nn.Sequential(nn.ReLU())
    seen = trace(layer, X, dims={"B": 3, "C": 4}, axes=["B C"])
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
    schema = files.__doc__.partition("The same run gives")[0]
    told = {*re.findall(r"`(\w+)`", schema)}
    data = json.loads(seen.to_json())
    assert keys_in(data) == told
    known = re.findall(r'"known": ("\w+")', seen.to_json())
    assert {*known} <= {*re.findall(r'"\w+"', schema)}


@pytest.mark.parametrize("text", ['{"version": 2}', '{"steps": []}', "[1]"])
def test_json_of_another_version_is_refused(text):
    with pytest.raises(ValueError, match="its version is"):
        from_json(text)


def test_the_table_is_read_from_the_json_alone(seen):
    text = seen.to_json()
    assert str(from_json(text)) == str(seen.calls())
    data = json.loads(text) | {"notes": ["it failed"]}
    data["steps"][-1]["outputs"] = []
    *_, last, note = str(from_json(json.dumps(data))).splitlines()
    assert last.endswith("-> failed")
    assert note == "note: it failed"
