"""What fills the slots of each construction of the corpus, from the tables of
corpus.toml.

Each function gives pairs: the core, which is the words that a sentence
brings together, and for each slot its English and its Nepali.
"""

import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

Pair = tuple[str, str]  # English and Nepali
DATA = tomllib.loads(Path(__file__).with_name("corpus.toml").read_text("utf8"))
SLOT_WORDS, VERBS = DATA["words"], DATA["verbs"]


def rows(table: str) -> list[list[str]]:
    """Cut a table into its rows and cells."""
    lines = table.strip().splitlines()
    return [[cell.strip() for cell in row.split("|")] for row in lines]


def word(cell: str) -> str:
    """Give the Nepali of a cell, without how it is said."""
    return cell.split()[0] if cell else ""


def pairs(name: str) -> dict[str, Pair]:
    """Give each English word of a table, with its Nepali."""
    return {row[0]: (row[0], word(row[1])) for row in rows(SLOT_WORDS[name])}


# Who, by what they are called in English: the column of their verb forms.
PEOPLE = {row[0]: row for row in rows(VERBS["PEOPLE"])}
COLUMN = {"i": 0, "we": 1, "you": 2, "he": 3, "ram": 3, "hari": 3, "they": 4}
POLITE = "you, politely"
COLUMN[POLITE] = 5
EVERYBODY = PEOPLE | {POLITE: rows(VERBS["POLITE"])[0]}
THIRD = "he", "ram", "hari"
IS = {"i": ("am", "was"), "he": ("is", "was"), "": ("are", "were")}
MAKES = {row[0]: row[2].split() for row in rows(SLOT_WORDS["THINGS"])}
THINGS = pairs("THINGS")
QUALITIES = pairs("QUALITIES")
WAYS = pairs("WAYS")
WARES = pairs("KINDS")
POINTERS = pairs("POINTERS")
THE = {"the": ("the", "")} | POINTERS
OWNERS = {row[4]: (row[4], word(row[5])) for row in PEOPLE.values()}


def be(who: str = "he", tenses=range(4), table: str = "BE") -> list[Pair]:
    """Give the forms of `be` for somebody: is, is not, was, was not."""
    now, then = IS.get("he" if who in THIRD else who, IS[""])
    english = now, f"{now} not", then, f"{then} not"
    forms = [word(row[COLUMN[who]]) for row in rows(VERBS[table])]
    return [(english[tense], forms[tense]) for tense in tenses]


def do(who: str, verb: str, table: str) -> list[Pair]:
    """Give the forms of a verb for somebody: present, past and future, each
    affirmed and denied."""
    base, third, past = verb.split()
    now, deny = (third, "does") if who in THIRD else (base, "do")
    english = now, f"{deny} not {base}", past, f"did not {base}"
    english = *english, f"will {base}", f"will not {base}"
    forms = [word(row[COLUMN[who]]) for row in rows(VERBS[table])]
    return list(zip(english, forms))


def person(who: str, column: int = 1) -> Pair:
    """Give somebody in English and Nepali: alone (1), as agent (2), as one
    who has something (3)."""
    return EVERYBODY[who][0], word(EVERYBODY[who][column])


Fillers = Iterator[tuple[tuple[str, ...], dict[str, Pair]]]
# What nobody of our people owns; what is not counted; what can be carried.
PUBLIC = "temple", "river", "road", "water"
NO_PLURAL = FOODS = "rice", "bread", "meat", "fish", "tea", "milk", "water"
PORTABLE = (
    *("book", "pen", "bag", "shirt"),
    *("watch", "bicycle", "chair", "table", "bed"),
)
# `a` stands before none of these, or the sentence would be odd.
NO_A = "old", "open", "expensive", "easy", "far", "closed", "vacant"


def qualities() -> Fillers:
    for thing, fitting in MAKES.items():
        owners = {} if thing in PUBLIC else OWNERS
        for quality, the, is_ in product(fitting, THE | owners, be()):
            slots = {"the": (THE | OWNERS)[the], "is": is_}
            slots |= {"thing": THINGS[thing], "quality": QUALITIES[quality]}
            yield (thing, quality), slots


def kinds() -> Fillers:
    for thing, fitting in MAKES.items():
        for quality, this in product(fitting, POINTERS):
            if quality not in NO_A and thing not in NO_PLURAL:
                slots = {"this": POINTERS[this], "quality": QUALITIES[quality]}
                yield (thing, quality), slots | {"thing": THINGS[thing]}


