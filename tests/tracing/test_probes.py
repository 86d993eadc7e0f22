"""Probes: sizes written with others, their choice, and resized inputs."""

import random

import pytest
import torch
from torch import nn

from tformer_lite.tracing import trace
from tformer_lite.tracing.axes.probes import aside, resized_inputs
from tformer_lite.tracing.axes.sizes import run_sizes, small_sizes

SENTENCE = {"B": 2, "S": 8, "T": 7, "H": 3, "D": 4, "C": "H*D", "F": "4*C"}


def test_dimensions_are_worked_out_in_any_order():
    given = {"F": "4*C", "C": "H*D", "H": 3, "D": 4}
    assert run_sizes(given) == {"F": 48, "C": 12, "H": 3, "D": 4}
    assert list(run_sizes(given)) == ["F", "C", "H", "D"]


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


def test_probes_are_few_small_and_keep_their_parity():
    probes = list(small_sizes(SENTENCE, ["B", "S", "T", "H", "D"]))
    assert len(probes) == 5 + 2
    for probe in probes:
        assert probe["C"] == probe["H"] * probe["D"]
        assert probe["F"] == 4 * probe["C"]
        for name in ("B", "S", "T", "H", "D"):
            assert 2 <= probe[name] <= 9
            assert probe[name] % 2 == SENTENCE[name] % 2


def test_each_name_moves_alone_once_and_then_all_at_once():
    names = ["B", "S", "T", "H", "D"]
    base, *alone, last = small_sizes(SENTENCE, names)
    for name, probe in zip(names, alone):
        assert [n for n in names if probe[n] != base[n]] == [name]
    sizes = [(base[n], probe[n], last[n]) for n, probe in zip(names, alone)]
    assert all(len(set(three)) == 3 for three in sizes)


def test_what_is_not_varied_keeps_its_size():
    for probe in small_sizes(SENTENCE, ["B", "T"]):
        assert [probe[n] for n in "SHDC"] == [8, 3, 4, 12]


def test_inputs_are_resized_with_values_that_they_have():
    ids, x = torch.arange(6).view(2, 3), torch.rand(3, 2, 4)
    sizes = run_sizes({"B": 3, "S": 5})
    longer, shorter, option = resized_inputs(
        (ids, x, None), ["B S", "S B C"], sizes
    )
    first = [0, 1, 2, 0, 1]
    assert longer.tolist() == [first, [3, 4, 5, 3, 4], first]
    assert shorter.shape == (5, 3, 4)
    assert shorter.dtype == x.dtype
    assert option is None


def test_a_tensor_that_comes_twice_stays_one():
    x = torch.rand(2, 3, 4)
    q, k, v = resized_inputs((x, x, x), ["B T C"], run_sizes({"B": 4, "T": 5}))
    assert q is k is v
    assert q.shape == (4, 5, 4)


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
        resized_inputs((torch.ones(2, 3), 7), axes, run_sizes({"B": 2}))


class Restless(nn.Module):
    """It counts, remembers, prints, warns, draws and changes its mode."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(0, 3))
        self.calls = 0

    def forward(self, x):
        self.seen = torch.cat([self.seen, x.detach()])
        self.calls += 1
        self.last = x
        self.eval()
        print("here")
        torch.rand(3), random.random()
        return self.norm(x)


def test_a_run_aside_leaves_no_trace(capsys):
    model = Restless()
    state = {name: v.clone() for name, v in model.state_dict().items()}
    torch.manual_seed(0)
    random.seed(0)
    before = torch.random.get_rng_state(), random.getstate()
    with aside(model):
        model(torch.rand(4, 3))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert model.calls == 0
    assert not hasattr(model, "last")
    assert model.training
    assert model.norm.training
    assert model.state_dict().keys() == state.keys()
    for name, v in model.state_dict().items():
        torch.testing.assert_close(v, state[name])
    assert capsys.readouterr().out == ""


def test_a_run_aside_puts_back_what_an_error_leaves_behind():
    model = Restless()

    def stop(*_):
        raise KeyboardInterrupt

    model.norm.register_forward_hook(stop)
    with pytest.raises(KeyboardInterrupt), aside(model):
        model(torch.rand(4, 3))
    assert model.calls == 0
    assert model.seen.shape == (0, 3)
    assert model.norm.num_batches_tracked == 0


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
