"""Texts that readers bring."""

from pathlib import Path
from unicodedata import normalize


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
        raise ValueError(f"{path} has no text in it: give a file with text.")
    return normalize("NFC", text)


def no_text(path: str | Path, place: str) -> ValueError:
    """Make the error for a file that is no text."""
    return ValueError(
        f"{path} is not UTF-8 text, see {place}: open it in an editor and "
        "save it as UTF-8."
    )
