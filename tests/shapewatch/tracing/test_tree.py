"""The tree of a run: each module once, with what hooks measure there; as much
as fits a screen; and in a notebook, lists in lists."""

import pytest
import torch
from torch import nn

from shapewatch.tracing import trace
from shapewatch.tracing.tree.tree import Node, fitting_depth, tree_lines
from tests.helpers.listings import elements
from tests.helpers.small import build, small, words
from tformer_lite import EncoderDecoder

X = torch.randn(2, 4)


class Block(nn.Module):
    """A layer of a stack, of which a test changes something."""

    def __init__(self, wide=6, inner="layer", extra=False, bias=True):
        super().__init__()
        self.add_module(inner, nn.Linear(4, wide, bias))
        self.back = nn.Linear(wide, 4)
        self.extra = nn.ReLU() if extra else None

    def forward(self, x, mask=None):
        inner = next(self.children())
        y = self.back(inner(x).relu())
        return y if self.extra is None else self.extra(y)


class Other(Block):
    pass


class Stack(nn.Module):
    """Layers one after the other; `masked` ones are given a mask."""

    def __init__(self, *blocks, masked=()):
        super().__init__()
        self.h, self.masked = nn.ModuleList(blocks), masked

    def forward(self, x):
        for i, block in enumerate(self.h):
            x = block(x, x > 0) if i in self.masked else block(x)
        return x


def tree(model, *inputs, depth=None, **names):
    return trace(model, *inputs, **names).tree(depth)


def names(shown) -> list[str]:
    """The first column of a tree's lines, between its empty ones."""
    lines = str(shown).splitlines()
    rows = lines[4 : lines.index("", 4)] if lines[3:] else []
    return [next(filter(None, row.split("  "))).strip() for row in rows]


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
        (Other(), ()),
        (Block(wide=7), ()),
        (Block(inner="first"), ()),
        (Block(extra=True), ()),
        (Block(), (2,)),
    ],
    ids=["class", "size", "name", "parts", "input"],
)
def test_a_layer_that_differs_stands_on_its_own(odd, masked):
    blocks = Block(), Block(), odd, Block(), Block(), Block()
    shown = tree(Stack(*blocks, masked=masked), X, depth=1)
    assert names(shown) == ["h.0 … h.1 × 2", "h.2", "h.3 … h.5 × 3"]


def hooked(model, *inputs) -> list[tuple]:
    """What hooks see of each run of a module: its path, and the shapes."""
    runs, paths = [], {m: path for path, m in model.named_modules()}

    def note(module, args, kwargs, out):
        given = [x for x in [*args, *kwargs.values()] if torch.is_tensor(x)]
        made = out[0] if isinstance(out, tuple) else out
        shapes = [tuple(x.shape) for x in given], tuple(made.shape)
        runs.append((paths[module], type(module).__name__, *shapes))

    hooks = [m.register_forward_hook(note, with_kwargs=True) for m in paths]
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return runs


def runs_in(node: Node) -> list[tuple]:
    """What a tree says of each run of a module, and of all within it."""
    runs = []
    for sides in node.given:
        reads, makes = (
            [tuple(axis.size for axis in shape) for shape in shapes]
            for shapes, _ in sides
        )
        runs.append((node.path, node.kind, reads, makes[0]))
    return runs + [x for part in node.parts for x in runs_in(part)]


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


