"""Write the trained translator for a page: its vocabularies, its numbers in
half precision, and what is tried on it; and for the reader's own file.
`make weights`.

With it go all English sentences of the grammar, as a small machine that reads
words: a state says which words may come next, and which state each leads to.
Words that lead to the same state stand together; after the word "" the
sentence is complete.
"""

import base64
import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import redirect_stdout
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import grammar
import torch
from corpus_page import sounds
from fillers import PEOPLE, pairs
from packages import MY_NUMBERS, MY_TRANSFORMER, PAIRS, ROOT

from gallery import Bug, bugs
from gallery.catching import LEVELS, shelf_of
from gallery.planting import code
from shapewatch.properties import report
from tformer_lite import (
    Checkpoint,
    EncoderDecoder,
    running_example,
    trace,
    trained_translator,
    translations,
)

WEIGHTS_FILE = Path(__file__).parents[1] / "_static" / "translator.json"
MY_TEXT = MY_TRANSFORMER.read_text("utf8")
STEPS = 1300  # after which 99 % of the test are right, from three seeds
SHOWN = "the hungry dog saw hari.", "hari saw the hungry dog."
PARTS_LEFT_OUT = tomllib.loads(
    (ROOT / "gallery/left_out.toml").read_text("utf8")
)
# What a pronoun is as an object, and only then: me, us, him, them.
OBJECTS = {row[6] for row in PEOPLE.values()} - PEOPLE.keys()


def bug_data(bug: Bug) -> dict[str, Any]:
    """Give what a page says of a bug: what it changes in my_transformer.py,
    how many of the test's translations are still right and how many others
    than without it, and which checks notice it.

    A bug that fails on all sentences together, with `error`, is tried on
    each alone.
    """
    text, (right, wrong) = MY_TEXT.replace(*bug.mine), bug.mine
    said: dict[str, Any] = {"shelf": shelf_of(bug.name), "name": bug.name}
    said |= {"says": bug.says, "right": right, "wrong": wrong}
    usual = my_translations(MY_TEXT)
    for at_once in 1000, 1:
        try:
            mine = my_translations(text, at_once)
        except RuntimeError as error:
            said["error"] = str(error).partition("\n")[0]
        else:
            said["still_right"] = sum(right for *_, right in mine)
            others = [x for x, y in zip(mine, usual) if x[1] != y[1]]
            said["changed"] = len({english for english, *_ in others})
            break
    before = noticed(MY_TEXT)
    checks = [x for x in noticed(text) if x not in before]
    return said | {"checks": [name for name, _ in checks]}


def my_module(text: str) -> ModuleType:
    """Run a text of my_transformer.py as a module."""
    module = ModuleType("my_transformer")
    exec(code("my_transformer", text), vars(module))
    return module


def loaded(mine: ModuleType) -> tuple[Any, dict[str, int], dict[str, int]]:
    """Load the model and the words of both languages, with the numbers that
    pages have."""
    *words, numbers = torch.load(MY_NUMBERS, weights_only=True)
    halves = {name: x.half().float() for name, x in numbers.items()}
    torch.save((*words, halves), file := BytesIO())
    file.seek(0)
    return mine.load(file)


def first_data(english: str) -> dict[str, Any]:
    """Translate a sentence, and tell of it what the engine would: of its
    attention that of the decoder to what is read."""
    mine = my_module(MY_TEXT)
    model, *ids = loaded(mine)
    wrote = mine.translate(english, model, *ids)
    rows = [mine.encode(*both) for both in zip((english, wrote), ids)]
    cross = trace(model.eval(), *rows, keep=True).attention()[-1]
    read, written = ([*mine.split(x), "[EOS]"] for x in (english, wrote))
    shares, best = model(*rows)[0, : len(written)].softmax(-1).topk(4)
    words = dict(enumerate(["[UNK]", "[PAD]", "[SOS]", "[EOS]"]))
    words |= {number: word for word, number in ids[1].items()}
    return {
        "translation": wrote,
        "read": ["[SOS]", *read],
        "written": written,
        "chances": [
            [[words[number], share] for number, share in zip(*row)]
            for row in zip(best.tolist(), short(shares))
        ],
        "attentions": [
            {"path": cross.path, "weights": short(cross.weights[0])}
        ],
    }


def short(x: torch.Tensor) -> list:
    """Write numbers with four decimals."""
    return x.double().round(decimals=4).tolist()


@cache
def my_translations(
    text: str, at_once: int = 1000
) -> list[tuple[str, list[int], bool]]:
    """Translate the test's sentences by a text of my_transformer.py, with the
    numbers that pages have: the English, the ids written, are they right.

    A sentence with two translations stands there twice.
    """
    mine = my_module(text)
    model, *ids = loaded(mine)
    *both, tests = mine.read_pairs(PAIRS)
    rows = [row for row in zip(*both) if row[0] in tests]
    src, tgt = (
        torch.cat([mine.encode(x, words) for x in side])
        for side, words in zip(zip(*rows), ids)
    )
    torch.manual_seed(1)  # for the bug that drops weights
    wrote = torch.cat([mine.greedy(model, x) for x in src.split(at_once)])
    right = (wrote == tgt).all(-1).tolist()
    return list(zip(next(zip(*rows)), wrote.tolist(), right))


@cache
def noticed(text: str) -> list[tuple[str, str]]:
    """List what checks notice, and how grave it is, in the translator as a
    text of my_transformer.py builds it."""
    sizes, *_, numbers = torch.load(MY_NUMBERS, weights_only=True)
    torch.manual_seed(1)  # for the bug that loses numbers
    model = my_module(text).EncoderDecoder(*sizes)
    model.load_state_dict(numbers, strict=False)
    found = report(model.eval(), *running_example()[:2], pad=1).findings
    return [(x.name, x.level) for x in found if x.level in LEVELS]