def names() -> Fillers:
    for thing, this, (is_, ho) in product(
        THINGS, POINTERS, be(table="BE_SOMEBODY")
    ):
        if thing not in NO_PLURAL:
            slots = {"this": POINTERS[this], "is": (is_, ho)}
            yield (this, thing), slots | {"thing": THINGS[thing]}


def belongings() -> Fillers:
    for thing, owner, this in product(MAKES, OWNERS, POINTERS):
        for is_ in be(table="BE_SOMEBODY")[:2]:
            slots = {"this": POINTERS[this], "owner": OWNERS[owner]}
            slots |= {"is": is_, "thing": THINGS[thing]}
            if thing not in (*PUBLIC, *NO_PLURAL):
                yield (this, owner, thing), slots


def possessions() -> Fillers:
    for who, thing in product(PEOPLE, PORTABLE):
        has = "has" if who in THIRD else "have"
        forms = f"{has} a", f"{has} no", "had a", "had no"
        for tense, (_, form) in enumerate(be()):
            if PEOPLE[who][3]:
                slots = {"who": person(who, 3), "has": (forms[tense], form)}
                slots |= {"do": question_word(who, tense)}
                yield (who, thing), slots | {"thing": THINGS[thing]}


def feelings() -> Fillers:
    return people_are(pairs("FEELINGS"))


def places() -> Fillers:
    return people_are(pairs("PLACES"))


def people_are(states: dict[str, Pair], tenses=range(4)) -> Fillers:
    for who, state in product(PEOPLE, states):
        for is_ in be(who, tenses):
            slots = {"who": person(who), "is": is_, "state": states[state]}
            yield (who, state), slots


def spots() -> Fillers:
    states = pairs("SPOTS")
    del states["on the table"]
    return people_are(states, (0, 2))


def foods() -> Fillers:
    states = pairs("SPOTS")
    spots = "in the kitchen", "on the table", "in the shop"
    for food, spot in product(FOODS, spots):
        if (food, spot) != ("rice", "in the shop"):  # भात is cooked
            for is_ in be(tenses=(0, 2)):
                slots = {"food": THINGS[food], "is": is_}
                yield (food, spot), slots | {"spot": states[spot]}


def whereabouts() -> Fillers:
    ways = {way: pair for way, pair in WAYS.items() if way != "home"}
    for thing, way in product((*PORTABLE, "dog", "cat"), ways):
        for the, is_ in product(THE | OWNERS, be()):
            slots = {"the": (THE | OWNERS)[the], "thing": THINGS[thing]}
            yield (thing, way), slots | {"is": is_, "way": ways[way]}


def trades() -> Fillers:
    jobs = pairs("TRADES")
    for who, trade in product(PEOPLE, jobs):
        if who not in ("we", "they"):
            for is_ in be(who, table="BE_SOMEBODY"):
                slots = {"who": person(who), "is": is_, "trade": jobs[trade]}
                yield (who, trade), slots


def deeds() -> Fillers:
    for deed in DATA["DEEDS"]:
        for i, thing in enumerate(deed["objects"].split()):
            for who in ("i", "we", "you", THIRD[i % 3], "they"):
                yield from done_to(deed, thing, who)


def polite() -> Fillers:
    for deed in DATA["DEEDS"]:
        for thing in deed["objects"].split():
            yield from done_to(deed, thing, POLITE)


def orders() -> Fillers:
    places = [WAYS[way] for way in ("here", "there")]
    times = pairs("TIMES").values()
    people = [who for who in PEOPLE if who != "you"]
    for deed in DATA["DEEDS"]:
        for thing, who in product(deed["objects"].split(), people):
            _, _, (core, past), *_ = done_to(deed, thing, who)
            for time, way in product(times, places):
                slots = past | {"way": way, "time": time}
                words = [slots[x][1] for x in ("who", "time", "way", "thing")]
                for first in words:
                    rest = " ".join(word for word in words if word != first)
                    yield core, slots | {"words": ("", f"{first} {rest}")}


def done_to(deed: dict, thing: str, who: str) -> Fillers:
    """What somebody does to a thing, in each tense."""
    for tense, slots in enumerate(acts(who, deed)):
        agent = person(who, 2 if tense in (2, 3) else 1)
        core = slots["base"][0], thing
        yield core, slots | {"who": agent, "thing": WARES[thing]}


