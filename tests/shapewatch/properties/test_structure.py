"""Parameters that learn, blocks that hand on: which ones, and how far."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from shapewatch.properties import identity, live_parameters
from shapewatch.properties.structure import (
    blocks,
    is_normed,
    silent_runs,
)
from shapewatch.properties.subject import Subject
from tformer_lite import (
    LayerNorm,
)

ROWS = torch.randn(2, 6, 12, generator=torch.Generator().manual_seed(0))


def dead(*names):
    class Some(nn.Module):
        def __init__(self):
            super().__init__()
            for name in "abc":
                setattr(self, name, nn.Linear(12, 12, bias=False))

        def forward(self, x):
            for name in "abc":
                part = getattr(self, name)
                y = part(x)
                x = x + (y.detach() if name in names else y)
            return x

    return live_parameters(Some(), ROWS)


def test_the_first_that_does_not_learn_is_named():
    assert dead().holds
    assert "1 of 3 parameters get no gradient, such as b." in dead("b").says
    assert (
        "2 of 3 parameters get no gradient, such as a." in dead("a", "c").says
    )
    assert dead("a", "c").seen[:, 0].gt(0).tolist() == [False, True, False]


class Block(nn.Module):
    def __init__(self, norm=nn.LayerNorm, layers=2):
        super().__init__()
        self.norm = norm(12)
        self.layers = nn.Sequential(
            *(nn.Linear(12, 12) for _ in range(layers))
        )

    def forward(self, x):
        return x + self.layers(self.norm(x))


def test_blocks_are_what_lists_have_with_norms_and_layers_inside():
    model = nn.Sequential(
        nn.Linear(12, 12),
        nn.ModuleList([Block(), Block(nn.Identity), Block(layers=1)]),
        nn.ModuleDict({"deep": nn.ModuleList([nn.Sequential(Block())])}),
    )
    assert [path for path, _ in blocks(model)] == ["1", "2", "2.deep.0"]
    assert [path for path, _ in blocks(model[1])] == ["0"]
    assert [path for path, _ in blocks(nn.ModuleDict({"a": model[1]}))] == [
        "a.0"
    ]
    assert [path for path, _ in blocks(Block())] == []
    lists = nn.ModuleList([nn.ModuleList([Block(), Block()])])
    deep = nn.ModuleDict({"a": nn.ModuleDict({"b": lists})})
    assert [path for path, _ in blocks(deep)] == ["a.b.0"]


@pytest.mark.parametrize(
    ("after", "right"),
    [
        (LayerNorm(12)(ROWS), True),
        (nn.RMSNorm(12)(ROWS), True),
        (LayerNorm(12)(ROWS) * 1.04, True),
        (LayerNorm(12)(ROWS) * 0.75, True),  # of few channels, unbiased
        (LayerNorm(12)(ROWS) * 1.06, False),
        (LayerNorm(12)(ROWS) * 0.7, False),
        (LayerNorm(12)(ROWS) * torch.tensor([1.0] * 11 + [-1.0]), False),
        (LayerNorm(12)(ROWS).roll(1, -1), False),
        (LayerNorm(12)(ROWS).roll(1, 1), False),
    ],
)
def test_a_norm_keeps_the_direction_and_nearly_the_size(after, right):
    assert is_normed(after, ROWS) is right


def test_blocks_are_run_with_layers_that_give_nothing():
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block())
    nn.init.constant_(model[0].norm.weight, 3.0)
    nn.init.constant_(model[0].norm.bias, 2.0)
    (path, x, first, after), (later, *_) = silent_runs(Subject(model, (ROWS,)))
    assert (path, later) == ("0", "1")
    assert_close(x, ROWS)
    assert_close(first, LayerNorm(12)(ROWS).detach())  # without its gains
    assert_close(after, ROWS)


class Summed(nn.Module):
    """Heads are joined by the weights of a layer that is never called."""

    def __init__(self):
        super().__init__()
        self.norm, self.value = nn.LayerNorm(12), nn.Linear(12, 12)
        self.join = nn.Linear(12, 12)

    def forward(self, x):
        mixed = self.value(self.norm(x))
        return x + mixed @ self.join.weight.T + self.join.bias


def test_a_layer_that_is_never_called_cannot_be_silenced():
    model = nn.Sequential(nn.Sequential(Summed(), Summed()))
    found = identity(model, ROWS)
    assert found.holds is None
    assert found.says == "A block reads weights of layers it never calls."
