"""What somebody types, or a file brings: lines, and words in known forms."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from itertools import takewhile

from tformer_lite.text.tokenizers import SPECIALS, WordTokenizer

ENDS = (".", "!", "?", "।")  # after these a sentence begins
LONGEST = 60  # characters of what is quoted
BYTES = 0xDC00  # where Python keeps a byte that it cannot read


def at_terminal() -> bool:
    """Whether somebody sits there and types."""
    return sys.stdin is not None and sys.stdin.isatty()


def lines_typed() -> Iterator[str]:
    """Read the lines of stdin, each as soon as it has come."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    for line in sys.stdin or ():
        yield line.strip("\ufeff\r\n")


def lines_asked(sign: str) -> Iterator[str]:
    """Ask for line after line, until one is empty, or Ctrl-D comes. The
    arrow keys bring old lines back, where Python has readline. Lines that
    nobody types are read without asking."""
    if not at_terminal():
        yield from takewhile(str.strip, lines_typed())
        return
    with suppress(ImportError):
        import_module("readline")
    while (line := asked(sign)).strip():
        yield line


def asked(sign: str) -> str:
    """Ask for a line; Ctrl-D gives none, and Ctrl-C ends its line."""
    try:
        return input(sign)
    except EOFError:
        print()
        return ""
    except KeyboardInterrupt:
        print()
        raise


def check_readable(text: str) -> None:
    """Raise ValueError for a byte that is not UTF-8."""
    for char in text:
        if BYTES <= ord(char) <= BYTES + 0xFF:
            raise ValueError(
                f"the byte {ord(char) - BYTES:#04x} is not UTF-8: save the "
                "text as UTF-8."
            )


def brief(text: str) -> str:
    """Quote a text, or the beginning of a long one."""
    return repr(text if len(text) <= LONGEST else f"{text[:LONGEST]} …")


def known_words(
    text: str, vocabulary: WordTokenizer
) -> tuple[list[str], list[str]]:
    """Cut a text into words that a vocabulary has; list those it has not.

    A word without an id takes the small or large letters that have one:
    where a sentence begins, or if there is only one such form. Others
    become [UNK].
    """
    tokens, unknown, before = [], [], "."
    for word in WordTokenizer.split(vocabulary, text):
        form = known_form(word, vocabulary, before in ENDS)
        tokens += vocabulary.split(form) if form else ["[UNK]"]
        unknown += [] if form else [word]
        before = word
    return tokens, [*dict.fromkeys(unknown)]


def known_form(word: str, vocabulary: WordTokenizer, first: bool) -> str:
    """Find the form of a word that has an id; "" where none has."""
    if has(vocabulary, word):
        return word
    forms = word.lower(), word.capitalize(), word.upper()
    known = [one for one in dict.fromkeys(forms) if has(vocabulary, one)]
    return known[0] if known and (first or len(known) == 1) else ""


def has(vocabulary: WordTokenizer, word: str) -> bool:
    """Whether a word, or each of its pieces, has an id of its own."""
    pieces = vocabulary.split(word)
    return all(x in vocabulary.ids and x not in SPECIALS for x in pieces)
