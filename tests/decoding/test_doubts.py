"""Sentences unlike those of a training are told from those like them."""

import math
import random
from functools import cache

import pytest
import torch

from tests.helpers.small import build, small, words
from tformer_lite import (
    EncoderDecoder,
    english_nepali,
    english_tokenizer,
    trained_translator,
)
from tformer_lite.decoding.doubts import (
    Usual,
    least_sure,
    telling_triples,
    word_triples,
)

TOKENIZER = english_tokenizer()
SUBJECTS = ("i", "we", "you", "he", "they", "ram", "hari")
THINGS = ("house", "book", "pen", "chair", "bag", "river", "dog")
# Kinds of sentences that the corpus's grammar does not make.
OUTSIDE = {
    "an object with an article": "{who} bought a {thing}.",
    "an object of somebody": "{who} bought my {thing}.",
    "two subjects": "{who} you ate fish.",
    "two verbs": "{who} bought ate fish.",
    "two auxiliaries": "{who} will did eat fish.",
    "no verb": "{who} bread.",
    "a word twice": "the {thing} is is big.",
    "two qualities": "the {thing} is small dirty.",
    "two determiners": "my the {thing} is small.",
    "the verb last": "{who} fish bought.",
    "no mark": "this is my {thing}",
}


def rows(sentences: list[str]) -> torch.Tensor:
    return TOKENIZER.encode([TOKENIZER.row(text, 8) for text in sentences])


def part(name: str) -> list[str]:
    return [english for english, _ in english_nepali(name)]


@cache
def usual() -> Usual:
    return Usual(word_triples(rows(part("train"))))


def test_triples_are_all_neighbours_of_known_words():
    """The witness: the words of the sentences, one by one."""
    wanted = set()
    for text in part("train"):
        known = ["[SOS]", *TOKENIZER.split(text), "[EOS]"]
        ids = [TOKENIZER.ids[word] for word in known]
        wanted |= {tuple(ids[i : i + 3]) for i in range(len(ids) - 2)}
    found = word_triples(rows(part("train"))).tolist()
    assert {tuple(triple) for triple in found} == wanted
    assert len(found) == len(wanted)
    strange = rows(["this is my moon."])
    assert len(word_triples(strange)) == 2  # [SOS] this is, this is my


@pytest.mark.parametrize("name", ["valid", "test"])
def test_new_combinations_of_the_corpus_are_usual(name):
    assert not any(map(usual().strange, rows(part(name)).tolist()))


@pytest.mark.parametrize("kind", OUTSIDE)
def test_what_the_grammar_does_not_make_is_strange(kind):
    sentences = {
        OUTSIDE[kind].format(who=who, thing=thing)
        for who in SUBJECTS
        for thing in THINGS
    }
    assert all(map(usual().strange, rows(sorted(sentences)).tolist()))


@pytest.mark.parametrize(
    ("seen", "strange"),
    [
        ("4 5 6, 4 7 6, 8 5 9", []),
        ("4 5 6, 4 7 6, 8 5 8", [(8, 7), (7, 9)]),
        ("4 5 6, 4 7 4, 8 5 9", [(8, 7), (7, 9)]),
        ("8 7 9", []),
        ("8 7 4, 4 7 9", [(8, 7, 9)]),
    ],
)
def test_a_word_stands_in_for_one_with_the_same_neighbours(seen, strange):
    """Is 8 7 9 usual? If 8 5 9 was seen, and 5 and 7 have neighbours in
    common on both sides."""
    triples = [[*map(int, three.split())] for three in seen.split(",")]
    assert Usual(torch.tensor(triples)).strange([8, 7, 9]) == strange


@pytest.mark.slow
def test_triples_of_a_free_text_tell_nothing():
    numbers = random.Random(0)
    free = [[numbers.randrange(4, 900) for _ in range(8)] for _ in range(200)]
    texts = torch.tensor(free)
    assert telling_triples(texts[:150], texts[150:]).shape == (0, 3)
    train, valid = rows(part("train")), rows(part("valid"))
    assert telling_triples(train, valid).equal(word_triples(train))


def test_the_least_sure_token_is_found():
    """The witness: the probabilities, token by token."""
    model = build(EncoderDecoder, small("tiny_translator"))
    src, row = words(11, 1, 5), words(11, 1, 6)[0]
    seen = []
    with torch.no_grad():
        for t in range(1, 6):
            logits = model(src, row[None, :t])[0, -1]
            seen.append(logits.softmax(-1)[row[t]].item())
    assert math.isclose(least_sure(model, src, row), min(seen), rel_tol=1e-5)
    padded = torch.cat((row, torch.tensor([1, 1])))
    assert least_sure(model, src, padded) == least_sure(model, src, row)
    assert least_sure(model, src, row[:1]) == 1


def test_the_translator_is_sure_of_what_it_learned():
    model, src = trained_translator().model, rows(["this is not my book."])
    target = trained_translator().tokenizers[1]
    right = target.encode([target.row("यो मेरो किताब होइन ।", 7)])[0]
    assert least_sure(model, src, right) > 0.99
    wrong = target.encode([target.row("यो मेरो किताब हो ।", 7)])[0]
    assert least_sure(model, src, wrong) < 0.01
