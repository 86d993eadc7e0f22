"""The corpus's page: its tables are the grammar's, its sounds the letters'."""

import re
from unicodedata import normalize

import grammar
import pytest
from corpus_page import CORPUS_PAGE, TABLES, fill_tables, sounds

from tformer_lite import english_nepali

TEXT = CORPUS_PAGE.read_text("utf8")
CONSONANTS = """क k ख kh ग g घ gh च ch छ chh ज j झ jh ट ṭ ठ ṭh ड ḍ ढ ḍh
त t थ th द d ध dh न n प p फ ph ब b भ bh म m य y र r ल l व v श sh ष ṣ स s ह h"""
VOWELS = "ा ā ि i ी ī ु u ू ū े e ै ai ो o ौ au ् -"
OTHERS = "आ ā इ i ई ī उ u ऊ ū ए e ँ \u0303 ः ḥ"


def signs(text: str, before="", behind="") -> dict[str, str]:
    """Read signs and how they are said, in turn."""
    parts = text.split()
    said = (f"{before}{sound}{behind}" for sound in parts[1::2])
    return dict(zip(parts[::2], said))


# A consonant has a short a, unless another vowel or none is written on it.
SIGNS = signs(CONSONANTS, behind="a") | signs(VOWELS, "-") | signs(OTHERS)


def without_short_a(text: str) -> str:
    """Leave out the vowel that is sometimes written and not said."""
    return re.sub(r"a(?![\u0300-\u036fiu])", "", normalize("NFD", text))


def spelled(nepali: str) -> str:
    """Write a word letter by letter, without any short a."""
    text = "".join(SIGNS[sign] for sign in nepali)
    return without_short_a(text.replace("a-", "").replace("-", ""))


@pytest.mark.slow
def test_the_tables_of_the_page_are_those_of_the_grammar():
    assert fill_tables(TEXT) == TEXT
    assert set(re.findall(r"<!-- (\w+) -->", TEXT)) == {*TABLES, "end"}


def test_what_the_page_says_of_the_split_is_so():
    text = " ".join(TEXT.split())
    pair = re.search(r"If \*(\w+)\* and \*(\w+)\* are a combination", text)
    tested = grammar.corpus_parts()["test"]
    assert pair.groups() in {one.core for one in tested}
    assert f"fewer than {grammar.OFTEN} training sentences" in text
    assert f"less than {100 * grammar.MOST:.0f} % of its own" in text


def test_every_word_is_said_as_it_is_spelled():
    for nepali, sound in sounds().items():
        assert spelled(nepali) == without_short_a(sound), (nepali, sound)


def test_every_word_of_the_corpus_is_in_the_tables():
    for part in ("train", "valid", "test"):
        for _, nepali in english_nepali(part):
            assert set(re.sub("[।?]", "", nepali).split()) <= sounds().keys()
