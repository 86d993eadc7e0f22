"""Slips: small mistakes that learners make in any code, and what is said of a
result with one."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

SLIPS = Path(__file__).with_name("slips.toml")


@cache
def slips() -> list[Any]:
    """List the slips: a pattern that finds a place in code, what stands there
    instead, and what is said."""
    table = tomllib.loads(SLIPS.read_text("utf8"))
    groups = (permutations(words.split(), 2) for words in table["words"])
    return table["edits"] + [
        [rf"\b{mine}(?=\()", other, f"with `{other}` instead of `{mine}`"]
        for pairs in groups
        for mine, other in pairs
    ]


def with_slips(code: str) -> Iterator[tuple[str, str]]:
    """Give code with each slip, in each place and in all, and what is said of
    that."""
    for pattern, new, says in [*slips(), *other_names(code)]:
        places = [*re.finditer(pattern, code)]
        for place in places:
            before, after = code[: place.start()], code[place.end() :]
            yield before + place.expand(new) + after, place.expand(says)
        if len(places) > 1:
            everywhere = f"{places[0].expand(says)}, everywhere"
            yield re.sub(pattern, new, code), everywhere


def other_names(code: str) -> Iterator[list[str]]:
    """Take each argument, and each value that has a name, for another."""
    heads = re.findall(r"def \w+\(([^()]*)\)", code)
    names = re.findall(r"\w+", " ".join(heads))
    names += re.findall(r"^ +(\w+) = ", code, re.M)
    for mine, other in permutations(dict.fromkeys(names), 2):
        pattern = rf"(?<![\w.]){mine}\b(?! ?=[^=])"
        yield [pattern, other, f"with `{other}` instead of `{mine}`"]
