"""The files that readers put together from the chapters' cells: their model is
the module's, in the module's words, and it learns."""

import ast
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import nbformat
import one_file
import pytest
import torch
from packages import MY_GPT, MY_NUMBERS, MY_TRANSFORMER, PAIRS

from tests.helpers.house import MODEL, OTHER_PARTS
from tests.helpers.project import ROOT, run
from tformer_lite import (
    EncoderDecoder,
    Recipe,
    Trainer,
    running_example,
    running_model,
    tiny_translator,
    train,
)
from tformer_lite.example.shipped import trained_translator

CHAPTERS = sorted((ROOT / "chapters").glob("*.md"))
BUILT = CHAPTERS[:15]
# The parts that the module has too; the rest runs them.
OWN = {"print_shapes", "UNK, PAD, SOS, EOS", "split", "vocabulary", "encode"}
OWN |= {"decode", "read_pairs", "greedy", "load", "learn", "train"}
OWN |= {"translate", "main"}
TEXT = MY_TRANSFORMER.read_text("utf8")
PARTS = one_file.definitions(TEXT).keys() - OWN
PARTS = sorted(name for name in PARTS if name.isidentifier())


@cache
def mine() -> ModuleType:
    spec = importlib.util.spec_from_file_location("as_built", MY_TRANSFORMER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_file(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Run the file in a folder of its own, as a reader does."""
    shutil.copy(MY_TRANSFORMER, folder)
    return run(folder, sys.executable, MY_TRANSFORMER.name, *words)


@pytest.mark.parametrize("path", one_file.STARTS, ids=lambda path: path.stem)
def test_a_file_is_what_the_chapters_cells_say(path):
    assert path.read_text("utf8") == one_file.one_file(CHAPTERS, path)


@pytest.mark.parametrize(
    ("path", "most"), [(MY_TRANSFORMER, 250), (MY_GPT, 200)]
)
def test_a_file_is_short_and_imports_nothing_but_torch(path, most):
    text = path.read_text("utf8")
    assert len(text.splitlines()) <= most
    assert max(map(len, text.splitlines())) <= 76
    nodes = list(ast.walk(ast.parse(text)))
    names = {
        a.name for n in nodes if isinstance(n, ast.Import) for a in n.names
    }
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    assert names == {"sys", "torch", "torch.nn.functional"}


@pytest.mark.parametrize("text", BUILT[2:13], ids=lambda path: path.stem)
def test_what_is_built_is_printed_and_is_the_same_as_the_modules(text):
    cells = nbformat.read(text.with_suffix(".ipynb"), as_version=4).cells
    tags = [cell.metadata.get("tags", []) for cell in cells]
    first = next(i for i, each in enumerate(tags) if "build" in each)
    code = [cell for cell in cells[first:] if cell.cell_type == "code"]
    loose = [c for c in code if "build" not in c.metadata.get("tags", [])]
    runs = [
        c for c in loose if re.search(r"print_shapes\(|\.tree\(", c.source)
    ]
    said = "".join(o.get("text", "") for c in code for o in c.outputs)
    assert runs, "nothing is run under the hooks"
    assert all("->" in str(c.outputs) for c in runs)
    assert re.search(r"^same: all \d+ values of .* agree$", said, re.MULTILINE)


# --- the same words ------------------------------------------------------


def names_in(source: str) -> set[str]:
    """The names of variables, attributes and parameters."""
    nodes = [*ast.walk(ast.parse(source))]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return names | {node.arg for node in nodes if isinstance(node, ast.arg)}


def test_a_readers_names_are_the_modules():
    """But for the id of padding, which the module has from its config, and
    what the file says in fewer lines."""
    files = [*MODEL.glob("*.py"), *OTHER_PARTS.glob("*.py")]
    theirs = {x for file in files for x in names_in(file.read_text("utf8"))}
    cells = one_file.definitions(TEXT)
    mine = {name for part in PARTS for name in names_in(cells[part])}
    assert len(PARTS) >= 14
    assert mine - theirs - {*PARTS} == {"PAD", "append", "randn"}


# --- the same numbers ----------------------------------------------------


def outputs(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What each part makes of the running example, by its path."""
    made = {}
    for path, part in model.named_modules():
        part.register_forward_hook(
            lambda part, inputs, output, path=path: made.update({path: output})
        )
    model(*running_example()[:2])
    return made


def test_every_part_gives_the_modules_numbers_with_its_weights():
    model = mine().load(MY_NUMBERS)[0]
    own, theirs = outputs(model), outputs(running_model())
    torch.testing.assert_close(own, {path: theirs[path] for path in own})
    kinds = {type(x).__name__ for x in model.modules()}
    assert {x for x in PARTS if inspect.isclass(getattr(mine(), x))} <= kinds


def test_the_readers_numbers_are_those_of_the_books_translator():
    kept, (model, *words) = trained_translator(), mine().load(MY_NUMBERS)
    assert words == [tokenizer.ids for tokenizer in kept.tokenizers]
    torch.testing.assert_close(
        model.state_dict(), kept.model.state_dict(), rtol=0, atol=0
    )


class AsDrawn:
    """Data whose batches are those that the file draws, one by one."""

    ignore = 1

    def __init__(self, src: torch.Tensor, tgt: torch.Tensor, draws: list):
        self.src, self.tgt, self.draws = src, tgt, draws

    def __len__(self) -> int:
        return len(self.src)

    def __getitem__(self, rows: list[int]):
        rows = self.draws.pop(0)
        read, labels = self.tgt[rows, :-1], self.tgt[rows, 1:]
        return (self.src[rows], read), labels


def test_a_training_has_the_losses_of_the_modules_trainer():
    """From the same start, with the same batches and the same recipe."""
    rows = []
    for texts in mine().read_pairs(PAIRS)[:2]:
        ids = mine().vocabulary(texts)
        rows.append(torch.cat([mine().encode(text, ids) for text in texts]))
    module = EncoderDecoder(replace(tiny_translator, vocab_size=400))
    model = mine().EncoderDecoder(400, 8, 1, 12, 3, 48)
    model.load_state_dict(module.state_dict())
    torch.manual_seed(5)
    losses = [*mine().learn(model, *rows, steps=90)]
    recipe = Recipe(
        steps=90, batch_size=64, lr=0.02, warmup=65, schedule="wsd", clip=0.5,
        every=1, weight_decay=0.01,
    )  # fmt: skip
    torch.manual_seed(5)
    draws = [torch.randint(len(rows[0]), (64,)) for _ in range(90)]
    trainer = Trainer(module, recipe)
    train(trainer, AsDrawn(*rows, draws))
    torch.testing.assert_close(losses, trainer.train_losses, rtol=1e-3, atol=0)
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.full
@pytest.mark.parametrize("seed", [3, 4])
def test_it_learns_nearly_all_test_sentences(seed, tmp_path, capsys):
    mine().train(PAIRS, tmp_path / "numbers.pt", seed=seed)
    last = capsys.readouterr().out.splitlines()[-1]
    right, _, all_of_them = re.findall(r"(\d+) (of) (\d+) right", last)[0]
    assert int(right) >= 0.99 * int(all_of_them) > 600


# --- as a reader runs it -------------------------------------------------


def test_the_file_alone_says_what_it_needs(tmp_path):
    for words in [], ["train"], ["I am here."]:
        run = run_file(tmp_path, *words)
        assert (run.returncode, run.stdout) == (1, "")
        assert re.match(
            r"\[Errno 2\] .*'(translator.pt|pairs.tsv)'", run.stderr
        )
        assert "python my_transformer.py train" in run.stderr


def test_it_shows_examples_and_shapes_and_translates_what_one_types(tmp_path):
    shutil.copy(MY_NUMBERS, tmp_path)
    shown = run_file(tmp_path).stdout
    assert "Ram saw us. → रामले हामीलाई देख्यो ।" in shown
    assert "encoder.blocks.0.self_attention MultiHeadAttention" in shown
    assert "(1, 6, 12) -> (1, 6, 12)" in shown
    typed = run_file(tmp_path, "Hari saw the zebra.", "You saw hari.|तपाईंले")
    warned, unknown, polite = typed.stdout.splitlines()
    assert warned == "It never learned zebra so this is a guess:"
    assert unknown.startswith("Hari saw the zebra. → हरिले ")
    assert "→ तपाईंले हरिलाई" in polite


@pytest.mark.parametrize(("text", "count"), [("a b c d e f g.", 8), ("", 0)])
def test_a_sentence_without_room_is_refused(text, count):
    translator = mine().load(MY_NUMBERS)
    with pytest.raises(SystemExit, match=f"{count} words .* not 1 to 6"):
        mine().translate(text, *translator)


NUMBERED = "".join(f"{i}\tdog {i}\tHund {i}\n" for i in range(90))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a dog\tein Hund\n" * 30 + "no tab\n \n", "Bad: 1 of 2, .*'no tab'"),
        ("a dog\t\n\tein Hund", r"Bad: 2 of 2, see .*'a dog', ''"),
        ("a dog\tein Hund\n", "needs 20 different pairs"),
        ("n\tx\ty\n" + NUMBERED, r"Bad: 90 of 91, see \[\['0', 'dog 0', 'h"),
        (NUMBERED.replace("\tHund", "\t7\tHund"), "Bad: 90 of 90, see"),
        (re.sub(r"(?m)^\d+", "eng", NUMBERED), r"Bad: 0 of 90, see \[\['eng'"),
        ("", "Bad: 0 of 0, see"),
    ],
)
def test_pairs_that_are_none_are_refused_in_a_sentence(
    tmp_path, content, said
):
    path = tmp_path / "pairs.tsv"
    path.write_text(content, "utf8")
    with pytest.raises(SystemExit, match=said):
        mine().read_pairs(path)


