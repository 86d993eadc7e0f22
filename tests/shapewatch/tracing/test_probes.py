"""Probes: sizes written with others, their choice, and resized inputs."""

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.axes.inputs import resize_inputs
from shapewatch.tracing.axes.sizes import joint_sizes, run_sizes
from shapewatch.tracing.probing import QuickInit


def test_a_negative_size_is_refused_and_none_is_a_size():
    for dims in ({"B": 2, "T": -3}, {"T": -3, "S": "T+9"}):
        with pytest.raises(ValueError, match="dims: T is -3. A size is 0 or"):
            run_sizes(dims)
    assert run_sizes({"T": 0, "S": "T-1"}) == {"T": 0, "S": -1}


def test_dimensions_are_written_with_whole_numbers_signs_and_parentheses():
    given = {"H": 3, "C": "(H + 5) // 2*7", "F": "-H*-(C - 1)"}
    assert run_sizes(given) == {"H": 3, "C": 28, "F": 81}


@pytest.mark.parametrize(
    "text", ["H/2", "H**2", "1.5*H", "abs(H)", "H.real", "(H, H)", "'H'*H"]
)
def test_nothing_else_is_worked_out(text):
    with pytest.raises(
        ValueError, match=r"whole numbers, with \+ - \* // and"
    ):
        run_sizes({"C": text, "H": 4})


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ({"C": "H*D", "H": 3}, "'C': 'H\\*D'.*Known are H"),
        ({"C": "F", "F": "C", "B": 2}, "'C': 'F', 'F': 'C'"),
        ({"C": "C + 1"}, "'C': 'C \\+ 1'.*Known are none"),
        ({"C": "H*"}, "C is 'H\\*'"),
        ({"C": 1.5}, "C is 1.5"),
        ({"C": None}, "C is None"),
    ],
)
def test_unknown_and_circular_names_are_named(dims, said):
    with pytest.raises(ValueError, match=said):
        run_sizes(dims)
    with pytest.raises(ValueError, match=said):
        trace(nn.Identity(), torch.ones(2), dims=dims)


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
    inputs = ids, x, None
    (longer, shorter, option), _ = resize_inputs(
        torch.add, inputs, {}, ["B S", "S B C"], sizes
    )
    rows, columns = (longer // 3)[:, 0].tolist(), (longer[0] % 3).tolist()
    assert (sorted({*rows}), sorted({*columns})) == ([0, 1], [0, 1, 2])
    assert (rows, columns) == (sorted(rows), sorted(columns))
    assert longer.shape == (3, 5)
    assert longer.equal(ids[rows][:, columns])
    assert shorter.shape == (5, 3, 4)
    assert shorter.dtype == x.dtype
    assert option is None


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (["B"], r"axes 'B' name 1 axes, and the input \(2, 3\) has 2"),
        (["B S T"], "name 3 axes"),
        ([], "There are 1"),
        (["B S", "B T"], "There are 1"),
        ("B S", "a list with one string for each input"),
    ],
)
def test_axes_that_do_not_match_the_inputs_are_refused(axes, said):
    with pytest.raises(ValueError, match=said):
        resize_inputs(torch.add, (torch.ones(2, 3), 7), {}, axes, {"B": 2})


def shrinking(x):
    """Cut a position off again and again."""
    for _ in range(x.shape[1] - 1):
        x = x[:, 1:]
    return x


def test_the_nth_call_on_a_line_is_compared_with_the_nth():
    seen = trace(
        shrinking, torch.ones(2, 5), dims={"B": 2, "T": 5}, axes=["B T"]
    )
    made = [row.makes for row in seen.table.rows]
    assert made == ["(B, T-1)", "(B, T-2)", "(B, T-3)", "(B, T-4)"]


def test_weights_of_probes_are_drawn_once_and_differ():
    with QuickInit():
        layers = [nn.Linear(50, 60) for _ in range(3)]
        table = nn.Embedding(700, 300)  # too large to be taken
    weights = [layer.weight for layer in layers]
    assert len({w.sum().item() for w in weights}) == 3
    assert all(w.abs().max() <= 50**-0.5 for w in weights)
    assert table.weight.std() > 0.9
    for _ in range(2):
        with QuickInit():
            again = nn.Linear(50, 60).weight
        assert torch.equal(again, weights[0])
