"""All English sentences of the grammar, as a small machine that reads words.

A state says which words may come next, and which state each leads to. Words
that lead to the same state stand together; after the word "" the sentence is
complete.
"""

from collections import defaultdict
from collections.abc import Iterable

import grammar
from constructions import CONSTRUCTIONS

State = list[tuple[str, int]]  # words, with spaces between, and where to


def sentences() -> set[tuple[str, ...]]:
    """Make every English sentence that the grammar allows."""
    made = (one for row in CONSTRUCTIONS for one in grammar.every(row))
    return {tuple(grammar.split(one.english)) for one in made}


def states(sentences: Iterable[tuple[str, ...]]) -> list[State]:
    """Build the smallest machine that reads sentences; it begins in its last
    state."""
    trie: dict = {}
    for words in sorted(sentences):
        node = trie
        for word in words:
            node = node.setdefault(word, {})
        node[""] = {}
    known: dict[tuple, int] = {}
    merged(trie, known)
    return list(map(grouped, known))


def merged(node: dict, known: dict[tuple, int]) -> int:
    """Number a node; those from which the same words lead on are one."""
    ways = tuple((word, merged(node[word], known)) for word in sorted(node))
    return known.setdefault(ways, len(known))


def grouped(ways: tuple) -> State:
    """Put words that lead to the same state together."""
    together = defaultdict(list)
    for word, state in ways:
        together[state].append(word)
    return [(" ".join(words), state) for state, words in together.items()]