def moves() -> Fillers:
    for move in DATA["MOVES"]:
        for way, who in product(move["objects"].split(), THIRD):
            for slots in acts(who, move):
                core = slots["base"][0], way
                yield core, slots | {"who": person(who), "way": WAYS[way]}


def acts(who: str, deed: dict) -> Iterator[dict[str, Pair]]:
    """Fill the slots of a verb for somebody: what is done in each tense, and
    both of its words in a question."""
    verb = deed["english"]
    for tense, form in enumerate(do(who, verb, deed["forms"])):
        base = verb.split()[0], ""
        yield {"does": form, "do": question_word(who, tense), "base": base}


def question_word(who: str, tense: int) -> Pair:
    """Give the English word in front of a question."""
    now = "does" if who in THIRD else "do"
    return (now, "did", "will")[tense // 2], ""


BEINGS = {row[0]: row for row in rows(SLOT_WORDS["BEINGS"])}
MOODS = pairs("MOODS")
NAMES = "ram", "hari"
FRIENDS = "my", "our", "your"
# Who somebody is part of, and what belongs to them.
OWN = {"i": "i we my our", "we": "i we my our", "you": "you your"}
(NEVER,) = pairs("NEVER").values()


class Somebody(NamedTuple):
    """Who it is, alone (`who`) or with what stands before; English has a form
    for the subject and one for the object, Nepali for each role."""

    who: str
    before: str
    subject: str
    object: str
    agent: str
    patient: str


WHO = Somebody("who", "", "who", "who", *map(word, BEINGS.pop("who")[2:4]))


def somebodies() -> Iterator[Somebody]:
    """List everybody who does something to somebody, with all that may stand
    before the noun."""
    for who, row in PEOPLE.items():
        before = {"": ("", "")} | (MOODS if who in NAMES else {})
        forms = who, row[6], word(row[2]), word(row[7])
        yield from all_forms(who, before, forms)
    for who, row in BEINGS.items():
        words = {x: (QUALITIES | MOODS)[x] for x in row[4].split()}
        before = {"": ("the", "")} | {
            x: (f"the {x}", nepali) for x, (_, nepali) in words.items()
        }
        if who == "friend":
            before = {x: OWNERS[x] for x in FRIENDS}
        forms = who, who, word(row[2]), word(row[3])
        yield from all_forms(who, before, forms)


def all_forms(
    who: str, before: dict[str, Pair], forms: tuple[str, ...]
) -> Iterator[Somebody]:
    """Put words before a noun, in both languages."""
    for name, (english, nepali) in before.items():
        fronts = english, english, nepali, nepali
        both = (f"{a} {b}".strip() for a, b in zip(fronts, forms))
        yield Somebody(who, name, *both)


def roles() -> Fillers:
    return roles_of([*somebodies()], [*somebodies()])


def who_did_it() -> Fillers:
    return roles_of([WHO], [*somebodies()])


def whom() -> Fillers:
    return roles_of([*somebodies()], [WHO])


def roles_of(ones: list[Somebody], others: list[Somebody]) -> Fillers:
    """What one did to another, as far as it makes sense."""
    for one, other in product(ones, others):
        for done in DATA["DONE"] if apart(one, other) else ():
            if one.who not in done.get("never", "").split():
                yield core_of(one, other, done), role_slots(one, other, done)


def core_of(one: Somebody, other: Somebody, done: dict) -> tuple[str, ...]:
    """Give what a sentence brings together: two, or one and a verb."""
    verb = done["english"].split()[:1]
    return one.who, other.who, *(verb if WHO in (one, other) else ())


def apart(one: Somebody, other: Somebody) -> bool:
    """Whether two are different, and neither is the other's friend: then
    Nepali has another word for *my*."""
    own = OWN.get(one.who, one.who).split()
    return other.who not in own and other.before not in own


def role_slots(one: Somebody, other: Somebody, done: dict) -> dict[str, Pair]:
    """Fill the slots of what one did to another, told from either side."""
    base, past, participle = done["english"].split()
    forms = rows(VERBS[done["forms"]])[2:4]
    did, did_not = (word(row[COLUMN.get(one.who, 3)]) for row in forms)
    was = "were" if other.who in ("we", "you", "they") else "was"
    return {
        "who": (one.subject, one.agent),
        "whom": (other.object, other.patient),
        "topic": (other.subject, other.patient),
        "by": (one.object, one.agent),
        "does": (past, did),
        "do": (base, did),
        "denied": (f"did not {base}", did_not),
        "never": NEVER,
        "was": (was, ""),
        "done": (participle, did),
    }
