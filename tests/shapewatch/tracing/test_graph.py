"""The graph of a run: what goes from one module to which other."""

import random

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from tests.helpers.graphs import Residual, graph, ways
from tests.helpers.small import small, words
from tformer_lite import EncoderDecoder

X = torch.randn(2, 4)


@pytest.mark.parametrize("keeps", [False, True])
def test_the_way_around_a_layer_is_an_arrow(keeps):
    norm = "norm Norm" if keeps else "norm ReLU"
    _, arrows = graph(Residual(keeps), X, dims={"B": 2}, axes=["B _"])
    assert arrows == {
        ("input", "(B, 4)", norm),
        (norm, "(B, 4)", "layer Linear"),
        ("input", "(B, 4)", "add"),
        ("layer Linear", "(B, 4)", "add"),
        ("add", "(B, 4)", "output"),
    }


class Web(nn.Module):
    """Layers, each of which reads some that went before."""

    def __init__(self, reads):
        super().__init__()
        self.reads = reads
        for name in reads:
            self.add_module(name, nn.Linear(4, 4))

    def forward(self, x):
        made = {"input": x}
        for name, sources in self.reads.items():
            found = torch.stack([made[source] for source in sources])
            made[name] = getattr(self, name)(found.sum(0).relu())
        return made[name]


@pytest.mark.parametrize("seed", range(8))
def test_the_arrows_are_those_of_a_web_that_was_drawn_by_lot(seed):
    draw = random.Random(seed)
    reads, known = {}, ["input"]
    for name in "abcdefgh":
        reads[name] = draw.sample(known, draw.randint(1, min(3, len(known))))
        known.append(name)
    _, arrows = graph(Web(reads), X)
    direct = ways(arrows)
    into = {end: {a for a, b in direct if b == end} for _, end in direct}
    assert into["output"] == {"h Linear"}
    for name, sources in reads.items():
        wanted = {f"{x} Linear" if len(x) == 1 else x for x in sources}
        got = into[f"{name} Linear"]
        if len(wanted) > 1:
            assert got == {"stack"}
        else:
            assert got == wanted
    joins = {frozenset(sources) for sources in reads.values()}
    joins = [one for one in joins if len(one) > 1]
    model = trace(Web(reads), X).to_mermaid()
    assert model.count('(("stack"))') == len(joins)


@pytest.mark.parametrize("layers", [3, 12])
def test_equal_layers_are_drawn_once_without_the_way_from_one_to_the_next(
    layers,
):
    model = nn.Sequential(nn.ReLU(), *(Residual() for _ in range(layers)))
    model.append(nn.Linear(4, 4))
    boxes, arrows = graph(model, X)
    assert f"1 … {layers} × {layers} Residual" in boxes.values()
    assert ways(arrows) == {
        ("input", "0 ReLU"),
        ("0 ReLU", "norm ReLU"),
        ("0 ReLU", "add"),
        ("norm ReLU", "layer Linear"),
        ("layer Linear", "add"),
        ("add", f"{layers + 1} Linear"),
        (f"{layers + 1} Linear", "output"),
    }


def test_a_call_in_a_loop_is_drawn_twice_however_often_it_is_made():
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x, times=9):
            for _ in range(times):
                x = torch.cat([x, self.layer(x[-1:])])
            return x

    assert trace(Grows(), X).to_mermaid().count('(("cat"))') == 2
    _, arrows = graph(Grows(), X, times=1)
    assert ways(arrows) == {
        ("input", "layer Linear"),
        ("input", "cat"),
        ("layer Linear", "cat"),
        ("cat", "output"),
    }


def test_several_tensors_on_one_way_share_an_arrow():
    class Two(nn.Module):
        def forward(self, x):
            return x @ x.T, x.sum(), x > 0

    class Reads(nn.Module):
        def forward(self, a, b, c):
            return a + b + c[:, :1]

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.two, self.reads = Two(), Reads()

        def forward(self, x):
            return self.reads(*self.two(x))

    _, arrows = graph(Both(), X, dims={"B": 2}, axes=["B _"])
    assert ("two Two", "(B, B), (), (B, 4) bool", "reads Reads") in arrows


def test_the_memory_of_an_encoder_goes_to_every_layer_of_the_decoder():
    torch.manual_seed(0)
    model = EncoderDecoder(small("paper_base", n_layers=3))
    inputs = words(10, 2, 7), words(11, 2, 5)
    boxes, arrows = graph(model, *inputs, depth=1)
    assert len(boxes) == 9
    assert {
        ("encoder Stack", "decoder Stack"),
        ("input 1", "decoder Stack"),  # the mask
        ("tgt_embedding InputEmbedding", "decoder Stack"),
    } < ways(arrows)
    _, arrows = graph(model, *inputs, depth=4)
    memory = {end for start, end in ways(arrows) if start == "norm Identity"}
    assert any(end.startswith("cross_attention") for end in memory)
