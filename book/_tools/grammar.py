"""Write the English-Nepali corpus: every sentence that the grammar allows,
thinned, and parted so that what is tested is a new combination."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from typing import NamedTuple

import fillers
from cells import digest
from fillers import DATA, Fillers
from packages import ROOT

from tformer_lite.text.tokenizers import WordTokenizer

TEXTS = ROOT / "tformer_lite" / "example" / "texts"
PARTS = "train", "valid", "test"
LANGUAGES = "english", "nepali"
# What training keeps of the sentences with a word: so many, and this share.
OFTEN, MOST = 8, 0.65
KE = "के in front makes a yes-or-no question; the order stays."
FIRST = 4  # the first id after the specials
# The words whose ids source 000 gives.
ENGLISH_IDS = {".": 4, "is": 9, "not": 19}
NEPALI_IDS = {"।": 4, "थिएन": 92, "खाली": 668}
LONGEST = 6  # words and signs in a sentence: with its start and end 8 ids
SLOT = re.compile(r"\{(\w+)\}")
NOT = re.compile(r"\b(not|no)\b")
split_words = WordTokenizer({}).split


class Construction(NamedTuple):
    """Both patterns, the rule behind them, which function fills their slots,
    and how many sentences each core gets at most."""

    name: str
    english: str
    nepali: str
    rule: str
    fillers: str
    each: int = 99

    def fill(self) -> Fillers:
        """Give what its slots are filled with; what is denied is not
        asked."""
        asked = self.english.endswith("?")
        used = SLOT.findall(self.english + self.nepali)
        for core, slots in getattr(fillers, self.fillers)():
            english = " ".join(slots[name][0] for name in used)
            if not (asked and NOT.search(english)):
                yield core, slots


def read_constructions() -> list[Construction]:
    """Read the constructions; of a question, what it has in common with the
    construction that it is asked of."""
    rows: dict[str, Construction] = {}
    for row in DATA["constructions"]:
        if "of" in row:
            base = rows[row["of"]]
            nepali = f"के {base.nepali.removesuffix(' ।')}?"
            new = {name: row[name] for name in row if name != "of"}
            rows[row["name"]] = base._replace(nepali=nepali, rule=KE, **new)
        else:
            rows[row["name"]] = Construction(**row)
    return [*rows.values()]


CONSTRUCTIONS = read_constructions()


class Sentence(NamedTuple):
    """A pair, the construction that made it, and the words it brings
    together."""

    english: str
    nepali: str
    construction: str
    core: tuple[str, ...]


@cache
def corpus_sentences() -> tuple[Sentence, ...]:
    """Make the corpus, in the order of the constructions."""
    return tuple(x for row in CONSTRUCTIONS for x in chosen_sentences(row))


def possible_sentences(row: Construction) -> Iterator[Sentence]:
    """Make all sentences that a construction allows, if they are short
    enough."""
    for core, slots in row.fill():
        english = {name: pair[0] for name, pair in slots.items()}
        nepali = {name: pair[1] for name, pair in slots.items()}
        texts = (
            fill_slots(row.english, english),
            fill_slots(row.nepali, nepali),
        )
        if max(len(split_words(text)) for text in texts) <= LONGEST:
            yield Sentence(*texts, row.name, core)


def chosen_sentences(row: Construction) -> Iterator[Sentence]:
    """Make the sentences of one construction: of those with the same core
    as many as the construction says, chosen by their hash."""
    by_core = defaultdict(list)
    for sentence in possible_sentences(row):
        by_core[sentence.core].append(sentence)
    for group in by_core.values():
        group.sort(key=lambda sentence: digest(sentence.english))
        yield from group[: row.each]


def fill_slots(pattern: str, slots: dict[str, str]) -> str:
    """Put words in the slots of a pattern; an empty one leaves no space."""
    return " ".join(pattern.format(**slots).split())


@cache
def corpus_parts() -> dict[str, list[Sentence]]:
    """Hold out a tenth of the cores of each construction for the test, and
    another for validation, with all the sentences that they have.

    Cores are taken in the order of their hash; one that would leave some
    word too rare in training is passed over.
    """
    corpus, cores, kinds = corpus_sentences(), defaultdict(list), {}
    for sentence in corpus:
        cores[sentence.core].append(sentence)
        kinds.setdefault(sentence.core, sentence.construction)
    share = Share(corpus)
    part = dict.fromkeys(cores, "train")
    order = dict.fromkeys(kinds.values())
    for name, kind in product(("test", "valid"), order):
        of_kind = [core for core in cores if kinds[core] == kind]
        free = [core for core in of_kind if part[core] == "train"]
        free.sort(key=lambda core: digest(" ".join(core)))
        chosen = (core for core in free if share.spares(cores[core]))
        part |= dict.fromkeys(islice(chosen, len(of_kind) // 10 or 1), name)
    return {
        name: [sentence for sentence in corpus if part[sentence.core] == name]
        for name in PARTS
    }


class Share:
    """How many sentences with each word are left for training. Those that
    turn the order of their words round do not count: four say the same, and
    of *here* and *there* they say too little of where one comes and goes."""

    def __init__(self, corpus: Iterable[Sentence]):
        self.left = self.count(corpus)
        self.least = {w: max(OFTEN, MOST * n) for w, n in self.left.items()}

    @staticmethod
    def count(sentences: Iterable[Sentence]) -> Counter:
        """Count the sentences with each word."""
        counted = (x for x in sentences if x.construction != "order")
        return Counter(w for sentence in counted for w in words_of(sentence))

    def spares(self, group: list[Sentence]) -> bool:
        """Let a group go, if no word becomes rare in training by that."""
        lost = self.count(group)
        spared = all(self.left[w] - lost[w] >= self.least[w] for w in lost)
        if spared:
            self.left.subtract(lost)
        return spared


def words_of(sentence: Sentence) -> set[tuple[str, str]]:
    """List the different words of a pair, each with its language."""
    return {
        (language, word)
        for language in LANGUAGES
        for word in words_in([sentence], language)
    }


def words_in(part: list[Sentence], language: str) -> set[str]:
    """List the different words of some sentences in one language."""
    return {
        w
        for sentence in part
        for w in split_words(getattr(sentence, language))
    }


def vocabulary(texts: list[str], fixed: dict[str, int]) -> dict[str, int]:
    """Number words from 4 up, the most frequent first, but for the words
    whose ids the running example has fixed."""
    counts = Counter(word for text in texts for word in split_words(text))
    order = sorted(counts.keys() - fixed, key=lambda w: (-counts[w], w))
    free = (i for i in range(FIRST, 1024) if i not in fixed.values())
    ids = dict(zip(order, free)) | fixed
    return dict(sorted(ids.items(), key=lambda item: item[1]))


def corpus_files() -> dict[str, str]:
    """Give each shipped file's text by its name."""
    parts = corpus_parts()
    rows = {
        name: [(s.english, s.nepali) for s in parts[name]] for name in PARTS
    }
    tests = [(*row, "test") for row in rows["test"]]
    files = {
        "pairs.tsv": tsv_text([*rows["train"], *tests]),
        "valid.tsv": tsv_text(rows["valid"]),
    }
    for name, fixed in (("english", ENGLISH_IDS), ("nepali", NEPALI_IDS)):
        texts = [getattr(sentence, name) for sentence in parts["train"]]
        ids = vocabulary(texts, fixed)
        files[f"{name}.tsv"] = tsv_text((n, word) for word, n in ids.items())
    return files


def tsv_text(rows) -> str:
    """Write rows with a tab between their columns."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def main() -> None:
    """Write the files anew."""
    TEXTS.mkdir(exist_ok=True)
    for name, text in corpus_files().items():
        (TEXTS / name).write_text(text, "utf8", newline="\n")


if __name__ == "__main__":
    main()
