"""Look for phrases that this book's prose once overused (voice.toml), sentence
by sentence, on all pages: print how many sentences have one, and with --all
each of them. Fail if there are more than are allowed.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packages import ROOT

RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf8"))
PROSE = "README.md", "CONTRIBUTING.md", "book/*.md", "chapters/**/*.md"
# What is no sentence: front matter, code, tables, formulas, images, tags.
APART = re.compile(
    r"\A---\n.*?\n---\n|^( *)(`{3,})[^\n]*\n.*?^\1\2\s*$|^\s*\|.*?$"
    r"|^\(.*?\)=$|^!\[.*?\]\(.*?\)|^\s*\$\$.*?\$\$\s*$"
    r"|</?(?:details|summary)[^>]*>|^#[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
QUIET = re.compile(r"\]\([^)]*\)|`[^`]*`|\$[^$]*\$")
PARAGRAPHS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.|:) )")
SENTENCE_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)(?<!cf)(?<=[.?!])[”\"*)]*\s+"
    r"(?=[\"“(*A-Z0-9{\[<\u0900-\u097f])"
)


def sentences(page: str) -> Iterator[str]:
    """Give the sentences of a page, without the names in them."""
    for block in PARAGRAPHS.split(APART.sub("\n\n", page)):
        text = " ".join(re.sub(r"^\s*(?:[-*]|\d+\.|:) ", "", block).split())
        yield from (
            QUIET.sub("", part) for part in SENTENCE_END.split(text) if part
        )


def hit(sentence: str) -> str:
    """Say what a sentence has of the phrases, with a hint, or nothing."""
    found = (
        f"{hint}: {match[0]!r}"
        for hint, patterns in RULES["hints"].items()
        for pattern in patterns
        if (match := re.search(pattern, sentence))
    )
    return next(found, "")


def main(show_all: bool) -> str | None:
    every = hits = 0
    for file in sorted(f for form in PROSE for f in ROOT.glob(form)):
        for sentence in sentences(file.read_text("utf8")):
            every += 1
            if said := hit(sentence):
                hits += 1
                if show_all:
                    print(f"{file.relative_to(ROOT)} {said} in: {sentence}")
    told = f"{hits} of {every} sentences have a phrase of voice.toml"
    if hits > RULES["allowed"]:
        return f"{told}; {RULES['allowed']} are allowed (--all shows them)"
    print(told)
    return None


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv))
