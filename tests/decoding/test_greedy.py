"""Greedy decoding takes what the model itself finds likeliest."""

import pytest
import torch

from tests.helpers.small import NAMES, build, kind_of, small, words
from tformer_lite import EncoderDecoder, greedy
from tformer_lite.model.modes import evaluating

presets = pytest.mark.parametrize(
    "name", [name for name in NAMES if kind_of(name) is EncoderDecoder]
)
START, NEVER = 2, -1


def prepared(name: str) -> tuple:
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
def test_every_token_is_the_likeliest_after_those_before(name):
    model, src, free, end = prepared(name)
    best = model(src, free[:, :-1]).argmax(-1)
    assert free[:, 1:].equal(best)
    assert (free[:, 0] == START).all()
    assert len(set(map(tuple, free.tolist()))) > 3
    ids = greedy(model, src, START, end, max_len=8)
    best = model(src, ids[:, :-1]).argmax(-1)
    for row, likeliest, n in zip(ids, best, first_of(ids, end)):
        assert row[1:n].equal(likeliest[: n - 1])


@pytest.mark.slow
@presets
def test_rows_stop_at_their_end_and_are_padded_after(name):
    model, src, free, end = prepared(name)
    ids = greedy(model, src, START, end, max_len=8)
    lengths = first_of(free, end)
    assert len(set(lengths)) > 1
    assert ids.shape[1] == max(lengths)
    for row, whole, n in zip(ids, free, lengths):
        assert row[:n].equal(whole[:n])
        assert (row[n:] == model.pad).all()


@pytest.mark.slow
@presets
@pytest.mark.parametrize("max_len", [1, 2, 5, 8])
def test_no_row_is_longer_than_asked(name, max_len):
    model, src, free, _ = prepared(name)
    ids = greedy(model, src, START, NEVER, max_len)
    assert ids.equal(free[:, :max_len])


@pytest.mark.slow
@presets
def test_a_row_alone_is_the_row_in_its_batch(name):
    model, src, _, end = prepared(name)
    ids = greedy(model, src, START, end, max_len=8)
    for i in range(len(src)):
        alone = greedy(model, src[[i]], START, end, max_len=8)
        n = alone.shape[1]
        assert n == first_of(ids, end)[i]
        assert ids[[i], :n].equal(alone)
        assert (ids[i, n:] == model.pad).all()


def test_a_start_that_is_the_end_is_all_there_is():
    model, src, _, _ = prepared("paper_base")
    assert greedy(model, src, START, START, 8).tolist() == [[START]] * 12


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


def test_the_mode_comes_back_after_an_error_too():
    model = build(EncoderDecoder, small("paper_base")).train()
    with pytest.raises(ValueError, match="9 positions .* max_len=8"):
        greedy(model, words(10, 2, 9), START, NEVER, max_len=8)
    assert model.training
    with pytest.raises(ValueError, match="9 positions .* max_len=8"):
        greedy(model, words(10, 2, 8), START, NEVER, max_len=10)
    assert model.training
    assert torch.is_grad_enabled()


@pytest.mark.slow
def test_decoding_builds_no_graph_of_gradients():
    model, src, _, _ = prepared("paper_base")
    graphs = []
    model.head.register_forward_hook(
        lambda _module, _x, logits: graphs.append(logits.requires_grad)
    )
    greedy(model, src, START, NEVER, max_len=4)
    assert graphs == [False] * 3
    assert model(src, src).requires_grad
    with evaluating(model):
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


@pytest.mark.slow
def test_the_source_is_read_once():
    model, src, _, _ = prepared("paper_base")
    calls = []
    model.encoder.register_forward_hook(lambda *_: calls.append(1))
    greedy(model, src, START, NEVER, max_len=8)
    assert len(calls) == 1


def test_decoding_leaves_parts_in_evaluation_that_were():
    model = build(EncoderDecoder, small("paper_base")).train()
    model.encoder.eval()
    greedy(model, words(10, 2, 3), START, NEVER, max_len=3)
    assert model.training
    assert model.decoder.training
    assert not any(part.training for part in model.encoder.modules())
