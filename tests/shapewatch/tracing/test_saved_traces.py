"""A saved trace is what it was: printed, indexed, asked and compared."""

import json
import pickle

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from torch.testing._internal.two_tensor import TwoTensor

from shapewatch.tracing import SavedTrace, load_trace, trace
from tests.helpers.own_models import GPT
from tests.helpers.small import words

IDS = words(37, 2, 5)
SIZES = {"B": 2, "T": 5, "H": 3, "C": 12}


def run(**options):
    torch.manual_seed(0)
    model = GPT(3, 12, 8).eval()
    named = {"dims": SIZES, "axes": ["B T", "B T"]}
    return trace(model, IDS, IDS.clone(), **named | options)


@pytest.fixture(scope="module")
def seen():
    return run(keep=True)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "before.pt"


@pytest.fixture
def saved(seen, file):
    seen.save(file)
    return load_trace(file)


def test_it_prints_and_shows_itself_as_the_trace_did(seen, saved):
    assert isinstance(saved, SavedTrace)
    assert str(saved.table) == str(seen.table)
    assert saved._repr_html_() == seen.table._repr_html_()
    assert str(saved.at("*.0")) == str(seen.at("*.0"))
    assert len(saved) == len(seen)
    assert saved.to_json() == seen.to_json()
    assert saved.notes == seen.notes


def test_kept_values_are_indexed_by_name(seen, saved):
    own, _ = zip(*seen.names)
    once = [x for x in own if own.count(x) == 1 and x[-1] != ":"]
    assert len(once) > 5
    for name in once:
        assert saved[name].equal(seen[name])
    with pytest.raises(KeyError, match="no line binds 'nothing'"):
        saved["nothing"]


def test_attention_is_the_same(seen, saved):
    found = saved.attention()
    assert found
    for mine, theirs in zip(found, seen.attention(), strict=True):
        assert repr(mine) == repr(theirs)
        assert_close(mine[2:], theirs[2:])


def test_attention_that_was_not_kept_says_so(file):
    run().save(file)
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


class Tidied(Block):
    def forward(self, x):
        return self.last(self.activated(x))

    def activated(self, x):
        hidden = self.first(x)
        return hidden.relu()


class Slipped(Block):
    def forward(self, x):
        hidden = self.first(x).relu() * 1.01
        return self.last(hidden)


class Wider(Block):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 9), nn.Linear(9, 4)


X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    ("kind", "agrees", "said"),
    [
        (Block, True, "They agree."),
        (Tidied, True, "They agree."),
        (Slipped, False, "the values are up to"),
        (Wider, False, "They part in first"),
    ],
)
def test_a_run_before_a_change_is_compared_with_one_after(
    file, both, kind, agrees, said
):
    trace(Block(), X, keep=True).save(file)
    before, after = load_trace(file), trace(kind(), X, keep=True)
    live = after.compare(trace(Block(), X, keep=True))
    if both:
        after.save(file)
        after = load_trace(file)
    found = after.compare(before)
    assert found.agree is agrees
    assert said in str(found)
    assert str(found) == str(live)
    assert before.compare(before).agree


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
    "nothing": lambda file: file.write_bytes(b""),
    "weights": lambda file: torch.save(Block().state_dict(), file),
    "a tensor": lambda file: torch.save(X, file),
    "a module": lambda file: torch.save(Block(), file),
    "a pickle": lambda file: file.write_bytes(pickle.dumps({"a": 1})),
    "code": lambda file: torch.save(Evil(), file),
    "json": lambda file: file.write_text(json.dumps({"version": 1})),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_files_are_refused(file, name):
    FOREIGN[name](file)
    with pytest.raises(ValueError, match="before.pt is no saved trace"):
        load_trace(file)


def changed(file, **fields):
    data = torch.load(file, weights_only=True)
    torch.save(data | fields, file)


def test_another_version_is_refused_by_name(saved, file):
    changed(file, version=2)
    with pytest.raises(ValueError, match="of version 2, and version 1 is"):
        load_trace(file)


def test_a_file_that_is_not_there_is_not_found(file):
    with pytest.raises(FileNotFoundError):
        load_trace(file)
