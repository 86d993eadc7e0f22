"""Which modules are blocks, and which of them hand their input on."""

import pytest
import torch
from torch import nn

from shapewatch.properties import identity
from shapewatch.properties.structure import blocks
from tests.helpers.strangers import IDS


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


class FinalNorm(Block):
    """A sublayer is joined with what it reads; then comes a norm."""

    join = None

    def forward(self, x):
        return self.norm(self.join(x, self.layers(self.norm(x))))


INSIDE = {
    "an interpolation": lambda _, x, y: torch.lerp(x, y, 0.5),
    "a vector": lambda _, x, y: torch.stack([x, y], -1) @ torch.ones(2),
}


@pytest.mark.parametrize("name", INSIDE)
def test_before_a_final_norm_a_block_may_join_in_any_way(name, monkeypatch):
    monkeypatch.setattr(FinalNorm, "join", INSIDE[name])
    body = nn.Sequential(FinalNorm(), FinalNorm())
    finding = identity(nn.Sequential(nn.Embedding(50, 12), body), IDS)
    assert finding.holds, finding


class Outside(nn.Module):
    """Blocks without residuals, and what is made of x and theirs (B, T, C)."""

    def __init__(self, join):
        super().__init__()
        self.table, self.join = nn.Embedding(50, 12), join
        self.mix, self.skip = nn.Linear(12, 12), nn.Linear(12, 12)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(12), *(nn.Linear(12, 12) for _ in "ab"))
            for _ in range(2)
        )

    def forward(self, ids):
        x = old = self.table(ids)
        for block in self.blocks:
            x = x + self.mix(x).cumsum(1)
            x = self.join(self, x, block(x), old)
        return x


def test_positions_may_be_added_again_for_every_block():
    def forward(ids):
        x, places = model.table(ids), model.table(ids.sort()[0])
        for block in [*model.blocks] * 2:
            x = x + block(x) * model.mix(x + places)
        return x

    model = Outside(None)
    model.forward = forward
    assert identity(model, IDS).level == "holds"


MISSED, TWICE = "does not hand its input on", "such as x + x: is that"
JOINS = {
    "a scaled sum": (lambda _, x, y, old: x + 0.1 * y, ""),
    "in place": (lambda _, x, y, old: y.add_(x), ""),
    "a projection": (lambda model, x, y, old: model.skip(x) + y, ""),
    "a gate": (lambda model, x, y, old: torch.lerp(y, x, model.skip(x)), ""),
    "nothing": (lambda _, x, y, old: y, MISSED),
    "itself": (lambda _, x, y, old: y + y, MISSED),
    "x twice": (lambda _, x, y, old: (x + x) + y, TWICE),
    "an old x": (lambda _, x, y, old: old + y, "starts too early"),
}


@pytest.mark.parametrize("name", JOINS)
def test_a_residual_may_be_outside_of_a_block_but_not_nowhere(name):
    join, says = JOINS[name]
    finding = identity(Outside(join), IDS)
    assert finding.level == ("broken" if says else "holds"), finding
    assert says in finding.says
