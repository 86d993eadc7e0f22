"""What fills the slots of each construction of the corpus.

Each function gives pairs: the core, which is the words that a sentence
brings together, and for each slot its English and its Nepali.
"""

from collections.abc import Iterator
from itertools import product

import nepali_verbs as verbs
import nepali_words as words
from paradigms import (
    MAKES,
    OWNERS,
    PEOPLE,
    POINTERS,
    QUALITIES,
    THE,
    THINGS,
    THIRD,
    WAYS,
    Pair,
    be,
    do,
    pairs,
    person,
)

Fillers = Iterator[tuple[tuple[str, ...], dict[str, Pair]]]
# What nobody of our people owns; what is not counted; what can be carried.
PUBLIC = "temple", "river", "road", "water"
UNCOUNTED = FOODS = "rice", "bread", "meat", "fish", "tea", "milk", "water"
PORTABLE = (
    *("book", "pen", "bag", "shirt"),
    *("watch", "bicycle", "chair", "table", "bed"),
)
# `a` stands before none of these, or the sentence would be odd.
NO_A = "old", "open", "expensive", "easy", "far", "closed", "vacant"


def qualities() -> Fillers:
    for thing, made in MAKES.items():
        owners = {} if thing in PUBLIC else OWNERS
        for quality, the, is_ in product(made, THE | owners, be()):
            slots = {"the": (THE | OWNERS)[the], "is": is_}
            slots |= {"thing": THINGS[thing], "quality": QUALITIES[quality]}
            yield (thing, quality), slots


def questions() -> Fillers:
    is_ = be()[0], be()[2]
    return ((core, s) for core, s in qualities() if s["is"] in is_)


def kinds() -> Fillers:
    for thing, made in MAKES.items():
        for quality, this in product(made, POINTERS):
            if quality not in NO_A and thing not in UNCOUNTED:
                slots = {"this": POINTERS[this], "quality": QUALITIES[quality]}
                yield (thing, quality), slots | {"thing": THINGS[thing]}


def names() -> Fillers:
    for thing, this, (is_, ho) in product(THINGS, POINTERS, be_somebody("he")):
        if thing not in UNCOUNTED:
            slots = {"this": POINTERS[this], "is": (is_, ho)}
            yield (this, thing), slots | {"thing": THINGS[thing]}


def be_somebody(who: str) -> list[Pair]:
    return be(who, table=verbs.BE_SOMEBODY)


def belongings() -> Fillers:
    for thing, owner, this in product(PORTABLE, OWNERS, POINTERS):
        for is_ in be_somebody("he")[:2]:
            slots = {"this": POINTERS[this], "owner": OWNERS[owner]}
            slots |= {"is": is_, "thing": THINGS[thing]}
            yield (this, owner, thing), slots


def possessions() -> Fillers:
    for who, thing in product(PEOPLE, PORTABLE):
        has = "has" if who in THIRD else "have"
        forms = f"{has} a", f"{has} no", "had a", "had no"
        for english, (_, form) in zip(forms, be()):
            if PEOPLE[who][3]:
                slots = {"who": person(who, 3), "has": (english, form)}
                yield (who, thing), slots | {"thing": THINGS[thing]}


def feelings() -> Fillers:
    return people_are(pairs(words.FEELINGS))


def places() -> Fillers:
    return people_are(pairs(words.PLACES))


def people_are(states: dict[str, Pair], tenses=range(4)) -> Fillers:
    for who, state in product(PEOPLE, states):
        for is_ in be(who, tenses):
            slots = {"who": person(who), "is": is_, "state": states[state]}
            yield (who, state), slots


def spots() -> Fillers:
    known = pairs(words.SPOTS)
    del known["on the table"]
    return people_are(known, (0, 2))


def foods() -> Fillers:
    known = pairs(words.SPOTS)
    spots = "in the kitchen", "on the table", "in the shop"
    for food, spot in product(FOODS, spots):
        if (food, spot) != ("rice", "in the shop"):  # भात is cooked
            for is_ in be(tenses=(0, 2)):
                slots = {"food": THINGS[food], "is": is_}
                yield (food, spot), slots | {"spot": known[spot]}


def whereabouts() -> Fillers:
    ways = {way: pair for way, pair in WAYS.items() if way != "home"}
    for thing, way in product((*PORTABLE, "dog"), ways):
        for the, is_ in product(THE | OWNERS, be()):
            slots = {"the": (THE | OWNERS)[the], "thing": THINGS[thing]}
            yield (thing, way), slots | {"is": is_, "way": ways[way]}


def trades() -> Fillers:
    known = pairs(words.TRADES)
    for who, trade in product(PEOPLE, known):
        if who not in ("we", "they"):
            for is_ in be_somebody(who):
                slots = {"who": person(who), "is": is_, "trade": known[trade]}
                yield (who, trade), slots


def deeds() -> Fillers:
    known = pairs(words.KINDS)
    for verb, _, table, objects in verbs.DEEDS:
        for i, thing in enumerate(objects.split()):
            for who in ("i", "we", "you", THIRD[i % 3], "they"):
                for tense, form in enumerate(do(who, verb, table)):
                    agent = person(who, 2 if tense in (2, 3) else 1)
                    slots = {"who": agent, "does": form}
                    core = verb.split()[0], thing
                    yield core, slots | {"thing": known[thing]}


def moves() -> Fillers:
    for verb, _, table, ways in verbs.MOVES:
        for way, who in product(ways.split(), THIRD):
            for form in do(who, verb, table):
                slots = {"who": person(who), "does": form, "way": WAYS[way]}
                yield (verb.split()[0], way), slots
