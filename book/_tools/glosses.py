"""What each Nepali word of the corpus says in English: what the grammar puts
in the same slot most often."""

from collections import Counter, defaultdict

import grammar
from constructions import CONSTRUCTIONS


def glosses() -> dict[str, str]:
    """Give the English for every Nepali word that fills a slot alone."""
    found = defaultdict(Counter)
    for row in CONSTRUCTIONS:
        for _, slots in row.fillers():
            for english, nepali in slots.values():
                words = grammar.split(nepali)
                if len(words) == 1:
                    found[words[0]][english] += 1
    return {
        word: min(count, key=lambda english: (-count[english], english))
        for word, count in sorted(found.items())
    }
