"""Fill in the tables of book/corpus.md, from the grammar and what it makes.

A table stands between <!-- its name --> and <!-- end -->.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import grammar
from cells import digest
from fillers import COLUMN, DATA, PEOPLE, SLOT_WORDS, VERBS, rows
from grammar import CONSTRUCTIONS

from benchmarks import larger

CORPUS_PAGE = Path(__file__).parents[1] / "corpus.md"
PLACE = re.compile(r"<!-- (?!end)(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
SOUND = re.compile(r"([\u0900-\u097f]+) (\S+)")
HYPHEN = re.compile(r"-(?=[\u0900-\u097f])")
MANY = "i", "we", "you", "he", "they"
TENSES = "present", "past", "future"
DEEDS = DATA["DEEDS"] + DATA["MOVES"] + DATA["DONE"]


def fill_tables(page: str) -> str:
    """Write each table of a page anew."""
    return PLACE.sub(lambda m: f"<!-- {m[1]} -->\n\n{TABLES[m[1]]()}\n", page)


def table(head: str, body: Iterable[Iterable]) -> str:
    """Write rows as a table; `head` names the columns, parted by bars."""
    names = head.split("|")
    lines = [names, ["---"] * len(names), *body]
    text = "".join(f"| {' | '.join(map(str, row))} |\n" for row in lines)
    return re.sub(r" (?=।)", "\u00a0", HYPHEN.sub("\u2011", text))


@cache
def sounds() -> dict[str, str]:
    """Tell how each Nepali word of the tables is said."""
    texts = [*VERBS.values(), *(x for x in SLOT_WORDS.values() if "|" in x)]
    texts += [deed["nepali"] for deed in DEEDS]
    return dict(SOUND.findall("\n".join(texts)))


def sound_of(nepali: str) -> str:
    """Write how a Nepali sentence is said."""
    said = sounds()
    return " ".join(
        said[w] for w in grammar.split_words(nepali) if w not in "।?"
    )


def italic(cell: str) -> str:
    """Set what stands behind a Nepali word in italics."""
    return SOUND.sub(r"\1 *\2*", cell)


def part_counts() -> str:
    parts = grammar.corpus_parts()
    body = []
    for name, part in parts.items():
        cores = len({pair.core for pair in part})
        words = [len(grammar.words_in(part, x)) for x in grammar.LANGUAGES]
        body.append((name, f"{len(part):,}", f"{cores:,}", *words))
    head = "part|pairs|combinations|English words|Nepali words"
    return table(head, body)


def constructions() -> str:
    pairs = defaultdict(list)
    for pair in grammar.corpus_sentences():
        pairs[pair.construction].append(pair)
    body = []
    for row in CONSTRUCTIONS:
        pair = min(pairs[row.name], key=lambda pair: digest(pair.nepali))
        patterns = grammar.SLOT.sub(r"*\1*", f"{row.english}<br>{row.nepali}")
        example = (
            f"{pair.english}<br>{pair.nepali}<br>*{sound_of(pair.nepali)}*"
        )
        name = f"**{row.name}** ({len(pairs[row.name]):,} pairs)"
        body.append((f"{name}<br>{row.rule}", f"{patterns}<br>{example}"))
    return table("construction, and its rule|patterns, and an example", body)


def people() -> str:
    body = []
    for who, *forms, whose, in_nepali, whom, patient in PEOPLE.values():
        alone, agent, has = map(italic, forms)
        owner = f"{whose}: {italic(in_nepali)}"
        body.append(
            (who, alone, agent, f"{whom}: {italic(patient)}", has, owner)
        )
    return table("who|alone|did it|to whom|has it|whose", body)


def beings() -> str:
    body = [
        (row[0], *map(italic, row[1:4]), with_commas(row[4]))
        for row in rows(SLOT_WORDS["BEINGS"])
    ]
    return table("who|alone|did it|to whom|how they can be", body)


def paradigm(text: str) -> str:
    """Write the forms of a verb: a row for each person, and in each cell
    what is affirmed above what is denied."""
    forms, body = rows(text), []
    pairs = zip(forms[::2], forms[1::2])
    tenses = {t: both for t, both in zip(TENSES, pairs) if any(both[0])}
    for who in MANY:
        at, name = COLUMN[who], italic(PEOPLE[who][1])
        cells = [
            f"{italic(yes[at])}<br>{italic(no[at])}"
            for yes, no in tenses.values()
        ]
        if cells[0] != "<br>":
            body.append((f"{who}<br>{name}", *cells))
    return table("|".join(["who", *tenses]), body)


def conjugations() -> str:
    titles = [
        ("be (somewhere, or somehow): हुनु *hunu*", "BE"),
        ("be (somebody, or something): हुनु *hunu*", "BE_SOMEBODY"),
    ]
    for deed in {deed["forms"]: deed for deed in DEEDS}.values():
        title = f"{deed['english'].split()[0]}: {italic(deed['nepali'])}"
        titles.append((title, deed["forms"]))
    parts = [f"**{x}**\n\n{paradigm(VERBS[forms])}" for x, forms in titles]
    return "\n".join(parts)


def with_commas(words: str) -> str:
    """Put commas between words."""
    return ", ".join(words.split())


def objects() -> str:
    deeds = DATA["DEEDS"] + DATA["MOVES"]
    body = [
        (x["english"].split()[0], with_commas(x["objects"])) for x in deeds
    ]
    return table("verb|what, or where to", body)


def encounters() -> str:
    body = [
        (with_commas(x["english"]), with_commas(x.get("never", "")))
        for x in DATA["DONE"]
    ]
    return table("verb|who does not do it", body)


def things() -> str:
    table_rows = rows(SLOT_WORDS["THINGS"])
    body = [
        (row[0], italic(row[1]), with_commas(row[2])) for row in table_rows
    ]
    return table("thing|in Nepali|what can be said of it", body)


def word_table(name: str) -> str:
    """Write a table of words in two columns."""
    body = [(row[0], italic(row[1])) for row in rows(SLOT_WORDS[name])]
    return table("English|Nepali", body)


def longer_sentences() -> str:
    body, kinds = [], {"people": larger.people(), "names": larger.names()}
    for kind, parts in kinds.items():
        learned, tested = map(len, parts)
        head = f"**{kind}** ({learned:,} to train on, {tested:,} to test)"
        body += [(head, *parts[1][0]), ("", *parts[1][1])]
    return table("kind|English|Nepali", body)


def word_list(name: str) -> str:
    """Write words that need no table."""
    return with_commas(SLOT_WORDS[name]) + "\n"


def doubts() -> str:
    """Count the pairs that a doubt touches, and show both forms."""
    pairs = grammar.corpus_sentences()
    body = []
    for row in DATA["doubts"]:
        shows = re.compile(row["pattern"]).search
        same = [x for x in pairs if shows(f"{x.english} {x.nepali}")]
        assert row["here"] in {pair.nepali for pair in same}, row
        forms = f"{row['here']}<br>{row['instead']}"
        body.append((forms, f"{len(same):,}", row["why"]))
    return table("here, and as many would say it|pairs|why", body)


TABLES = {
    "counts": part_counts,
    "doubts": doubts,
    "constructions": constructions,
    "people": people,
    "conjugations": conjugations,
    "objects": objects,
    "beings": beings,
    "encounters": encounters,
    "things": things,
    "larger": longer_sentences,
} | {
    name: partial(word_table if "|" in SLOT_WORDS[name] else word_list, name)
    for name in SLOT_WORDS.keys() - {"THINGS", "BEINGS"}
}


def main() -> None:
    """Write the page anew."""
    CORPUS_PAGE.write_text(
        fill_tables(CORPUS_PAGE.read_text("utf8")), "utf8", newline="\n"
    )


if __name__ == "__main__":
    main()
