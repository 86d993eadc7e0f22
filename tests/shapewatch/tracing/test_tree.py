"""The tree of a run: each module once, with what hooks measure there."""

import pytest
import torch
from torch import nn

from shapewatch.tracing.tree.tree import Node
from tests.helpers.small import build, small, words
from tests.helpers.trees import Block, Other, Stack, X, cells, names, tree
from tformer_lite import DecoderOnly, EncoderDecoder


def test_equal_neighbours_are_one_line_with_the_parameters_of_each():
    model = Stack(*(Block() for _ in range(5)))
    shown = tree(model, X, dims={"B": 2}, axes=["B _"])
    assert str(shown).splitlines() == [
        "Stack  (B, 4) -> (B, 4)",
        "B=2; float32 on cpu, unless marked",
        "",
        "module         class   in -> out         parameters",
        "h.0 … h.4 × 5  Block   (B, 4) -> (B, 4)          58 each",
        "  layer        Linear  (B, 4) -> (B, 6)          30",
        "  back         Linear  (B, 6) -> (B, 4)          28",
        "",
        "290 parameters in all",
        "calls() lists all 15 calls",
    ]
    assert sum(p.numel() for p in model.h[0].parameters()) == 58


@pytest.mark.parametrize(
    ("odd", "masked"),
    [
        (lambda: Other(), ()),
        (lambda: Block(wide=7), ()),
        (lambda: Block(bias=False), ()),
        (lambda: Block(inner="first"), ()),
        (lambda: Block(extra=True), ()),
        (lambda: Block().requires_grad_(False), (2,)),
        (lambda: nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 4)), ()),
    ],
)
def test_a_layer_that_differs_stands_on_its_own(odd, masked):
    blocks = Block(), Block(), odd(), Block(), Block(), Block()
    shown = tree(Stack(*blocks, masked=masked), X, depth=1)
    assert names(shown) == ["h.0 … h.1 × 2", "h.2", "h.3 … h.5 × 3"]


def hooked(model, *inputs) -> list[tuple]:
    """What hooks see of each run of a module: its path, and the shapes."""
    found, paths = [], {m: path for path, m in model.named_modules()}

    def note(module, args, kwargs, out):
        given = [x for x in [*args, *kwargs.values()] if torch.is_tensor(x)]
        made = out[0] if isinstance(out, tuple) else out
        shapes = [tuple(x.shape) for x in given], tuple(made.shape)
        found.append((paths[module], type(module).__name__, *shapes))

    hooks = [m.register_forward_hook(note, with_kwargs=True) for m in paths]
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return found


def runs(node: Node) -> list[tuple]:
    """What a tree says of each run of a module, and of all within it."""
    found = []
    for given in node.given:
        shapes = [
            [tuple(axis.size for axis in shape) for shape in one]
            for one in (given.reads[0], given.makes[0])
        ]
        found.append((node.path, node.kind, shapes[0], shapes[1][0]))
    return found + [x for part in node.parts for x in runs(part)]


MODELS = {
    "translator": lambda: (
        build(EncoderDecoder, small("paper_base", n_layers=3)),
        [words(10, 2, 7), words(11, 2, 5)],
    ),
    "writer": lambda: (
        build(DecoderOnly, small("char_lm")),
        [words(11, 2, 5)],
    ),
    "nn.TransformerEncoder": lambda: (
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 4
        ),
        [torch.randn(2, 5, 8)],
    ),
    "a layer that runs five times": lambda: (Again(), [X]),
}


class Again(nn.Module):
    """One layer in a loop, and another in two places."""

    def __init__(self):
        super().__init__()
        self.layer, self.act = Block(), nn.ReLU()
        self.last = nn.Sequential(nn.Linear(4, 4), self.act)

    def forward(self, x):
        x = self.act(x)
        for _ in range(5):
            x = self.layer(x)
        return self.last(x)


@pytest.mark.parametrize("name", MODELS)
def test_every_run_of_every_module_is_there_with_what_hooks_measure(name):
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    wanted = hooked(model, *inputs)
    assert sorted(runs(tree(model, *inputs).root)) == sorted(wanted)


def test_a_module_that_runs_again_says_how_often():
    found = names(tree(Again(), X))
    assert found == ["act", "layer × 5", "layer", "back", "last", "0", "act"]


def test_parameters_that_stand_above_are_said_to_be_the_same():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.more = nn.Sequential(self.layer, nn.ReLU())

        def forward(self, x):
            return self.more(self.layer(x))

    assert [row[-1].strip() for row in cells(tree(Tied(), X))[1:]] == [
        "20",
        "20",
        "20 again",
        "(2, 4) -> (2, 4)",
    ]


class Growing(nn.Module):
    """Runs a layer on one row more each time, and another now and then."""

    def __init__(self):
        super().__init__()
        self.layer, self.inner = nn.Linear(4, 4), Sometimes()

    def forward(self, x):
        for _ in range(3):
            x = torch.cat([self.inner(self.layer(x)), x[:1]])
        return x


class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x) if len(x) == 3 else x + 1


def test_where_the_shapes_of_several_runs_differ_the_ends_are_shown():
    lines = str(tree(Growing(), X)).splitlines()
    assert lines[4].startswith("layer × 3 ")
    assert "(2, 4) … (4, 4) -> (2, 4) … (4, 4)" in lines[4]
    assert lines[6].split("  ")[1] == "layer × 1 in all"
    wide = X.view(2, *[1] * 14, 4)
    line = str(tree(Growing(), wide)).splitlines()[4]
    assert f" … -> {tuple(wide.shape)} … (4, 1, " in line
    assert "… …" not in line


class Pairs(nn.Module):
    """A list of lists of layers, as many write them: the inner lists do not
    run."""

    def __init__(self, times=4):
        super().__init__()
        pairs = [[nn.Linear(4, 4), nn.Linear(4, 4)] for _ in range(times)]
        self.layers = nn.ModuleList(map(nn.ModuleList, pairs))

    def forward(self, x):
        for first, second in self.layers:
            x = x + first(x)
            x = x + second(x)
        return x


def test_lists_that_do_not_run_hold_what_runs_in_them():
    shown = tree(Pairs(), X)
    assert str(shown).splitlines()[4:7] == [
        f"layers.0 … layers.3 × 4  ModuleList{' ' * 28}40 each",
        f"  0 … 1 × 2{' ' * 14}Linear      (2, 4) -> (2, 4)          20 each",
        "",
    ]
    assert [part.path for part in shown.root.parts] == [
        f"layers.{i}" for i in range(4)
    ]


def test_what_a_long_name_begins_with_is_not_written_twice():
    class Buckets(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(9, 12):
                self.add_module(f"a_2nd_longer_name_{i}_of", nn.Linear(4, 4))

        def forward(self, x):
            return sum(layer(x) for layer in self.children())

    assert names(tree(Buckets(), X)) == ["a_2nd_longer_name_9_of … 11_of × 3"]
