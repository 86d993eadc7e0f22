"""Beam search follows several rows, and finds better ones than greed."""

import math
from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.helpers.small import NAMES, build, kind_of, small, words
from tformer_lite import EncoderDecoder, beam, greedy
from tformer_lite.decoding.search import length_penalty

presets = pytest.mark.parametrize(
    "name", [name for name in NAMES if kind_of(name) is EncoderDecoder]
)
penalties = pytest.mark.parametrize("penalty", [0.0, 0.6, 3.0])
START, END, MAX_LEN = 2, 3, 4


def prepared(name: str, seed: int = 0) -> tuple[nn.Module, Tensor]:
    """A model of five words that has opinions, and sources for it."""
    model = build(EncoderDecoder, small(name, vocab_size=5), seed)
    with torch.no_grad():
        model.head.weight.mul_(10)
    src = words(5, 4, 6, seed)
    src[:2, 4:] = model.pad
    return model, src


def scores(model: nn.Module, src: Tensor, penalty: float) -> dict:
    """The score of every row and every beginning of one, for one source: Wu
    et al. (2016), equation 14, without its coverage. All are read whole."""
    endings = torch.tensor(list(product(range(5), repeat=MAX_LEN - 1)))
    rows = torch.cat((torch.full_like(endings[:, :1], START), endings), dim=1)
    logits = model(src.expand(len(rows), -1), rows[:, :-1])
    after = rows[:, 1:, None]
    total = logits.log_softmax(-1).gather(-1, after)[..., 0].cumsum(-1)
    found = {}
    for row, sums in zip(rows.tolist(), total.tolist()):
        for n, log_prob in enumerate(sums, 1):
            if END not in row[1:n]:
                weight = (5 + n) ** penalty / (5 + 1) ** penalty
                found[tuple(row[: n + 1])] = log_prob / weight
    return found


def best_of(found: dict) -> tuple[int, ...]:
    """The best of all rows that have ended or are as long as can be."""
    whole = [row for row in found if END in row or len(row) == MAX_LEN]
    return max(whole, key=found.get)


def padded(rows: list[tuple[int, ...]], pad: int) -> list[list[int]]:
    """Rows as long as the longest."""
    longest = max(map(len, rows))
    return [[*row, *[pad] * (longest - len(row))] for row in rows]


@pytest.mark.slow
@penalties
@presets
def test_a_beam_that_holds_everything_finds_the_best_of_all(name, penalty):
    for seed in range(2):
        model, src = prepared(name, seed)
        best = [best_of(scores(model, row, penalty)) for row in src]
        found = beam(model, src, START, END, MAX_LEN, 5**3, penalty)
        assert found.tolist() == padded(best, model.pad)


def searched(found: dict, width: int) -> tuple[int, ...]:
    """The same search for one source, row by row, without a model."""
    rows = [(START,)]
    for _ in range(MAX_LEN - 1):
        ended = [row for row in rows if row[-1] == END]
        going = [(*r, token) for r in rows for token in range(5)]
        going = [row for row in going if row in found]
        rows = sorted(ended + going, key=found.get, reverse=True)[:width]
    return rows[0]


@pytest.mark.full
@penalties
@presets
@pytest.mark.parametrize("width", [2, 3])
def test_a_batch_finds_what_a_search_row_by_row_does(name, penalty, width):
    for seed in range(3):
        model, src = prepared(name, seed)
        wanted = [searched(scores(model, s, penalty), width) for s in src]
        found = beam(model, src, START, END, MAX_LEN, width, penalty)
        assert found.tolist() == padded(wanted, model.pad)


@pytest.mark.slow
@presets
@pytest.mark.parametrize("end", [3, 4, -1])
def test_a_beam_of_one_is_greedy(name, end):
    for seed in range(3):
        model, src = prepared(name, seed)
        for max_len in (1, 2, 8):
            found = beam(model, src, START, end, max_len, width=1)
            assert found.equal(greedy(model, src, START, end, max_len))


