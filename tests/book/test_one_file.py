"""The file that readers put together from the chapters' cells: it is the
module's model, in the module's words."""

import ast
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from functools import cache
from types import ModuleType

import nbformat
import one_file
import pytest
import torch
from packages import ONE_FILE

from tests.helpers.house import MODEL, OTHER_PARTS
from tests.helpers.project import ROOT
from tformer_lite import english_nepali, greedy, running_example, running_model
from tformer_lite.example.running import PAIRS
from tformer_lite.example.shipped import STORED_FILES, trained_translator

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


def names_in(source: str) -> set[str]:
    """The names of variables, attributes and parameters."""
    nodes = [*ast.walk(ast.parse(source))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_a_readers_names_are_the_modules():
    """But for the id of padding, which the module has from its config."""
    files = [*MODEL.glob("*.py"), *OTHER_PARTS.glob("*.py")]
    theirs = {x for file in files for x in names_in(file.read_text("utf8"))}
    cells = one_file.definitions(ONE_FILE.read_text("utf8"))
    mine = {name for part in PARTS for name in names_in(cells[part])}
    assert len(PARTS) >= 15
    assert mine - theirs - {*PARTS} == {"PAD"}


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
