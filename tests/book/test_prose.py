"""The character model's text: the prose of chapters 0 to 12 as it was when
results were measured on it, and nothing else of them."""

from tformer_lite import CharTokenizer, book_text


def test_the_books_text_is_as_long_as_it_was_and_plain():
    text = book_text()
    assert (len(text), len(CharTokenizer(text))) == (96_077, 89)
    assert text.isascii()
    assert text.startswith("0 - Reading a trace\n")
    assert "\n\n12 - The whole model\n" in text
    assert max(map(len, text.splitlines())) <= 72
    for left in ("```", "</", "{axes}", "**", "](", "import torch"):
        assert left not in text