@pytest.mark.slow
@presets
def test_greed_is_beaten(name):
    """Somewhere, a wider search finds a likelier row; and on the whole."""
    gains = []
    for seed in range(10):
        model, src = prepared(name, seed)
        wide = beam(model, src, START, END, MAX_LEN, penalty=0)
        narrow = greedy(model, src, START, END, MAX_LEN)
        for s, *rows in zip(src, wide.tolist(), narrow.tolist()):
            found = scores(model, s, 0)
            ours, theirs = (found[trimmed(row)] for row in rows)
            gains.append(ours - theirs)
    assert sum(gain > 1e-9 for gain in gains) > 2
    assert sum(gains) > 0


def trimmed(row: list[int]) -> tuple[int, ...]:
    """A row without what comes after its end."""
    return tuple(row[: row.index(END) + 1] if END in row else row)


@pytest.mark.slow
def test_a_larger_penalty_for_short_rows_gives_longer_ones():
    lengths = []
    for penalty in (0.0, 1.0, 4.0):
        found = [
            trimmed(row)
            for seed in range(10)
            for row in beam(
                *prepared("paper_base", seed), START, END, 8, 4, penalty
            ).tolist()
        ]
        lengths.append(sum(map(len, found)))
    assert lengths[0] < lengths[1] < lengths[2]


@pytest.mark.slow
@presets
def test_a_row_alone_is_the_row_in_its_batch(name):
    model, src = prepared(name)
    found = beam(model, src, START, END, MAX_LEN, width=3)
    for i in range(len(src)):
        alone = beam(model, src[[i]], START, END, MAX_LEN, width=3)
        n = alone.shape[1]
        assert found[[i], :n].equal(alone)
        assert (found[i, n:] == model.pad).all()


def test_a_start_that_is_the_end_is_all_there_is():
    model, src = prepared("paper_base")
    assert beam(model, src, START, START, 8).tolist() == [[START]] * 4


@pytest.mark.slow
def test_width_and_penalty_are_the_papers_unless_given():
    """Vaswani et al. (2017), section 6.1: 4 and 0.6."""
    apart = set()
    for seed in range(10):
        task = *prepared("paper_base", seed), START, END, 8
        plain = beam(*task)
        assert plain.equal(beam(*task, width=4, penalty=0.6))
        for other in ((3, 0.6), (5, 0.6), (4, 0.0), (4, 1.6)):
            if plain.tolist() != beam(*task, *other).tolist():
                apart.add(other)
    assert len(apart) == 4


def test_the_length_penalty_is_wus():
    lengths = torch.tensor([1, 2, 7, 50])
    for alpha in (0.0, 0.2, 0.6, 1.0):
        wanted = [(5 + n) ** alpha / 6**alpha for n in lengths.tolist()]
        assert_close(length_penalty(lengths, alpha), torch.tensor(wanted))
    assert length_penalty(lengths[:1], 0.6) == 1


@pytest.mark.parametrize("width", [0, -1])
def test_a_beam_of_none_is_refused(width):
    with pytest.raises(ValueError, match=rf"width={width} follows nothing"):
        beam(*prepared("paper_base"), START, END, 8, width)


def test_a_model_that_rules_words_out_still_ends():
    """Logits of −∞: fewer rows than the beam could hold."""
    model, src = prepared("paper_base")
    with torch.no_grad():
        model.head.bias[[0, 1, 2]] = -math.inf
    found = beam(model, src, START, END, MAX_LEN, width=8)
    for row, s in zip(found.tolist(), src):
        assert not {0, 1, 2} & {*trimmed(row)[1:]}
        assert trimmed(row) == best_of(scores(model, s, 0.6))


def test_nothing_is_dropped_and_the_mode_stays():
    config = small("building_blocks", dropout=0.5)
    model, src = build(EncoderDecoder, config), words(10, 3, 6)
    calm = beam(model, src, START, END, 8)
    assert beam(model.train(), src, START, END, 8).equal(calm)
    assert all(part.training for part in model.modules())
