"""The file that readers put together from the chapters' cells: it is the
module's model, in the module's words."""

import ast
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from types import ModuleType

import nbformat
import one_file
import pytest
import torch
from packages import ONE_FILE

import tformer_lite
from tests.helpers.project import ROOT
from tformer_lite import english_nepali, greedy, running_example, running_model
from tformer_lite.example.running import PAIRS
from tformer_lite.example.shipped import STORED_FILES, trained_translator
from tformer_lite.model import models

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
WEIGHTS = STORED_FILES / "translator.pt"
# The parts that the module has too; the rest runs them.
OWN = {"print_shapes", "UNK, PAD, SOS, EOS", "encode", "decode"}
OWN |= {"greedy", "load", "main"}
PARTS = one_file.definitions(ONE_FILE.read_text("utf8")).keys() - OWN
PARTS = sorted(name for name in PARTS if name.isidentifier())


@cache
def mine() -> ModuleType:
    spec = importlib.util.spec_from_file_location("as_built", ONE_FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_part(name: str):
    return getattr(tformer_lite, name, None) or getattr(models, name)


def test_the_file_is_what_the_chapters_cells_say():
    assert ONE_FILE.read_text("utf8") == one_file.one_file(CHAPTERS)


def test_the_file_has_250_lines_at_most_and_imports_nothing_but_torch():
    text = ONE_FILE.read_text("utf8")
    assert len(text.splitlines()) <= 250
    assert max(map(len, text.splitlines())) <= 76
    nodes = list(ast.walk(ast.parse(text)))
    names = {
        a.name for n in nodes if isinstance(n, ast.Import) for a in n.names
    }
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    assert names == {"torch"}


def test_chapters_2_to_12_each_build_a_part_in_cells_of_20_lines():
    for text in CHAPTERS[2:13]:
        cells = one_file.build_cells(text)
        assert cells, f"{text.name} builds nothing"
        for cell in cells:
            assert len(cell.splitlines()) <= 20


@pytest.mark.parametrize("text", CHAPTERS[2:13], ids=lambda path: path.stem)
def test_what_is_built_is_printed_and_is_the_same_as_the_modules(text):
    cells = nbformat.read(text.with_suffix(".ipynb"), as_version=4).cells
    tags = [cell.metadata.get("tags", []) for cell in cells]
    first = next(
        i for i, each in enumerate(tags) if one_file.BUILD_TAG in each
    )
    code = [cell for cell in cells[first:] if cell.cell_type == "code"]
    loose = [
        c for c in code if one_file.BUILD_TAG not in c.metadata.get("tags", [])
    ]
    runs = [c for c in loose if re.search(r"print_shapes\(|^main\(", c.source)]
    said = "".join(o.get("text", "") for c in code for o in c.outputs)
    assert runs, "nothing is run under the hooks"
    assert all("->" in "".join(o.text for o in c.outputs) for c in runs)
    assert re.search(r"^same: all \d+ values of .* agree$", said, re.MULTILINE)


# --- the same words ------------------------------------------------------

# What the module's text has more: refusals, and options with what keeps them.
MORE = [
    r"check_\w+\(",
    r"if (dropout|config\.tied)",
    r"weights = dropout",
    r"self\.(config|mask|pad|dropout|activation|n_kv_heads) = ",
    r"self\.head\.weight = ",
    r"(norm|rows|shared|positions|source|src_size) = (?!x)",
    r"block, cross_block = ",
    r"q, k = \(self\.place",
    r"k, v = \(share_heads",
]
# An option on the left, and what a reader writes who has chosen.
CHOSEN = r"""
self\.dropout\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)
    \1
mask, self\.dropout\)
    mask)
self\.power
    0.5
math\.sqrt\((.*)\)
    \1 ** 0.5
math\.inf
    torch.inf
self\.n_heads, self\.place = .*
    self.n_heads = n_heads
self\.n_kv_heads
    self.n_heads
rows\(d_model, shared, bias\)
    Linear(d_model, d_model, bias)
self\.activation\(
    torch.relu(
(?:Linear|Head)\((.*), (?:config.head_)?bias\)
    nn.Linear(\1, bias=False)
make_(?:cross_)?attention\(config\)
    MultiHeadAttention(d_model, n_heads)
make_feed_forward\(config\)
    FeedForward(d_model, d_ff)
make_norms\(config, (.)\)
    nn.ModuleList((UnbiasedNorm(d_model) for _ in range(\1)))
(?<== )norm\(
    UnbiasedNorm(
InputEmbedding\(\w+, .*\)
    InputEmbedding(vocab_size, max_len, d_model)
EMBEDDINGS\[.*\]\(
    TokenEmbedding(
(?<== )positions\(
    LearnedPositions(
layers = range\(.*\)
    sizes, layers = ((d_model, n_heads, d_ff), range(n_layers))
block\(config\)
    block(*sizes)
Stack\(source, block\)
    Stack(n_layers, Block, d_model, *sizes)
Stack\(config, cross_block\)
    Stack(n_layers, CrossBlock, d_model, *sizes)
self\.mask\(tgt.shape\[1\], tgt.device\)
    causal_mask(tgt.shape[1])
self\.pad\b
    PAD
hide\.to\(scores\.dtype\)
    hide
"""


def statements(function) -> list[str]:
    """The lines that run, without type hints and docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    return [line.strip() for x in body for line in ast.unparse(x).split("\n")]


def as_chosen(lines: list[str]) -> list[str]:
    """The module's lines, once every choice has been made."""
    lines = [x for x in lines if not any(re.match(m, x) for m in MORE)]
    for option, choice in re.findall(r"(\S.*)\n    (.*)\n", CHOSEN):
        lines = [re.sub(option, choice, line) for line in lines]
    text = re.sub(r"config\.|, device=device", "", "\n".join(lines))
    # A mask that is named, and then used once.
    text = re.sub(r"(mask = .*)\nmask = mask &", r"\1 &", text)
    text = re.sub(r"^mask = (.*)\n(return .*)mask\)$", r"\2\1)", text)
    return text.split("\n")


class Names(ast.NodeTransformer):
    """Put what some names stand for in their place."""

    def __init__(self, known: dict[str, ast.expr]):
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.known.get(node.id, node)


def in_one(lines: list[str]) -> list[str]:
    """Lines without names for what is in between: steps of one line or two."""
    names, kept = Names({}), []
    for line in lines:
        node = ast.parse(line.removeprefix("return ")).body[0]
        value = names.visit(node.value)
        if isinstance(node, ast.Assign) and isinstance(
            node.targets[0], ast.Name
        ):
            names.known[node.targets[0].id] = value
        else:
            kept.append(ast.unparse(node))
    return kept


def methods(part: object) -> list[tuple[object, object]]:
    """Each function of a part that a reader builds, and the module's."""
    theirs = module_part(part.__name__)
    if not inspect.isclass(part):
        return [(part, theirs)]
    own = [k for k, x in vars(part).items() if inspect.isfunction(x)]
    return [(getattr(part, name), getattr(theirs, name)) for name in own]


@pytest.mark.parametrize("name", PARTS)
def test_the_modules_words_are_the_readers_and_options_and_refusals(name):
    for own, theirs in methods(getattr(mine(), name)):
        if own.__qualname__ == "UnbiasedNorm.__init__":  # in its base
            theirs = tformer_lite.LayerNorm.__init__
        said, wanted = statements(own), as_chosen(statements(theirs))
        if name == "EncoderDecoder":  # to be one cell, the reader's is short
            said, wanted = in_one(said), in_one(wanted)
        assert wanted == said


# --- the same numbers ----------------------------------------------------


def outputs(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What each part makes of the running example, by its path."""
    found = {}
    for path, part in model.named_modules():
        part.register_forward_hook(
            lambda part, given, made, path=path: found.update({path: made})
        )
    model(*running_example()[:2])
    return found


def test_every_part_gives_the_modules_numbers_with_its_weights():
    own, theirs = outputs(mine().load(WEIGHTS)[0]), outputs(running_model())
    torch.testing.assert_close(own, {path: theirs[path] for path in own})
    kinds = {type(x).__name__ for x in mine().load(WEIGHTS)[0].modules()}
    assert {x for x in PARTS if inspect.isclass(getattr(mine(), x))} <= kinds


@pytest.mark.full
def test_the_test_set_is_translated_with_the_very_same_words():
    kept, (model, english, nepali) = trained_translator(), mine().load(WEIGHTS)
    sentences = [sentence for sentence, _ in english_nepali("test")]
    reader, writer = kept.tokenizers
    src = reader.encode([reader.row(text, 8) for text in sentences])
    ids = torch.cat([mine().encode(text, english) for text in sentences])
    assert ids.equal(src)
    own = [
        mine().decode(x, nepali) for x in mine().greedy(model, ids).tolist()
    ]
    theirs = [writer.decode(x) for x in greedy(kept.model, src, 2, 3, 8)]
    assert own == theirs


@pytest.mark.full
def test_the_file_runs_alone_prints_its_shapes_and_translates(tmp_path):
    for file in ONE_FILE, WEIGHTS:
        shutil.copy(file, tmp_path)
    command = sys.executable, ONE_FILE.name
    said = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert "encoder.blocks.0.self_attention MultiHeadAttention" in said
    assert "(1, 8, 12) -> (1, 8, 12)" in said
    assert PAIRS[1][1] in said
