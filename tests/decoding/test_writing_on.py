"""Writing on: the same text with a cache and without."""

import pytest
import torch
from torch import Tensor

from tests.helpers.small import NAMES, build, small, words
from tformer_lite import DecoderOnly, Sampler, generate, likeliest
from tformer_lite.decoding.sampling import stream

presets = pytest.mark.parametrize("name", NAMES)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def naive(model: DecoderOnly, ids: Tensor, n: int, choose=likeliest) -> Tensor:
    """Read all that the model can, again for each token."""
    for _ in range(n):
        with torch.no_grad():
            new = choose(model(ids[:, -8:])[:, -1])
        ids = torch.cat((ids, new[:, None]), dim=1)
    return ids


def varied(name: str) -> DecoderOnly:
    """A model whose likeliest text has many different tokens."""
    for seed in range(100):
        model = build(DecoderOnly, small(name), seed)
        with torch.no_grad():
            model.head.weight.mul_(30)
        ids = naive(model, words(11, 2, 1), 20)
        if len(ids[0, 9:].unique()) > 3:
            return model
    raise AssertionError("no such model")


@pytest.mark.slow
@presets
@pytest.mark.parametrize("length", [1, 5, 8, 11])
def test_the_text_is_the_same_across_the_windows_border(name, length):
    """The window has 8 tokens: then every token moves, and is read again."""
    model, ids = varied(name), words(11, 2, length)
    written = generate(model, ids, 20)
    assert written.equal(naive(model, ids, 20))
    assert written.shape == (2, length + 20)


def test_without_positions_there_is_no_window():
    model = build(DecoderOnly, small("char_lm", positions="none"))
    ids = words(11, 2, 3)
    written, lengths = generate(model, ids, 20), range(3, 23)
    for t in lengths:
        assert model(written[:, :t])[:, -1].argmax(-1).equal(written[:, t])


def test_each_token_is_read_once_until_the_window_is_full():
    model, read = varied("char_lm"), []
    part = model.decoder.blocks[0].feed_forward
    part.register_forward_hook(lambda _, x, __: read.append(x[0].shape[1]))
    generate(model, words(11, 2, 3), 8)
    assert read == [3, 1, 1, 1, 1, 1, 8, 8]


@pytest.mark.slow
@presets
def test_a_drawn_text_is_the_same_too(name):
    model, ids = varied(name), words(11, 4, 2)
    drawn = generate(model, ids, 12, Sampler(2.0, generator=generator(5)))
    again = Sampler(2.0, generator=generator(5))
    assert drawn.equal(naive(model, ids, 12, again))
    other = Sampler(2.0, generator=generator(6))
    assert not drawn.equal(generate(model, ids, 12, other))


def test_a_stream_gives_each_token_before_the_next_is_computed():
    """The witness: the calls of a layer, one a token."""
    model, ids, read = varied("char_lm"), words(11, 2, 3), []
    whole = generate(model, ids, 12)
    part = model.decoder.blocks[0].feed_forward
    part.register_forward_hook(lambda _, x, __: read.append(x[0].shape[1]))
    for i, new in enumerate(stream(model, ids, 12)):
        assert new.equal(whole[:, 3 + i])
        assert len(read) == i + 1
    assert i == 11


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 5, 8, 11])
def test_a_window_is_all_that_is_read(length):
    """Of the model's 8 positions the last 3 are no numbers; and one without
    positions reads no more than its window."""
    model, ids = varied("char_lm"), words(11, 2, length)
    with torch.no_grad():
        model.embedding.positions.table[5:] = torch.nan
    written = generate(model, ids, 9, window=5)
    for t in range(length, length + 9):
        last = model(written[:, max(0, t - 5) : t])[:, -1]
        assert last.argmax(-1).equal(written[:, t])
    free = build(DecoderOnly, small("char_lm", positions="none"))
    written = generate(free, ids, 9, window=5)
    for t in range(length, length + 9):
        last = free(written[:, max(0, t - 5) : t])[:, -1]
        assert last.argmax(-1).equal(written[:, t])


class LastOnly(torch.nn.Module):
    """A model of another make: it scores what comes after its last id, as
    some do where nothing else is asked for."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids)[:, -1:]


def test_a_model_of_another_make_writes_too():
    model, ids = varied("char_lm"), words(11, 2, 3)
    wanted = generate(model, ids, 20)
    assert generate(LastOnly(model), ids, 20, window=8).equal(wanted)


def test_rows_that_have_ended_repeat_their_end():
    model, ids = varied("char_lm"), words(11, 6, 2)
    free = generate(model, ids, 15)
    end = int(free[0, 5])
    written = generate(model, ids, 15, end=end)
    lengths = []
    for row, whole in zip(written, free):
        new = whole[2:].tolist()
        n = 2 + (new.index(end) + 1 if end in new else 15)
        lengths.append(n)
        assert row[:n].equal(whole[:n])
        assert (row[n:] == end).all()
    assert written.shape[1] == max(lengths)
    assert len(set(lengths)) > 1


def test_an_end_in_the_prompt_ends_nothing():
    model, ids = varied("char_lm"), torch.tensor([[4, 5, 6]])
    end = int(generate(model, ids, 1)[0, -1])
    ids[0, 0] = end
    written = generate(model, ids, 5, end=end)
    assert written.shape[1] > 3


def test_nothing_is_dropped_and_the_mode_stays():
    model = build(DecoderOnly, small("char_lm", dropout=0.5))
    ids = words(11, 2, 3)
    calm = generate(model, ids, 10)
    assert generate(model.train(), ids, 10).equal(calm)
    assert all(part.training for part in model.modules())
    assert torch.is_grad_enabled()


def test_no_new_tokens_are_none():
    model, ids = varied("char_lm"), words(11, 2, 3)
    assert generate(model, ids, 0).equal(ids)


def test_what_cannot_be_cached_writes_the_same_text():
    def mirrored(t: int, device=None) -> Tensor:
        return torch.ones(1, 1, t, t, dtype=torch.bool, device=device)

    model = build(DecoderOnly, small("char_lm", mask=mirrored))
    with torch.no_grad():
        model.head.weight.mul_(30)
    ids = words(11, 2, 3)
    assert generate(model, ids, 12).equal(naive(model, ids, 12))


@pytest.mark.parametrize("n", [0, 2])
def test_ids_stay_of_their_type(n):
    model, ids = varied("char_lm"), words(11, 2, 3)
    written = generate(model, ids.int(), n)
    assert written.dtype == torch.int32
    assert written.equal(generate(model, ids, n).int())


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 2])
@pytest.mark.parametrize("shape", [(1, 0), (0, 3), (3,)])
def test_nothing_is_no_prompt(n, shape):
    match = rf"shape \({shape[0]}, ?{shape[1] if shape[1:] else ''}\), not"
    with pytest.raises(ValueError, match=match):
        generate(varied("char_lm"), torch.ones(shape).long(), n)


def test_what_chooses_no_ids_is_refused():
    """One token more, and 0.9 would be written as the id 0."""
    model, ids = varied("char_lm"), words(11, 2, 3)
    with pytest.raises(TypeError, match=r"float64: make them whole"):
        generate(model, ids, 1, lambda logits: logits.amax(-1))
    with pytest.raises(ValueError, match=r"shape \(2, 1, 1\), not \(B, T\)"):
        generate(model, ids, 1, lambda logits: logits[:, :1].long())