ENCODER_LAYER = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
MODELS = {
    "translator": (
        build(EncoderDecoder, small("paper_base", n_layers=3)),
        [words(10, 2, 7), words(11, 2, 5)],
    ),
    "PyTorch's": (
        nn.TransformerEncoder(ENCODER_LAYER, 4),
        [torch.randn(2, 5, 8)],
    ),
    "a layer that runs five times": (Again(), [X]),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_run_of_every_module_is_there_with_what_hooks_measure(name):
    model, inputs = MODELS[name]
    root = tree(model, *inputs)._root
    assert sorted(runs_in(root)) == sorted(hooked(model, *inputs))


def test_a_module_that_runs_again_says_how_often():
    shown = names(tree(Again(), X))
    assert shown == ["act", "layer × 5", "layer", "back", "last", "0", "act"]


def test_lists_that_do_not_run_hold_what_runs_in_them():
    """A list of lists of layers, as many write them."""
    pairs = [[nn.Linear(4, 4), nn.Linear(4, 4)] for _ in range(4)]
    model = nn.Module()
    model.layers = nn.ModuleList(map(nn.ModuleList, pairs))
    model.forward = lambda x: [b(a(x)) for a, b in model.layers][-1]
    shown = tree(model, X)
    assert str(shown).splitlines()[4:7] == [
        f"layers.0 … layers.3 × 4  ModuleList{' ' * 28}40 each",
        f"  0 … 1 × 2{' ' * 14}Linear      (2, 4) -> (2, 4)          20 each",
        "",
    ]
    assert [part.path for part in shown._root.parts] == [
        f"layers.{i}" for i in range(4)
    ]
    model.forward = lambda x: model.layers[0][1](x)
    assert names(tree(model, X)) == ["layers.0.1"], "one layer is no level"


def test_as_many_levels_are_shown_as_fit_a_screen_and_the_rest_is_told():
    model = EncoderDecoder(small("paper_base", n_layers=6))
    shown = tree(model, words(10, 2, 7), words(11, 2, 5))
    deep = shown._root.depth
    sizes = [len(tree_lines(shown._root, d)) for d in range(deep + 1)]
    assert sizes == sorted(sizes)
    assert sizes[shown.depth] <= 36 < sizes[shown.depth + 1]
    last = str(shown).splitlines()[-1]
    more = f"tree(depth={deep}) shows all modules, calls() lists all"
    assert last.startswith(f"depth={shown.depth} of {deep}: {more}")
    wide = nn.Sequential(*(nn.Linear(4 + i, 5 + i) for i in range(50)))
    assert fitting_depth(tree(wide, X)._root) == 1


def test_a_depth_can_be_chosen():
    model = Stack(Block(), Other())
    assert names(tree(model, X, depth=1)) == ["h.0", "h.1"]
    assert tree(model, X, depth=0)._shown == []
    assert names(tree(model, X, depth=9)) == names(tree(model, X, depth=2))
    with pytest.raises(ValueError, match="depth=-1 is below 0"):
        tree(model, X, depth=-1)


def test_calls_are_printed_that_fit_in_40_lines_and_else_the_tree():
    many = trace(Stack(*(Block() for _ in range(7))), X)
    few = trace(Stack(*(Block() for _ in range(6))), X)
    assert len(str(many.calls()).splitlines()) == 42
    assert str(many) == str(many.tree())
    assert many._repr_html_() == many.tree()._repr_html_()
    assert len(str(few.calls()).splitlines()) == 36
    assert str(few) == str(few.calls())
    assert few._repr_html_() == few.calls()._repr_html_()


def test_a_function_that_does_more_than_a_module_is_the_whole():
    block = Block()

    def scaled(x):
        return block(x) * 2

    lines = str(tree(scaled, X)).splitlines()
    assert lines[0] == "scaled"
    assert lines[4].startswith("Block  ")
    lines = str(tree(lambda x: block(x), X)).splitlines()
    assert lines[0] == "Block  (2, 4) -> (2, 4)"


def test_lines_are_no_wider_than_100_letters():
    """Shapes that are left out are dots, and then a class is cut."""
    model = Stack(type("VeryLongNameOfALayerThatNobody", (Block,), {})())
    model.forward = lambda *xs: model.h[0](*xs[:2]) + xs[2]
    wide = [torch.randn(1000, 10, *[1] * 5, 4) for _ in range(3)]
    lines = str(tree(model, *wide)).splitlines()
    assert max(map(len, lines)) <= 100
    shape = str(tuple(wide[0].shape))
    assert f"VeryLongNameO…  {shape}, … -> {shape}  " in lines[4]


def test_data_types_are_marked_that_are_not_the_usual_one():
    class Fill(nn.Module):
        def forward(self, x):
            return x.masked_fill(x > 0, 0.0), x > 0

    model = nn.Sequential(nn.Embedding(9, 4), Fill())
    lines = str(tree(model.bfloat16(), words(9, 2, 3))).splitlines()
    assert lines[0] == "Sequential  (2, 3) int64 -> (2, 3, 4), (2, 3, 4) bool"
    assert lines[1] == "bfloat16 on cpu, unless marked"
    assert "(2, 3) int64 -> (2, 3, 4)" in lines[4]


def test_of_a_run_that_failed_the_tree_ends_where_it_did():
    blocks = [Block() for _ in range(9)]
    blocks[6].back = nn.Linear(5, 4)
    with pytest.raises(RuntimeError) as caught:
        trace(Stack(*blocks), X)
    lines = str(caught.value.trace.tree()).splitlines()
    assert lines[0] == "Stack  (2, 4) -> failed"
    shown = names(caught.value.trace.tree())
    assert shown == ["h.0 … h.5 × 6", "layer", "back", "h.6", "layer", "back"]
    failed = ["failed" in line for line in lines[4:10]]
    assert failed == [False, False, False, True, False, True]


def levels(page, depth=0):
    """The depth of each list that can be opened, and whether it is."""
    for part in page:
        inner = part.tag == "details"
        if inner:
            yield depth, "open" in part.attrib
        yield from levels(part, depth + inner)


def test_the_html_is_lists_in_lists_that_open_down_to_the_depth():
    kind = type("<A&B>", (Block,), {})
    model = Stack(Stack(kind(), kind()), Stack(Other()))
    page = elements(tree(model, X, depth=2)._repr_html_())
    # h.0, its blocks, and of a block: its own call, layer, back
    inside = [(0, True), (1, False), *[(2, False)] * 3]
    assert [*levels(page)] == inside * 2
    assert not {"style", "script", "svg"} & {part.tag for part in page.iter()}
    for name in "h.0", "h.1", "h.0 … h.1 × 2", "layer", "<A&B>":
        assert any(name in text for text in page.itertext()), name


def test_the_html_holds_the_calls_of_each_module_once_unless_it_were_huge():
    seen = trace(Stack(*(Block() for _ in range(14))), X)
    texts = [*elements(seen.tree()._repr_html_()).itertext()]
    calls = [row.call for row in seen.calls().rows[:3]]
    assert [text for text in texts if text in calls] == [
        "inner(x).relu()",
        "inner(x)",
        "y = self.back(inner(x).relu())",
    ]
    assert "own calls of h.0: 1" in texts
    long = nn.Sequential(*(nn.Linear(4 + i, 5 + i) for i in range(301)))
    assert "<table" not in tree(long, X)._repr_html_()
