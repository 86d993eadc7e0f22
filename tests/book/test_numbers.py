"""The comparison that nbval and the Colab test use."""

import pytest

from tests.helpers.numbers import agree


@pytest.mark.parametrize(
    ("test", "reference"),
    [
        ("(2, 8) 0.31", "(2, 8) 0.31"),
        ("0.31", "0.32"),
        ("-0.00", "0.01"),
        ("[ 9.99, 1.0]", "[10.00,  1.0]"),
    ],
)
def test_outputs_agree_to_one_unit_in_the_last_place(test, reference):
    assert agree(test, reference)


@pytest.mark.parametrize(
    ("test", "reference"),
    [
        ("0.31", "0.33"),
        ("0.310", "0.31"),
        ("[SOS] 0.31", "[EOS] 0.31"),
        ("0.31 0.31", "0.31"),
        ("-∞", "0.00"),
    ],
)
def test_outputs_that_say_something_else_do_not_agree(test, reference):
    assert not agree(test, reference)
