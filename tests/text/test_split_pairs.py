"""Pairs to train on, to validate on, to test on: by their sentences."""

from itertools import chain
from random import Random

import pytest

from tests.helpers.commands import PAIRS, WORDS
from tformer_lite import split_pairs

MANY = [(f"{a} {b} {c}.", f"{c} {b} ।") for a, b in PAIRS for c in WORDS]


def sides(pairs, seed=0) -> dict[tuple[str, str], int]:
    """The part that each pair is in: 0, 1 or 2."""
    parts = split_pairs(pairs, seed)
    return {pair: i for i, part in enumerate(parts) for pair in part}


def test_each_pair_is_in_one_part_in_the_order_of_the_file():
    parts = split_pairs(MANY)
    assert sorted(chain(*parts)) == sorted(MANY)
    assert all(part == [x for x in MANY if x in part] for part in parts)


@pytest.mark.parametrize("seed", range(5))
def test_about_a_tenth_each_is_held_out(seed):
    """Within four standard deviations of a coin with a tenth."""
    _, valid, test = split_pairs(MANY, seed)
    wide = 4 * (len(MANY) * 0.09) ** 0.5
    for part in (valid, test):
        assert len(part) == pytest.approx(len(MANY) / 10, abs=wide)


def test_a_line_more_or_less_or_elsewhere_moves_no_other():
    whole, random = sides(MANY), Random(0)
    for _ in range(20):
        some = random.sample(MANY, random.randrange(200, len(MANY)))
        new = [("a new line.", "नयाँ"), ("another one", "अर्को")]
        found = sides([*new, *some])
        assert {pair: found[pair] for pair in some} == {
            pair: whole[pair] for pair in some
        }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Is it yours?", "is it  yours ?"),
        ("It is.", "It is"),
        ("it is!", " it is…"),
        ("यो मेरो हो ।", "यो मेरो हो"),
        ("¿Qué es?", "Qué es."),
        ("“Go on.”", "go on"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("1\u00a0km", "1 km"),
    ],
)
def test_translations_of_one_sentence_stay_together(one, other):
    """Whatever the seed is."""
    for seed in range(30):
        pairs = [*MANY, (one, "a"), (other, "b"), (one, "c")]
        assert len({sides(pairs, seed)[pair] for pair in pairs[-3:]}) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("it is", "is it"), ("a cat", "a car"), ("1.5", "1.6")]
)
def test_other_sentences_do_not(one, other):
    seeds = range(60)
    pairs = [*MANY, (one, ""), (other, "")]
    assert any(
        sides(pairs, seed)[pairs[-1]] != sides(pairs, seed)[pairs[-2]]
        for seed in seeds
    )


def test_another_seed_is_another_split():
    first, second = sides(MANY, 0), sides(MANY, 1)
    moved = sum(first[pair] != second[pair] for pair in MANY)
    assert moved > len(MANY) / 5


@pytest.mark.parametrize("count", [3, 4, 10, 15])
def test_no_part_of_a_small_file_is_empty(count):
    for seed in range(200):
        parts = split_pairs(PAIRS[:count], seed)
        assert all(parts)
        assert sum(map(len, parts)) == count


def test_two_sentences_make_no_three_parts():
    pairs = [("Yes.", str(i)) for i in range(9)] + [("no", "x"), ("yes", "y")]
    with pytest.raises(ValueError, match="^2 different source sentences"):
        split_pairs(pairs)


def test_the_split_is_the_same_on_every_machine():
    """The witness: printf '3 bignew' | sha256sum gives 00079740e885...; a
    tenth of 16 ** 12 is 199999999999."""
    assert [english for english, _ in split_pairs(PAIRS, 3)[2]] == [
        "one old.", "one new.", "two red.", "old one.", "big old.", "big new.",
    ]  # fmt: skip
