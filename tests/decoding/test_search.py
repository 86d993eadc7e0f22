"""Greedy decoding takes what the model finds likeliest; beam search follows
several rows, and finds the best of all."""

from functools import partial
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from tests.helpers.small import NAMES, build, kind_of, small, words
from tformer_lite import EncoderDecoder, beam, greedy

presets = pytest.mark.parametrize(
    "name", [name for name in NAMES if kind_of(name) is EncoderDecoder]
)
START, NEVER = 2, -1


def spread_rows(name: str) -> tuple:
    """A model, sources of different lengths, and a token that ends some
    rows early and others late or not at all."""
    src = words(10, 12, 6)
    src[:4, 3:] = small(name).pad
    for seed in range(100):
        model = build(EncoderDecoder, small(name), seed)
        free = greedy(model, src, START, NEVER, max_len=8)
        if len(free.unique(dim=0)) > 3:
            break
    firsts = [first_of(free, token) for token in range(2, 11)]
    spread = [len(set(first)) for first in firsts]
    return model, src, free, spread.index(max(spread)) + 2


def first_of(ids: torch.Tensor, token: int) -> list[int]:
    """How long each row is up to its first such token, after the start."""
    rows = [row[1:] for row in ids.tolist()]
    return [r.index(token) + 2 if token in r else len(r) + 1 for r in rows]


@pytest.mark.slow
@presets
def test_every_token_is_the_likeliest_until_its_row_is_padded(name):
    model, src, free, end = spread_rows(name)
    best = model(src, free[:, :-1]).argmax(-1)
    assert free[:, 1:].equal(best)
    assert (free[:, 0] == START).all()
    ids = greedy(model, src, START, end, max_len=8)
    lengths = first_of(free, end)
    assert len(set(lengths)) > 1
    assert ids.shape[1] == max(lengths)
    for row, best_row, n in zip(ids, free, lengths):
        assert row[:n].equal(best_row[:n])
        assert (row[n:] == model.pad).all()


@pytest.mark.slow
@presets
def test_decoding_drops_nothing_and_leaves_the_model_as_it_was(name):
    model = build(EncoderDecoder, small(name, dropout=0.5), seed=3)
    src = words(10, 12, 6)
    calm = greedy(model, src, START, NEVER, max_len=8)
    assert not any(module.training for module in model.modules())
    model.train()
    assert greedy(model, src, START, NEVER, max_len=8).equal(calm)
    assert all(module.training for module in model.modules())
    with torch.no_grad():
        assert not model(src, calm).isclose(model(src, calm)).all()


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
    scored = {}
    for row, sums in zip(rows.tolist(), total.tolist()):
        for n, log_prob in enumerate(sums, 1):
            if END not in row[1:n]:
                weight = (5 + n) ** penalty / (5 + 1) ** penalty
                scored[tuple(row[: n + 1])] = log_prob / weight
    return scored


def best_of(scored: dict) -> tuple[int, ...]:
    """The best of all rows that have ended or are as long as can be."""
    complete = [row for row in scored if END in row or len(row) == MAX_LEN]
    return max(complete, key=scored.get)


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
        ids = beam(model, src, START, END, MAX_LEN, 5**3, penalty)
        assert ids.tolist() == padded(best, model.pad)


@pytest.mark.slow
@presets
@pytest.mark.parametrize("end", [3, 4, -1])
def test_a_beam_of_one_is_greedy(name, end):
    for seed in range(3):
        model, src = prepared(name, seed)
        for max_len in (1, 2, 8):
            ids = beam(model, src, START, end, max_len, width=1)
            assert ids.equal(greedy(model, src, START, end, max_len))


@pytest.mark.slow
@presets
@pytest.mark.parametrize("search", [greedy, partial(beam, width=3)])
def test_a_row_alone_is_the_row_in_its_batch(name, search):
    model, src = prepared(name)
    batch = search(model, src, START, END, MAX_LEN)
    for i in range(len(src)):
        alone = search(model, src[[i]], START, END, MAX_LEN)
        n = alone.shape[1]
        assert batch[[i], :n].equal(alone)
        assert (batch[i, n:] == model.pad).all()


@pytest.mark.parametrize("width", [0, -1])
def test_a_beam_of_none_is_refused(width):
    with pytest.raises(ValueError, match=rf"width={width} keeps no beam"):
        beam(*prepared("paper_base"), START, END, 8, width)
