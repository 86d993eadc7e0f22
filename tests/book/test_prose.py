"""The character model's text: the book's prose, and nothing else of it."""

import prose

from tformer_lite import CharTokenizer, book_text

PAGE = """---
kernelspec: python3
---

# 4 · Queries

Each *word* has a [vector](book.md) of <span>C</span> channels,
and `x * w` is **no** emphasis.

```{code-cell} ipython3
x = 1
```

| a | table |
|---|---|

$$ x^2 $$

Half of $\\frac{1}{2}$ is too much.

मुख खाली थिएन ।

- one thing;
- and −∞.

## Sources

- {cite}`vaswani2017`
"""


def test_a_page_gives_its_prose():
    assert prose.prose(PAGE) == [
        "4 - Queries",
        "Each word has a vector of C channels, and x * w is no emphasis.",
        "- one thing;",
        "- and -inf.",
    ]


def test_the_books_text_is_as_long_as_it_was_when_results_were_measured():
    text = book_text()
    assert (len(text), len(CharTokenizer(text))) == (96_077, 89)


def test_the_books_text_is_plain():
    text = book_text()
    assert text.isascii()
    assert text.startswith("0 - Reading a trace\n")
    assert "\n\n12 - The whole model\n" in text
    assert max(map(len, text.splitlines())) <= 72
    for left in ("```", "</", "{axes}", "**", "](", "import torch"):
        assert left not in text
