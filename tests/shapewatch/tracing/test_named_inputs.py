"""Inputs that are named by parameters and paths, and resized in probes; and
the sizes of those."""

import re
from collections import UserDict

import pytest
import torch
from torch import nn

from shapewatch import report
from shapewatch.tracing import flops, trace
from shapewatch.tracing.axes.sizes import joint_sizes, run_sizes
from shapewatch.tracing.inputs import resized_call
from shapewatch.tracing.record.models import model_call
from tests.helpers.small import words
from tests.helpers.witness import bits

DIMS = {"B": 2, "P": 3, "T": 6}
IDS, MASK = words(11, 2, 6), torch.ones(2, 6)
PAST = torch.randn(2, 3, 4)


class Reader(nn.Module):
    """It reads ids, a mask, and what came before them."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 4)

    def forward(self, input_ids, attention_mask=None, past=None, **more):
        x = self.embed(input_ids)
        if attention_mask is not None:
            x = x * attention_mask[:, :, None]
        before = [*parts(past), *parts(more)]
        return torch.cat([sum(before), x], 1) if before else x


def parts(past):
    if isinstance(past, torch.Tensor):
        return [past]
    if isinstance(past, dict | UserDict):
        return [x for y in past.values() for x in parts(y)]
    if isinstance(past, list | tuple):
        return [x for y in past for x in parts(y)]
    return parts(past.key) if isinstance(past, Cache) else []


def last(seen):
    assert seen.notes == []
    return seen.calls().rows[-1].makes


MODEL = Reader()


@pytest.mark.parametrize(
    ("inputs", "named", "axes"),
    [
        ((IDS, MASK), {}, {"input_ids": "B T", "attention_mask": "B T"}),
        ((IDS,), {"attention_mask": MASK}, ["B T", "B T"]),
        ((), {"input_ids": IDS, "attention_mask": MASK}, ["B T", "B T"]),
        ((IDS,), {}, "B T"),
        ((), {"input_ids": IDS}, "B T"),
    ],
    ids=["by place", "second by name", "by name", "alone", "alone by name"],
)
def test_keyword_inputs_are_resized_like_the_others(inputs, named, axes):
    assert last(trace(MODEL, *inputs, axes=axes, **named)) == "(B, T, 4)"


class Cache:
    def __init__(self, key):
        self.key, self.name = key, "of no class of ours"


LOOP = Cache([PAST])
LOOP.own = LOOP  # it holds itself
NESTED = {
    "a tensor": (PAST, "past"),
    "a dictionary": ({"k": PAST}, "past.k"),
    "numbers as keys": ({0: {"k": PAST}}, "past.0.k"),
    "an object": (LOOP, "past.key.0"),
    "a user's": (UserDict(k=PAST), "past.k"),
    "one tensor twice": ([PAST, PAST], "past.1"),
}


@pytest.mark.parametrize("keyword", [False, True])
@pytest.mark.parametrize("name", NESTED)
def test_nested_inputs_are_named_by_the_path_to_them(name, keyword):
    past, path = NESTED[name]
    axes = {"input_ids": "B T", path: "B P _"}
    before = [(id(x), bits(x)) for x in parts(past)]
    inputs, named = ((IDS,), {"past": past}) if keyword else (
        (IDS, None, past), {}
    )  # fmt: skip
    seen = trace(MODEL, *inputs, **named, dims=DIMS, axes=axes)
    assert last(seen) == "(B, P+T, 4)"
    assert [(id(x), bits(x)) for x in parts(past)] == before


IN = {"past": {"k": [PAST]}}
GIVEN = "It is given input_ids (2, 6), past.k.0 (2, 3, 4)."
TWICE = {"axes": {"past.0": "B P D", "past.1": "B T D"}}
BOTH = {"past": PAST, "axes": ["B T", "B T _"]}
WHOLE = "whole numbers, with + - * // and"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (IN | {"axes": {"ids": "B T"}}, f"'ids' is not a tensor. {GIVEN}"),
        (IN | {"axes": {"past": "B"}}, f"'past' is not a tensor. {GIVEN}"),
        (IN | {"axes": {"past": {"k": "B"}}}, "past is {'k': 'B'}. Write the"),
        (IN | {"axes": {"past.k.0": "B P"}}, "'B P' name 2 axes, and the inp"),
        (IN | {"axes": ["B T", "B P D", "B"]}, GIVEN),
        ({"axes": [["B", "T"]]}, "axes=[['B', 'T']]: Write the names"),
        ({"past": [PAST, PAST]} | TWICE, "'past.1' is 'B T D', and the same"),
        (BOTH, "input_ids (2, 6) says T=6, and T of axes"),
        (BOTH, "'B T _' has size 3 in past (2, 3, 4)"),
        ({"axes": "B T", "dims": {"T": 9}}, "dims say T=9, and T of axes 'B"),
        *(
            ({"dims": {"C": c, "H": 4}}, WHOLE)
            for c in ("H/2", "H**2", "f(H)")
        ),
        (
            {"dims": {"C": "H*D", "H": 3}},
            "{'C': 'H*D'} use names that are unk",
        ),
        ({"dims": {"C": "F", "F": "C", "B": 2}}, "'C': 'F', 'F': 'C'"),
        ({"dims": {"C": "C + 1"}}, "Known are none"),
        ({"dims": {"C": "H*"}}, "C is 'H*'"),
        ({"dims": {"C": 1.5}}, "C is 1.5"),
        ({"dims": {"T": -3, "S": "T+9"}}, "dims: T is -3. A size is 0 or"),
        ({"dims": ["B", "T"]}, "dims=['B', 'T'] is not valid: give sizes"),
        ({"axes": 2}, "axes=2 is not valid: give names"),
        ({"build": 3}, "build=3 is not valid: give a function"),
        ({"build": lambda: 3}, "build returns int: let it return a model"),
        ({"build": lambda: (MODEL, IDS)}, "build returns Reader, Tensor: let"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(options, said):
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        trace(MODEL, IDS, **options)


@pytest.mark.parametrize(
    ("axes", "dims", "sizes"),
    [
        (["B T", "B S _"], {}, {"B": 2, "T": 6, "S": 3}),
        (["B T", None], {"H": 3}, {"B": 2, "T": 6, "H": 3}),
        ({"past": "A S C"}, {"C": "2*H", "H": 2}, {"A": 2, "S": 3, "C": 4}),
    ],
)
def test_sizes_follow_from_the_inputs(axes, dims, sizes):
    seen = trace(MODEL, IDS, past=PAST, axes=axes, dims=dims)
    assert seen.sizes[0] == {"H": 2} | sizes if "C" in dims else sizes


def test_a_factory_takes_sizes_that_somebody_says():
    def build(T, B=2):
        return MODEL, (torch.ones(B, T, dtype=torch.long),)

    with pytest.raises(ValueError, match="build takes T, and nothing says"):
        trace(build=build)
    assert last(trace(build=build, dims={"T": 6}, axes="B T")) == "(B, T, 4)"


@pytest.mark.parametrize("ask", [trace, report, flops])
def test_a_class_is_no_model_yet(ask):
    with pytest.raises(TypeError, match="Reader is a class, not a model"):
        ask(Reader, IDS)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(2, 6), (2, 0), (0, 6), (0, 0)])
def test_names_are_proved_of_no_rows_and_of_no_numbers(shape, device):
    model = Reader().to(device)
    ids = torch.zeros(shape, dtype=torch.long, device=device)
    assert last(trace(model, ids, axes="B T")) == "(B, T, 4)"


# --- the sizes of probes -------------------------------------------------


def test_dimensions_are_written_with_whole_numbers_signs_and_parentheses():
    given = {"H": 3, "C": "(H + 5) // 2*7", "F": "-H*-(C - 1)"}
    assert run_sizes(given) == {"H": 3, "C": 28, "F": 81}
    assert run_sizes({"T": 0, "S": "T-1"}) == {"T": 0, "S": -1}


@pytest.mark.parametrize("size", range(1, 70))
def test_a_probe_is_even_and_one_is_odd_and_one_is_larger(size):
    given = dict.fromkeys("BSTHDFGK", size)
    even, odd, _ = probes = joint_sizes(given, [*given])
    assert {probe % 2 for probe in even.values()} == {0}
    assert {probe % 2 for probe in odd.values()} == {1}
    for i, name in enumerate(given):
        sizes = {size, *(probe[name] for probe in probes)}
        assert len(sizes) == 4
        assert max(sizes) > size
        assert max(sizes) > 32 or i > 2


def test_inputs_are_resized_with_values_that_they_have():
    ids, x = torch.arange(6).view(2, 3), torch.rand(3, 2, 4)
    sizes = run_sizes({"B": 3, "S": 5})
    call = model_call(torch.add, (ids, x, None), {})
    longer, shorter, option = resized_call(
        call, ["B S", "S B C"], sizes
    ).inputs
    rows, columns = (longer // 3)[:, 0].tolist(), (longer[0] % 3).tolist()
    assert (sorted({*rows}), sorted({*columns})) == ([0, 1], [0, 1, 2])
    assert (rows, columns) == (sorted(rows), sorted(columns))
    assert longer.shape == (3, 5)
    assert longer.equal(ids[rows][:, columns])
    assert shorter.shape == (5, 3, 4)
    assert shorter.dtype == x.dtype
    assert option is None


def shrinking(x):
    """Cut a position off again and again."""
    for _ in range(x.shape[1] - 1):
        x = x[:, 1:]
    return x


def test_the_nth_call_on_a_line_is_compared_with_the_nth():
    seen = trace(
        shrinking, torch.ones(2, 5), dims={"B": 2, "T": 5}, axes=["B T"]
    )
    made = [row.makes for row in seen.calls().rows]
    assert made == ["(B, T-1)", "(B, T-2)", "(B, T-3)", "(B, T-4)"]