def whole_run() -> dict[str, Any]:
    """Train the whole model as the page does, and keep the mean of each ten
    losses, and the shares of the test that it prints as right."""
    mine, losses = my_module(MY_TEXT), []
    learn = mine.learn

    def watched(*given):
        for loss in learn(*given):
            losses.append(loss)
            yield loss

    mine.learn = watched
    with redirect_stdout(StringIO()) as out:
        mine.train(PAIRS, BytesIO(), STEPS)
    tens = [losses[at : at + 10] for at in range(0, STEPS, 10)]
    shares = re.findall(r"(\d+):.*, (\d+) of (\d+)", out.getvalue())
    means = enumerate((round(sum(ten) / 10, 4) for ten in tens), start=1)
    return {
        "steps": STEPS,
        "curve": [[10 * i, mean] for i, mean in means],
        "rights": [[int(x), int(y) / int(z)] for x, y, z in shares],
    }


def model_data(model: EncoderDecoder) -> dict[str, Any]:
    """Write a model: shapes by name, and numbers, one after the other."""
    state = model.state_dict()
    numbers = torch.cat([weight.flatten() for weight in state.values()])
    return {
        "sizes": sizes_of(model),
        "shapes": {name: [*weight.shape] for name, weight in state.items()},
        "numbers": base64.b64encode(numbers.half().numpy().tobytes()).decode(),
    }


def json_text(kept: Checkpoint, run: dict[str, Any]) -> str:
    """Write the model, the words of both languages, what is tried, and how
    a whole model learned."""
    said = model_data(kept.model) | {
        "words": [tokenizer.ids for tokenizer in kept.tokenizers],
        "tests": [*translations("test")],
        "grammar": states(grammar_sentences()),
        "glosses": glosses(),
        "sounds": {word: sounds()[word] for word in glosses()},
        "first": {english: first_data(english) for english in SHOWN},
        "bugs": [bug_data(x) for x in bugs() if x.mine[0] in MY_TEXT],
        "left_out": [{"name": x} | y for x, y in PARTS_LEFT_OUT.items()],
        "run": run,
    }
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


State = list[tuple[str, int]]  # words, with spaces between, and where to


def grammar_sentences() -> set[tuple[str, ...]]:
    """Make every English sentence that the grammar allows."""
    rows = map(grammar.possible_sentences, grammar.CONSTRUCTIONS)
    return {
        tuple(grammar.split_words(pair.english))
        for row in rows
        for pair in row
    }


def states(sentences: Iterable[tuple[str, ...]]) -> list[State]:
    """Build the smallest machine that reads sentences; it begins in its last
    state."""
    trie: dict = {}
    for words in sorted(sentences):
        node = trie
        for word in words:
            node = node.setdefault(word, {})
        node[""] = {}
    numbers: dict[tuple, int] = {}
    number_of(trie, numbers)
    return list(map(state_of, numbers))


def number_of(node: dict, numbers: dict[tuple, int]) -> int:
    """Number a node; those from which the same words lead on are one."""
    ways = tuple(
        (word, number_of(node[word], numbers)) for word in sorted(node)
    )
    return numbers.setdefault(ways, len(numbers))


def state_of(ways: tuple) -> State:
    """Put words that lead to the same state together."""
    together = defaultdict(list)
    for word, state in ways:
        together[state].append(word)
    return [(" ".join(words), state) for state, words in together.items()]


def glosses() -> dict[str, str]:
    """Give the English for every Nepali word that fills a slot, alone or with
    one before it: what the grammar puts there most often."""
    counts: dict[str, Counter] = defaultdict(Counter)
    for row in grammar.CONSTRUCTIONS:
        for _, slots in row.fill():
            # The words of these fill other slots: turned round, or in a row.
            for slot in slots.keys() - {"topic", "by", "words"}:
                for english, nepali in word_pairs(slot, *slots[slot]):
                    counts[nepali][english] += 1
    asking = {nepali: english for english, nepali in pairs("ASKING").values()}
    return asking | {
        word: min(count, key=lambda english: (-count[english], english))
        for word, count in sorted(counts.items())
    }


def word_pairs(slot: str, english: str, nepali: str) -> list[tuple[str, str]]:
    """Pair the words of a slot: Nepali has none for *the*, and an ending for
    the object, which English tells in some pronouns alone."""
    words = grammar.split_words(nepali)
    said = english.removeprefix("the ")
    if slot == "whom" and said not in OBJECTS:
        said += " (object)"
    parts = said.split(" ", len(words) - 1)
    return list(zip(parts, words))


def sizes_of(model: EncoderDecoder) -> list[int]:
    """List the sizes by which the reader's file makes its model."""
    names = "vocab_size", "max_len", "n_layers", "d_model", "n_heads", "d_ff"
    return [getattr(model.config, name) for name in names]


def save_for_reader(kept: Checkpoint) -> None:
    """Write the numbers as the reader's own file keeps its own."""
    words = [tokenizer.ids for tokenizer in kept.tokenizers]
    state = kept.model.state_dict()
    torch.save((sizes_of(kept.model), *words, state), MY_NUMBERS)


if __name__ == "__main__":
    ours = trained_translator()
    save_for_reader(ours)
    WEIGHTS_FILE.write_text(json_text(ours, whole_run()) + "\n", "utf8")
