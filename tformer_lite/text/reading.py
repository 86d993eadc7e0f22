"""What readers bring: texts, pairs of sentences, and their vocabulary."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from errno import EINVAL
from pathlib import Path
from unicodedata import normalize

from tformer_lite.text.tokenizers import SPECIALS

LINE_END = re.compile(rb"\r\n?|\n")
QUOTED_LENGTH = 60  # characters of what is quoted


def check_file(path: str | Path) -> None:
    """Raise OSError for what is no file that one may read: a folder, and
    what may never end, a device or a pipe."""
    file = Path(path)
    if file.exists() and not (file.is_file() or file.is_dir()):
        why = "is a device or a pipe: save what it gives as a file"
        raise OSError(EINVAL, why, str(path))
    open(path, "rb").close()


def brief(text: str) -> str:
    """Quote a text, or the beginning of a long one."""
    long = len(text) > QUOTED_LENGTH
    return repr(f"{text[:QUOTED_LENGTH]} …" if long else text)


def read_text(path: str | Path) -> str:
    """Read a text in UTF-8, with or without a byte order mark.

    Lines end with a line feed afterwards, and letters that can be written
    in two ways are written in one (Unicode's NFC). Raises ValueError, with
    the line, for a byte that is not UTF-8, or 0, and for a file without
    text; OSError as `check_file` does.
    """
    check_file(path)
    content = LINE_END.sub(b"\n", Path(path).read_bytes())
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Its bytes, not ours: they lack the byte order mark.
        raise no_text(path, error.object, error.start) from None
    if "\0" in text:  # as in UTF-16, and in what is no text
        raise no_text(path, content, content.index(0))
    if not text.strip():
        raise ValueError(f"{path} has no text in it: give a file that has.")
    return normalize("NFC", text)


def no_text(path: str | Path, content: bytes, place: int) -> ValueError:
    """Make the error for a byte that no text has."""
    line = content[:place].count(b"\n") + 1
    return ValueError(
        f"{path}, line {line}: the byte {content[place]:#04x} is not UTF-8 "
        "text. Open the file in an editor and save it as UTF-8."
    )


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """Read pairs of sentences from a file: a pair a line, a tab between.

    This is how Tatoeba's sentences come from manythings.org; their third
    column, who wrote it, is left out, and so are blank lines. The file is
    read as `read_text` reads it. Raises ValueError, with the line, for a
    line of one column and for an empty side.
    """
    lines = enumerate(read_text(path).split("\n"), 1)
    return [
        sides(line, f"{path}, line {number}")
        for number, line in lines
        if line.strip(" ")
    ]


def sides(line: str, place: str) -> tuple[str, str]:
    """Cut a line at its tabs; ValueError, with the place, if it cannot be."""
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) == 1:
        raise ValueError(
            f"{place}: there is no tab in {brief(line)}. Write a "
            "sentence, a tab, and its translation."
        )
    if not all(columns[:2]):
        empty = "second" if columns[0] else "first"
        raise ValueError(
            f"{place}: the {empty} column of {brief(line)} is empty. "
            "Write a sentence there, or delete the line."
        )
    return columns[0], columns[1]


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
