"""Whose submission it is: the names of files, and the list of a course."""

import csv
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

# What Canvas and Moodle call the columns that tell students apart.
IDS = {"id", "sis user id", "sis login id", "id number", "username"}
IDS |= {"email", "email address", "e-mail address"}
NAMES = {"student", "student name", "name", "full name"}
PARTS = ("first name", "last name"), ("last name", "first name")
# How they name the files: doejane_LATE_4711_88_week3, and
# Jane Doe_1234_assignsubmission_file.
CANVAS = re.compile(r"[^_]+_(?:LATE_)?(\d+)_\d+(?:_.*)?")
MOODLE = re.compile(r"(.+?)_\d+_assignsubmission_.*")

Rows = Sequence[Sequence[str]]


def read_rows(file: Path) -> list[list[str]]:
    """Read a CSV, with commas or semicolons; ValueError for what is none."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} is no CSV in UTF-8: save it as one."
        ) from error
    lines = text.splitlines()
    many = lines and lines[0].count(";") > lines[0].count(",")
    rows = csv.reader(lines, delimiter=";" if many else ",")
    found = [row for row in rows if any(row)]
    if not found:
        raise ValueError(f"{file} is empty: it needs a header at least.")
    return found


def owners(names: Sequence[str], roster: Rows) -> dict[int, str]:
    """Give each row of a roster, by its number, the one submission that is
    that student's. Where several could be, or one could be several's, nobody
    has it."""
    found: dict[int, list[str]] = {}
    for name in names:
        rows = [
            number
            for number, row in enumerate(roster[1:], 1)
            if belongs(name, dict(zip(map(str.casefold, roster[0]), row)))
        ]
        if len(rows) == 1:
            found.setdefault(rows[0], []).append(name)
    return {n: own[0] for n, own in found.items() if len(own) == 1}


def belongs(name: str, row: dict[str, str]) -> bool:
    """Tell whether a file's name is a student's: by the id that Canvas puts
    there, the name that Moodle does, or by any of them as a whole."""
    if canvas := CANVAS.fullmatch(name):
        return row.get("id") == canvas[1]
    moodle = MOODLE.fullmatch(name)
    own = plain(moodle[1] if moodle else name)
    ids = set() if moodle else {row.get(column, "") for column in IDS}
    return bool(own) and own in {*map(plain, ids), *full_names(row)}


def full_names(row: dict[str, str]) -> set[str]:
    """Write a student's name in the ways that it may be written."""
    found = {plain(row.get(column, "")) for column in NAMES}
    for column in NAMES:  # Doe, Jane
        last, comma, first = row.get(column, "").partition(",")
        found |= {plain(first + last)} if comma else set()
    pairs = ([row.get(part, "") for part in parts] for parts in PARTS)
    return found | {plain("".join(pair)) for pair in pairs if all(pair)}


def plain(text: str) -> str:
    """Leave letters, their marks and digits of a name, in small letters."""
    return "".join(
        c for c in text.casefold() if unicodedata.category(c)[0] in "LMN"
    )
