"""The graph of a run: what goes from one module to which other, and what is
written in its boxes."""

import random
import re

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from tests.helpers.small import small, words
from tformer_lite import EncoderDecoder

X = torch.randn(2, 4)
LABEL = r'"[^"]*"'
LINES = [
    r"flowchart TD",
    rf" +in\d+\(\[{LABEL}\]\)",
    r" +out\(\[output\]\)",
    rf" +subgraph n\d+ \[{LABEL}\]",
    r" +end",
    rf" +n\d+\[{LABEL}\]",
    rf" +n\d+_\d+\(\({LABEL}\)\)",
    rf" +\w+ -->\|{LABEL}\| \w+",
]
BOX = re.compile(r'(?:subgraph )?(\w+) ?[\[(]+"?(.*?)"?[\])]+$')
ARROW = re.compile(r'(\w+) -->\|"(.*)"\| (\w+)')


def graph(model, *inputs, depth=None, **names) -> tuple[dict, set]:
    """The boxes by name, and the arrows; both as they are labelled. Every
    line keeps to Mermaid's rules, as its own parser has read them."""
    lines = trace(model, *inputs, **names).to_mermaid(depth).splitlines()
    boxes, arrows = {}, set()
    for line in lines:
        assert any(re.fullmatch(rule, line) for rule in LINES), line
        if arrow := ARROW.match(line.strip()):
            start, label, end = arrow.groups()
            arrows.add((boxes[start], label, boxes[end]))
        elif box := BOX.match(line.strip()):
            assert box[1] not in boxes
            boxes[box[1]] = box[2].replace("<br>", " ")
    text = "\n".join(lines)
    assert text.count("subgraph ") == len(re.findall(r"^ +end$", text, re.M))
    return boxes, arrows


def ways(arrows) -> set[tuple[str, str]]:
    """Who gets something from whom, without what is said of it."""
    return {(start, end) for start, _, end in arrows}


class Residual(nn.Module):
    """A layer beside a way around it."""

    def __init__(self, keeps=False):
        super().__init__()
        self.norm, self.layer = Norm() if keeps else nn.ReLU(), nn.Linear(4, 4)

    def forward(self, x, unused=None):
        return x + self.layer(self.norm(x))


class Norm(nn.Module):
    """As in Llama: what it is given is turned into what it is already."""

    def forward(self, x):
        return x.to(torch.float32) * 2


@pytest.mark.parametrize("keeps", [False, True])
def test_the_way_around_a_layer_is_an_arrow(keeps):
    norm = "norm Norm" if keeps else "norm ReLU"
    _, arrows = graph(Residual(keeps), X, X + 1, dims={"B": 2})
    assert arrows == {
        ("input 1", "(B~, 4?)", norm),
        (norm, "(B~, 4?)", "layer Linear"),
        ("input 1", "(B~, 4?)", "add"),
        ("layer Linear", "(B~, 4?)", "add"),
        ("add", "(B~, 4?)", "output"),
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


@pytest.mark.parametrize("seed", range(4))
def test_the_arrows_are_those_of_a_web_that_was_drawn_by_lot(seed):
    draw = random.Random(seed)
    reads, known = {}, ["input"]
    for name in "abcdefgh":
        reads[name] = draw.sample(known, draw.randint(1, min(3, len(known))))
        known.append(name)
    _, arrows = graph(Web(reads), X)
    into = {end: set() for _, end in ways(arrows)}
    for start, end in ways(arrows):
        into[end].add(start)
    assert into["output"] == {"h Linear"}
    for name, sources in reads.items():
        wanted = {f"{x} Linear" if len(x) == 1 else x for x in sources}
        joined = {"stack"} if len(wanted) > 1 else wanted
        assert into[f"{name} Linear"] == joined
    joins = {frozenset(sources) for sources in reads.values()}
    many = sum(len(one) > 1 for one in joins)
    assert trace(Web(reads), X).to_mermaid().count('(("stack"))') == many


def test_equal_layers_are_drawn_once_without_the_way_from_one_to_the_next():
    model = nn.Sequential(nn.ReLU(), *(Residual() for _ in range(12)))
    model.append(nn.Linear(4, 4))
    boxes, arrows = graph(model, X)
    assert "1 … 12 × 12 Residual" in boxes.values()
    assert ways(arrows) == {
        ("input", "0 ReLU"),
        ("0 ReLU", "norm ReLU"),
        ("0 ReLU", "add"),
        ("norm ReLU", "layer Linear"),
        ("layer Linear", "add"),
        ("add", "13 Linear"),
        ("13 Linear", "output"),
    }


def test_a_call_in_a_loop_is_drawn_twice_however_often_it_is_made():
    layer = nn.Linear(4, 4)

    def grows(x):
        for _ in range(9):
            x = torch.cat([x, layer(x[-1:])])
        return x

    assert trace(grows, X).to_mermaid().count('(("cat"))') == 2


def test_several_tensors_on_one_way_share_an_arrow():
    class Two(nn.Module):
        def forward(self, x):
            return x @ x.T, x.sum(), x > 0

    class Reads(nn.Module):
        def forward(self, given):
            return given[0] + given[1] + given[2][:, :1]

    model = nn.Sequential(Two(), nn.Identity(), Reads())
    _, arrows = graph(model, X, dims={"B": 2}, axes=["B _"])
    shapes = "(B, B), (), (B, 4) bool"
    assert ("0 Two", shapes, "1 Identity") in arrows
    assert ("1 Identity", shapes, "2 Reads") in arrows


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
    _, arrows = graph(model, *inputs, depth=3)
    memory = {end for start, end in ways(arrows) if start == "norm Identity"}
    assert any(end.startswith("cross_attention") for end in memory)


def test_labels_are_written_with_care():
    kind = type('A"<#&>"', (Residual,), {})
    text = trace(nn.Sequential(kind()), X).to_mermaid(1)
    assert '["0<br>A#quot;#lt;#35;#amp;#gt;#quot;"]' in text
    assert 'in0(["x"])' in trace(Residual(), x=X).to_mermaid()
    model = nn.Sequential(nn.Linear(4, 5), nn.Linear(6, 7))
    with pytest.raises(RuntimeError) as caught:
        trace(model, X)
    text = caught.value.trace.to_mermaid()
    assert '["1<br>Linear<br>failed"]' in text


def test_of_a_function_there_are_the_modules_that_it_calls():
    first, last = nn.Linear(4, 4), nn.ReLU()
    _, arrows = graph(lambda x: last(first(x) * 2), X)
    assert ways(arrows) == {
        ("input", "first Linear"),
        ("first Linear", "last ReLU"),
    }
    assert graph(lambda x: x + 1, X) == ({"n0": "function"}, set())
