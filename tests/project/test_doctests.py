"""The examples in docstrings give what they say."""

from doctest import ELLIPSIS, DocTestFinder, DocTestRunner
from importlib import import_module

import api
import pytest
import torch
from packages import PACKAGES

# What every example may use, as the reference says.
NAMES = {
    entry.name: getattr(import_module(entry.home), entry.name)
    for entry in api.public_entries()
}
THINGS = {name: x for name, x in NAMES.items() if hasattr(x, "__name__")}
BASES = [base for x in THINGS.values() for base in getattr(x, "__mro__", ())]
OURS = tuple(PACKAGES)
OWN = {x.__name__: x for x in BASES if x.__module__.startswith(OURS)}
EXAMPLES = [
    example
    for name, thing in (OWN | THINGS).items()
    for example in DocTestFinder().find(
        thing, name, globs=NAMES | {"torch": torch}
    )
    if example.examples
]
SHORTEST, LONGEST = 2, 5  # lines


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", EXAMPLES, ids=[example.name for example in EXAMPLES]
)
def test_an_example_gives_what_it_says(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = []
    DocTestRunner(optionflags=ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)
    text = example.docstring[example.docstring.index(">>>") :].strip()
    assert SHORTEST <= len(text.splitlines()) <= LONGEST