def test_a_file_of_ones_own_needs_no_marks(tmp_path):
    """Capitals, line ends of Windows, quotes, a third column, a line twice."""
    names = ["Ana", "Ben", "Eva", "Kim", "Leo", "Mia", "Tom", "Zoe"]
    lines = [
        f'"{x} sees {y}."\t"{y} wird von {x} gesehen."\tCC-BY'
        for x in names for y in names
    ]  # fmt: skip
    path = tmp_path / "own.tsv"
    path.write_text("\r\n".join([*lines, "", lines[0]]), "utf-8-sig")
    sources, targets, tests = mine().read_pairs(path)
    assert (len(sources), len(targets), len(tests)) == (64, 64, 7)
    assert sources[0] == "ana sees ana."
    assert targets[0] == "ana wird von ana gesehen."


def test_the_last_of_the_best_is_saved(tmp_path, monkeypatch, capsys):
    def learn(model, *given):
        for step in range(1, 401):
            model.head.weight.data.fill_(step)
            yield 0.0

    right, path = iter([0, 1, 1, 0]), tmp_path / "own.tsv"
    path.write_text("".join(f"x{i}\tx{i}\n" for i in range(40)))
    monkeypatch.setattr(mine(), "learn", learn)
    monkeypatch.setattr(mine(), "greedy", lambda _, src: src * next(right))
    mine().train(path, tmp_path / "own.pt", steps=400)
    assert "40 pairs, 4 words unknown\n100: " in capsys.readouterr().out
    weight = torch.load(tmp_path / "own.pt")[3]["head.weight"]
    assert weight.unique().tolist() == [300]
