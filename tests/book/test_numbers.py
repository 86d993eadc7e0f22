"""The comparison that nbval and the Colab test use."""

import pytest

from tests.helpers.numbers import agree


@pytest.mark.parametrize(
    ("test", "reference", "same"),
    [
        ("(2, 8) 0.31", "(2, 8) 0.31", True),
        ("0.31", "0.32", True),
        ("-0.00", "0.01", True),
        ("[ 9.99, 1.0]", "[10.00,  1.0]", True),
        ("0.31", "0.33", False),
        ("0.310", "0.31", False),
        ("[SOS] 0.31", "[EOS] 0.31", False),
        ("0.31 0.31", "0.31", False),
        ("-∞", "0.00", False),
    ],
)
def test_outputs_agree_to_one_unit_in_the_last_place(test, reference, same):
    assert agree(test, reference) == same
