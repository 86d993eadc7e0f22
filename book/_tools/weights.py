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
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grammar
import torch
from corpus_page import sounds
from fillers import PEOPLE, pairs
from packages import MY_NUMBERS

from explorer.scripts import FOLDER
from gallery import Bug, bugs
from gallery.catching import shelf_of
from tformer_lite import (
    Checkpoint,
    EncoderDecoder,
    trained_translator,
    translations,
)

WEIGHTS_FILE = Path(__file__).parents[1] / "_static" / "translator.json"
BUGS_MODULE = FOLDER / "bugs.mjs"
BUG_NAMES = re.findall(
    r"^  (\w+): ", BUGS_MODULE.read_text("utf8"), re.MULTILINE
)
# What a pronoun is as an object, and only then: me, us, him, them.
OBJECTS = {row[6] for row in PEOPLE.values()} - PEOPLE.keys()


def bug_data(bug: Bug) -> dict[str, str]:
    """Give what a page says of a bug."""
    said = {"shelf": shelf_of(bug.name), "name": bug.name, "says": bug.says}
    return said | {"right": bug.right, "wrong": " ".join(bug.wrong.split())}


def model_data(model: EncoderDecoder) -> dict[str, Any]:
    """Write a model: shapes by name, and numbers, one after the other."""
    state = model.state_dict()
    numbers = torch.cat([weight.flatten() for weight in state.values()])
    return {
        "heads": model.config.n_heads,
        "shapes": {name: [*weight.shape] for name, weight in state.items()},
        "numbers": base64.b64encode(numbers.half().numpy().tobytes()).decode(),
    }


def json_text(kept: Checkpoint) -> str:
    """Write the model, the words of both languages, and what is tried."""
    said = model_data(kept.model) | {
        "words": [tokenizer.ids for tokenizer in kept.tokenizers],
        "tests": [*translations("test")],
        "grammar": states(grammar_sentences()),
        "glosses": glosses(),
        "sounds": {word: sounds()[word] for word in glosses()},
        "bugs": [bug_data(bug) for bug in bugs() if bug.name in BUG_NAMES],
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


def save_for_reader(kept: Checkpoint) -> None:
    """Write the numbers as the reader's own file keeps its own."""
    names = "vocab_size", "max_len", "n_layers", "d_model", "n_heads", "d_ff"
    sizes = [getattr(kept.model.config, name) for name in names]
    words = [tokenizer.ids for tokenizer in kept.tokenizers]
    torch.save((sizes, *words, kept.model.state_dict()), MY_NUMBERS)


if __name__ == "__main__":
    ours = trained_translator()
    WEIGHTS_FILE.write_text(json_text(ours) + "\n", "utf8")
    save_for_reader(ours)
