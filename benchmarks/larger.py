"""The larger translator: longer rows, and sentences that need every part.

Besides the book's corpus it learns *people*, chains that Nepali turns round,
and *names*: what somebody's animal is called must be known by heart.
"""

import random
from dataclasses import replace
from functools import cache
from itertools import product

from fillers import COLUMN, DATA, SLOT_WORDS, VERBS, pairs, rows, word

from benchmarks.translators import (
    RECIPE,
    Kinds,
    Question,
    Tokenizers,
    questions_of_kinds,
)
from tformer_lite import (
    Config,
    Pairs,
    WordTokenizer,
    english_nepali,
    tiny_translator,
)

LENGTH = 17
SIZES = replace(
    tiny_translator, max_len=LENGTH, d_model=16, n_heads=4, d_ff=384
)
LONGER = replace(RECIPE, steps=5000, lr=1e-2)
CHAINS, TRIED = 1_800, 300  # sentences of people, and those of them to test
LONGEST, TOGETHER = 4, 5  # people before the verb, and with those after it
HE = COLUMN["he"]
Sentences = list[tuple[str, str]]


def people() -> tuple[Sentences, Sentences]:
    """Draw who did something to whom, each of them somebody's somebody, to
    train on and to test on."""
    draw, known, found = random.Random(0), pairs("CHAINED"), dict[str, str]()
    while len(found) < CHAINS:
        n = draw.randint(1, LONGEST)
        m = draw.randint(1, min(2, TOGETHER - n))
        agents, others = (draw.choices([*known.values()], k=k) for k in (n, m))
        done = draw.choice(DATA["DONE"][:-1])  # nobody bites anybody
        past = word(rows(VERBS[done["forms"]])[2][HE])
        verb = done["english"].split()[1]
        english = f"{of_each_other(agents)} {verb} {of_each_other(others)}."
        nepali = f"{turned_round(agents)}ले {turned_round(others)}लाई {past} ।"
        found[english] = nepali
    sentences = [*found.items()]
    return sentences[TRIED:], sentences[:TRIED]


def of_each_other(chain: Sentences) -> str:
    """Say a chain in English: the son of the friend of the teacher."""
    return " of ".join(f"the {english}" for english, _ in chain)


def turned_round(chain: Sentences) -> str:
    """Say a chain in Nepali, from its other end: शिक्षकको साथीको छोरा."""
    return "को ".join(nepali for _, nepali in chain[::-1])


def names() -> tuple[Sentences, Sentences]:
    """Give each animal of each keeper a name, and say of it several things:
    all but one to train on, one to test on."""
    draw, learned, tested = random.Random(1), [], []
    animals, known = (SLOT_WORDS[x].split() for x in ("ANIMALS", "PETS"))
    for keeper, animal in product(SLOT_WORDS["KEEPERS"].split(), animals):
        name, doings = draw.choice(known), rows(SLOT_WORDS["DOINGS"])
        draw.shuffle(doings)
        for i, (english, nepali) in enumerate(doings):
            said = " ".join(nepali.split()[::2])  # without its sounds
            pair = f"{keeper}'s {animal} {english}.", f"{name} {said} ।"
            (learned if i else tested).append(pair)
    return learned, tested


@cache
def larger_corpus() -> tuple[Pairs, Kinds, Tokenizers]:
    """Give what is learned, what is asked, by its kind, and the tokenizers
    of both languages."""
    added = {"people": people(), "names": names()}
    learned = english_nepali("train")
    kinds = questions_of_kinds()
    for kind, (train, test) in added.items():
        learned += train
        kinds[kind] = [Question(source, "", [text]) for source, text in test]
    source, target = (vocabulary_of(texts) for texts in zip(*learned))
    return Pairs(learned, source, target, LENGTH), kinds, (source, target)


def vocabulary_of(texts: tuple[str, ...]) -> WordTokenizer:
    """Number all words of some texts."""
    split = WordTokenizer({}).split
    words = sorted({word for text in texts for word in split(text)})
    return WordTokenizer({word: 4 + i for i, word in enumerate(words)})


def larger_translator(**choices) -> Config:
    """Give the larger translator's config, with some choices of its own."""
    *_, tokenizers = larger_corpus()
    return replace(SIZES, vocab_size=max(map(len, tokenizers)), **choices)
