"""The tree of a run: each module once, with what hooks measure there."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
import torch
from torch import nn

from tests.helpers.own_models import GPT
from tests.helpers.small import build, small, words
from tformer_lite import DecoderOnly, EncoderDecoder
from tformer_lite.tracing import trace
from tformer_lite.tracing.tree.lines import fitting_depth, lines_of
from tformer_lite.tracing.tree.nodes import Node


class Block(nn.Module):
    """A layer of a stack, of which a test changes something."""

    def __init__(self, wide=6, inner="layer", extra=False):
        super().__init__()
        self.add_module(inner, nn.Linear(4, wide))
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


def table(shown) -> list[list[str]]:
    """The cells of a tree's lines, between its empty ones."""
    lines = str(shown).splitlines()
    rows = lines[3 : lines.index("", 3)]
    return [line.split("  ") for line in rows]


def names(shown) -> list[str]:
    """The first column."""
    return [next(filter(None, cells)).strip() for cells in table(shown)[1:]]


X = torch.randn(2, 4)


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


def test_names_that_differ_by_more_than_a_number_are_not_folded():
    class Three(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key = nn.Linear(4, 4), nn.Linear(4, 4)
            self.key2 = nn.Linear(4, 4)

        def forward(self, x):
            return self.query(x) + self.key(x) + self.key2(x)

    assert names(tree(Three(), X)) == ["query", "key", "key2"]


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

    assert [cells[-1].strip() for cells in table(tree(Tied(), X))[1:]] == [
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


def test_as_many_levels_are_shown_as_fit_a_screen_and_the_rest_is_told():
    torch.manual_seed(0)
    model = EncoderDecoder(small("paper_base", n_layers=6))
    shown = tree(model, words(10, 2, 7), words(11, 2, 5))
    deep = shown.root.depth
    sizes = [len(lines_of(shown.root, d)) for d in range(deep + 1)]
    assert sizes == sorted(sizes)
    assert sizes[shown.depth] <= 36 < sizes[shown.depth + 1]
    last = str(shown).splitlines()[-1]
    more = f"tree(depth={deep}) shows all modules, calls() lists all"
    assert last.startswith(f"depth={shown.depth} of {deep}: {more}")
    assert len(str(shown).splitlines()) <= 44


def test_one_level_is_shown_even_if_it_fits_no_screen():
    layers = (nn.Linear(4 + i, 5 + i) for i in range(50))
    shown = tree(nn.Sequential(*layers), X)
    assert fitting_depth(shown.root) == 1
    assert len(names(shown)) == 50


def test_a_depth_can_be_chosen():
    model = Stack(Block(), Other())
    assert names(tree(model, X, depth=1)) == ["h.0", "h.1"]
    assert names(tree(model, X, depth=0)) == []
    assert names(tree(model, X, depth=9)) == names(tree(model, X, depth=2))
    with pytest.raises(ValueError, match="depth=-1 is below 0"):
        tree(model, X, depth=-1)


def test_a_trace_of_many_calls_prints_its_tree_and_of_few_its_calls():
    many = trace(Stack(*(Block() for _ in range(14))), X)
    few = trace(Stack(*(Block() for _ in range(13))), X)
    assert len(many) == 42
    assert len(few) == 39
    assert str(many) == str(many.tree())
    assert many._repr_html_() == many.tree()._repr_html_()
    assert str(few) == str(few.calls())
    assert few._repr_html_() == few.calls()._repr_html_()
    assert len(str(many.calls()).splitlines()) > 42


def test_what_has_no_modules_prints_its_calls():
    def adds(x):
        for _ in range(50):
            x = x + 1
        return x

    seen = trace(adds, X)
    assert str(seen) == str(seen.calls())
    assert len(str(seen).splitlines()) == 51


def test_a_function_that_calls_modules_has_a_tree_too():
    model = Stack(*(Block() for _ in range(20)))

    def twice(x):
        return model(model(x) + 1)

    lines = str(trace(twice, X)).splitlines()
    assert lines[0] == "twice"
    assert lines[4].split("  ")[0] == "(Stack) × 2"


@pytest.mark.parametrize("layers", [2, 12, 40])
def test_a_deep_model_prints_as_much_as_a_shallow_one(layers):
    torch.manual_seed(0)
    model = EncoderDecoder(replace(small("paper_base"), n_layers=layers))
    shown = tree(model, words(10, 2, 7), words(11, 2, 5), depth=4)
    assert len(shown.shown) == 35
    assert max(map(len, str(shown).splitlines())) <= 100


def test_lines_are_no_wider_than_100_letters():
    class VeryLongNameOfALayerThatNobodyWouldWrite(Block):
        pass

    many = [VeryLongNameOfALayerThatNobodyWouldWrite() for _ in range(3)]
    model = Stack(*many)
    model.forward = lambda *xs: model.h[0](*xs[:2]) + xs[2]
    wide = [torch.randn(1000, 1000, 1, 4) for _ in range(3)]
    lines = str(tree(model, *wide)).splitlines()
    assert max(map(len, lines)) <= 100
    assert "VeryLongNameOfALayerTha…" in lines[4]
    assert "(1000, 1000, 1, 4), … -> (1000, 1000, 1, 4)" in lines[4]


def test_a_layer_that_is_handed_in_is_named_from_where_it_lives():
    """As the residuals of this book's blocks are handed their sublayers."""
    torch.manual_seed(0)
    model = EncoderDecoder(small("paper_base", n_layers=3))
    found = names(tree(model, words(10, 2, 7), words(11, 2, 5), depth=4))
    assert found.count("self_attention") == 2
    assert found.count("blocks.0 … blocks.2 × 3") == 2


def test_data_types_are_marked_that_are_not_the_usual_one():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.fill = nn.Embedding(9, 4), Fill()

        def forward(self, ids):
            return self.fill(self.table(ids), ids[..., None] > 2)

    class Fill(nn.Module):
        def forward(self, x, mask):
            return x.masked_fill(mask, 0.0) * 2 + 1

    model = Masked()
    lines = str(tree(model, words(9, 2, 3))).splitlines()
    assert lines[:2] == [
        "Masked  (2, 3) int64 -> (2, 3, 4)",
        "float32 on cpu, unless marked",
    ]
    assert "(2, 3, 4), (2, 3, 1) bool -> (2, 3, 4)" in lines[5]
    lines = str(tree(model.bfloat16(), words(9, 2, 3))).splitlines()
    assert lines[1] == "bfloat16 on cpu, unless marked"
    assert "(2, 3) int64 -> (2, 3, 4) " in f"{lines[4]} "


def test_of_a_run_that_failed_the_tree_ends_where_it_did():
    blocks = [Block() for _ in range(9)]
    blocks[6].back = nn.Linear(5, 4)
    with pytest.raises(RuntimeError) as caught:
        trace(Stack(*blocks), X)
    lines = str(caught.value.trace.tree()).splitlines()
    assert lines[0] == "Stack  (2, 4) -> failed"
    found = names(caught.value.trace.tree())
    assert found == ["h.0 … h.5 × 6", "layer", "back", "h.6", "layer", "back"]
    failed = ["failed" in line for line in lines[4:10]]
    assert failed == [False, False, False, True, False, True]


def test_what_a_module_gives_that_is_no_tensor_is_not_known():
    class Counts(nn.Module):
        def forward(self, x):
            return len(x)

    model = nn.ModuleDict({"counts": Counts(), "layer": nn.Linear(4, 4)})
    model.forward = lambda x: model["layer"](x) * model["counts"](x)
    lines = str(tree(model, X)).splitlines()
    assert "(2, 4) -> ?" in lines[5]


class Page(HTMLParser):
    """The elements of a page, each with its depth, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.open, self.found, self.texts = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, self.open.count("details"), dict(attributes)))
        self.open += [] if tag == "br" else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_the_html_is_lists_in_lists_that_open_down_to_the_depth():
    model = Stack(Stack(Block(), Block()), Stack(Other()))
    shown = tree(model, X, depth=2)
    page = Page(shown._repr_html_())
    states = [(d, "open" in a) for tag, d, a in page.found if tag == "details"]
    # h.0, its blocks, and of a block: its own call, layer, back
    one = [(0, True), (1, False), *[(2, False)] * 3]
    assert states == one * 2
    assert not {"style", "script", "svg"} & {tag for tag, *_ in page.found}
    for name in "h.0", "h.1", "h.0 … h.1 × 2", "layer", "Block":
        assert any(name in text for text in page.texts), name


def test_the_html_holds_the_calls_of_each_module_once():
    model = Stack(*(Block() for _ in range(14)))
    seen = trace(model, X)
    page = Page(seen.tree()._repr_html_())
    calls = [row.call for row in seen.calls().rows[:3]]
    assert [text for text in page.texts if text in calls] == [
        "inner(x).relu()",
        "inner(x)",
        "y = self.back(inner(x).relu())",
    ]
    assert "own calls of h.0: 1" in page.texts


def test_the_html_of_a_page_that_would_be_huge_has_no_calls():
    class Long(nn.Module):
        def forward(self, x):
            for _ in range(501):
                x = x + 1
            return x

    assert "<table" not in tree(Stack(Long()), X)._repr_html_()


def test_the_html_of_a_model_as_deep_as_gpt_2_is_small():
    torch.manual_seed(0)
    model = GPT(3, 12, 8)
    model.blocks.extend(model.blocks[0] for _ in range(10))
    shown = tree(model, words(37, 2, 8), words(37, 2, 8))
    assert len(shown._repr_html_()) < 30_000


def test_a_class_whose_name_needs_care_is_written_with_it():
    kind = type("<A&B>", (Block,), {})
    model = Stack(*(kind() for _ in range(14)))
    assert "<A&B>" in str(trace(model, X))
    assert "<A&B>" in Page(trace(model, X)._repr_html_()).texts[-1] or (
        "&lt;A&amp;B&gt;" in trace(model, X)._repr_html_()
    )
