"""The tables of Nepali read: people, things, and the forms of their verbs."""

import nepali_verbs as verbs
import nepali_words as words

Pair = tuple[str, str]  # English and Nepali


def rows(table: str) -> list[list[str]]:
    """Cut a table into its rows and cells."""
    found = table.strip().splitlines()
    return [[cell.strip() for cell in row.split("|")] for row in found]


def nepali(cell: str) -> str:
    """Give the Nepali of a cell, without how it is said."""
    return cell.split()[0] if cell else ""


def pairs(table: str) -> dict[str, Pair]:
    """Give each English word of a table, with its Nepali."""
    return {row[0]: (row[0], nepali(row[1])) for row in rows(table)}


# Who, by what they are called in English: the column of their verb forms.
PEOPLE = {row[0]: row for row in rows(verbs.PEOPLE)}
COLUMN = {"i": 0, "we": 1, "you": 2, "he": 3, "ram": 3, "hari": 3, "they": 4}
THIRD = "he", "ram", "hari"
IS = {"i": ("am", "was"), "he": ("is", "was"), "": ("are", "were")}
MAKES = {row[0]: row[2].split() for row in rows(words.THINGS)}
THINGS = pairs(words.THINGS)
QUALITIES = pairs(words.QUALITIES)
WAYS = pairs(words.WAYS)
POINTERS = pairs(words.POINTERS)
THE = {"the": ("the", "")} | POINTERS
OWNERS = {row[4]: (row[4], nepali(row[5])) for row in PEOPLE.values()}


def be(who: str = "he", tenses=range(4), table=verbs.BE) -> list:
    """Give the forms of `be` for somebody: is, is not, was, was not."""
    now, then = IS.get("he" if who in THIRD else who, IS[""])
    english = now, f"{now} not", then, f"{then} not"
    forms = [nepali(row[COLUMN[who]]) for row in rows(table)]
    return [(english[tense], forms[tense]) for tense in tenses]


def do(who: str, verb: str, table: str) -> list[Pair]:
    """Give the forms of a verb for somebody: present, past and future, each
    affirmed and denied."""
    base, third, past = verb.split()
    now, deny = (third, "does") if who in THIRD else (base, "do")
    english = now, f"{deny} not {base}", past, f"did not {base}"
    english = *english, f"will {base}", f"will not {base}"
    forms = [nepali(row[COLUMN[who]]) for row in rows(table)]
    return list(zip(english, forms))


def person(who: str, column: int = 1) -> Pair:
    """Give somebody in English and Nepali: alone (1), as agent (2), as one
    who has something (3)."""
    return who, nepali(PEOPLE[who][column])
