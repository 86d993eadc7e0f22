"""What readers bring: texts, pairs of sentences, and their vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from unicodedata import normalize

from tformer_lite.text.tokenizers import SPECIALS


def read_text(path: str | Path) -> str:
    """Read a text in UTF-8, with or without a byte order mark.

    Lines end with a line feed afterwards, and letters that can be written
    in two ways are written in one (Unicode's NFC). Raises ValueError for a
    file that is not UTF-8, and for one without text.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise no_text(path, f"byte {error.start}") from None
    if "\0" in text:  # as in UTF-16, and in what is no text
        raise no_text(path, f"character {text.index(chr(0))}")
    if not text.strip():
        raise ValueError(f"{path} has no text in it: give a file that has.")
    return normalize("NFC", text)


def no_text(path: str | Path, place: str) -> ValueError:
    """Make the error for a file that is no text."""
    return ValueError(
        f"{path} is no text in UTF-8, see {place}: open it in an editor and "
        "save it as UTF-8."
    )


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """Read pairs of sentences from a file: a pair a line, a tab between.

    This is how Tatoeba's sentences come from manythings.org; their third
    column, who wrote it, is left out, and so are blank lines. The file is
    read as `read_text` reads it. Raises ValueError, with the line, for one
    that has no tab or an empty side.
    """
    pairs = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        sides = [column.strip() for column in line.split("\t")[:2]]
        if not line.strip(" "):
            continue
        if len(sides) < 2 or not all(sides):
            raise ValueError(
                f"{path}, line {number}: {line[:60]!r} is no pair: write a "
                "sentence, a tab, and its translation."
            )
        pairs.append((sides[0], sides[1]))
    return pairs


def vocabulary(
    texts: Iterable[str], split: Callable[[str], list[str]], size: int
) -> dict[str, int]:
    """Give the most frequent words ids, from 4 up; equals go by spelling.

    `split` cuts a text into words, and `size` counts ids, those of the four
    specials too. Raises ValueError when it has no room for those.
    """
    if size < len(SPECIALS):
        raise ValueError(f"{size=} is too small: the specials alone need 4.")
    count = Counter(word for text in texts for word in split(text))
    for special in SPECIALS:
        del count[special]
    words = sorted(count, key=lambda word: (-count[word], word))
    return {word: i for i, word in enumerate(words[: size - 4], 4)}
