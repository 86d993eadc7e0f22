"""Padding that a mask or lengths tell of is believed, and nothing else is."""

import pytest
import torch
from torch import nn
from torch.nn.functional import silu

from shapewatch.properties import (
    batch_independence,
    causality,
    identity,
    order_sensitivity,
    padding_invariance,
    past,
)
from shapewatch.properties.masks import paddings_said
from tests.helpers.strangers import GPT
from tformer_lite import report

FRAMES = torch.randn(2, 9, 10, generator=torch.Generator().manual_seed(0))
FRAMES[1, 6:] = 0
ENDS = torch.tensor([9, 6])
WORDS = torch.arange(9) < ENDS[:, None]
IDS = torch.randint(3, 40, (2, 9), generator=torch.Generator().manual_seed(1))
NONE, MARKS = torch.zeros(2, 9), torch.rand(2, 9) < 0.5
LEFT, TRIANGLE = WORDS.flip(1), torch.ones(9, 9).tril() > 0


SAID = {
    "lengths": (torch.tensor([9, 6]), WORDS),
    "wav_lens": (torch.tensor([1.0, 6 / 9]), WORDS),
    "key_padding_mask": (~WORDS, WORDS),
    "mask": (WORDS, WORDS),
    "attention_mask": (LEFT.long(), LEFT),
    "padding_mask": (NONE.long(), NONE == 0),
    "m": (NONE.masked_fill(~WORDS, -1e9)[:, None, None], WORDS),
    "attend": ((WORDS[:, None] & TRIANGLE)[:, None], WORDS),
    "k": (WORDS.float(), WORDS),  # what it leaves out is all alike
    "token_type_ids": ((~WORDS).long(), None),
    "timestep": (torch.tensor([3, 7]), None),
    "labels": (torch.tensor([9, 6]), None),
    "bool_masked_pos": (MARKS, None),
    "noise_mask": (MARKS, None),
    "prefix_mask": (WORDS, None),
    "causal": (TRIANGLE[:2], None),
    "scale": (torch.tensor(3), None),
}


@pytest.mark.parametrize("name", SAID)
def test_padding_is_read_from_what_is_called_or_looks_so(name):
    given, words = SAID[name]
    found = paddings_said((FRAMES, given), ["x", name], [0], None)
    assert len(found) == (words is not None)
    for said in found:
        assert said.read(given, 9).equal(words)


def test_a_mask_that_leaves_padding_in_says_something_else():
    ids = IDS.masked_fill(~WORDS, 0)
    for mask, many in ((WORDS, 1), (NONE == 0, 0)):
        given = (ids, mask)
        assert len(paddings_said(given, ["ids", "mask"], [0], 0)) == many


class Frames(nn.Module):
    """Attention and a convolution over frames; one that is wrong reads
    padding in the convolution."""

    def __init__(self, wrong):
        super().__init__()
        torch.manual_seed(0)
        self.wrong, self.read = wrong, nn.Linear(10, 16)
        self.layer = nn.TransformerEncoderLayer(
            16, 2, 32, 0.0, batch_first=True
        )
        self.conv, self.places = (
            nn.Conv1d(16, 16, 5, padding=2),
            nn.Embedding(9, 16),
        )

    def encode(self, x, words):
        x = self.read(x) + self.places(torch.arange(x.shape[1]))
        x = self.layer(x, src_key_padding_mask=~words)
        return (
            x
            + silu(
                self.conv((x if self.wrong else x * words[..., None]).mT)
            ).mT
        )


class Lengths(Frames):
    given = torch.tensor([9, 6])

    def forward(self, x, lengths):
        return self.encode(x, torch.arange(x.shape[1]) < lengths[:, None])


class Hidden(Frames):
    given = ~WORDS

    def forward(self, x, key_padding_mask):
        return self.encode(x, ~key_padding_mask)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Lengths, Hidden])
def test_whoever_says_it_padding_that_is_heard_is_found(kind):
    found = report(kind(False), FRAMES, kind.given, causal=False)
    assert found.broken == found.unusual == []
    assert found["padding_invariance"].holds
    assert found["batch_independence"].holds
    assert not padding_invariance(kind(True), FRAMES, kind.given).holds


class Strided(nn.Module):
    """Every second frame is kept; of these, a wrong one counts too many."""

    def __init__(self, more, border=0):
        super().__init__()
        torch.manual_seed(0)
        self.more, self.border = more, border
        self.conv = nn.Conv1d(10, 16, 3, 2, border)
        self.layer = nn.TransformerEncoderLayer(
            16, 2, 32, 0.0, batch_first=True
        )

    def forward(self, x, lengths):
        x = self.conv(x.mT).mT
        ends = (lengths - 3 + 2 * self.border) // 2 + 1 + self.more
        words = torch.arange(x.shape[1]) < ends[:, None]
        return self.layer(x, src_key_padding_mask=~words)


@pytest.mark.parametrize(
    ("model", "level"),
    [
        (Strided(0), "holds"),
        (Strided(1), "broken"),
        (Strided(0, 1), "unusual"),
    ],
)
def test_fewer_outputs_than_frames_are_compared_with_those_alone(model, level):
    frames = FRAMES.clone()
    frames[1, 5:] = 1
    finding = padding_invariance(model, frames, torch.tensor([9, 5]))
    assert finding.level == level


@pytest.mark.slow
def test_a_tokenizers_dictionary_is_taken_as_it_comes():
    class Rotated(GPT):
        def forward(self, input_ids, attention_mask):
            return super().forward(input_ids)

    words = {"input_ids": IDS, "attention_mask": LEFT.long()}
    finding = padding_invariance(Rotated(), words)
    assert finding.level == "broken"  # the mask is not read


def timed(x, timestep):
    shift = timestep[:, None] if x.shape[-1] == 3 else timestep[:, None, None]
    return x + shift


@pytest.mark.parametrize(
    ("model", "given", "holds"),
    [
        (timed, (torch.randn(3, 9, 10), torch.arange(3.0)), True),
        (timed, (torch.randn(3, 3, 3), torch.arange(3.0)), False),
        (lambda x, lengths: x[:, : lengths.max()], (FRAMES, ENDS), True),
        (lambda x: x - x.mean(), (torch.randn(2, 3, 4, 4),), False),
        (lambda x: x.flatten(1).std(1), (torch.randn(2, 3, 4, 4),), True),
    ],
)
def test_rows_are_alone_with_their_numbers_and_of_any_shape(
    model, given, holds
):
    assert batch_independence(model, *given).holds is holds


class Joined(nn.Module):
    """Two inputs of one length, which are added; one that is wrong looks
    ahead in the first of them."""

    def __init__(self, ahead, places):
        super().__init__()
        torch.manual_seed(0)
        self.ahead, self.pe = ahead, torch.randn(9, 10) * places
        self.attention = nn.MultiheadAttention(10, 2, batch_first=True)

    def forward(self, x, marks):
        later = x.roll(-1, 1) if self.ahead else x
        x = later + marks + self.pe
        hidden = ~TRIANGLE if self.ahead is not None else None
        return x + self.attention(x, x, x, attn_mask=hidden)[0]


def test_inputs_that_are_added_are_asked_together():
    marks = FRAMES.flip(0)
    assert causality(Joined(False, 1.0), FRAMES, marks).holds
    assert causality(Joined(True, 1.0), FRAMES, marks).holds is False
    for places in (0.0, 1.0):
        found = order_sensitivity(Joined(None, places), FRAMES, marks)
        assert found.holds is bool(places)


def test_lengths_are_cut_with_their_rows_and_a_triangle_is_no_padding():
    for given, cut in ((ENDS, [6, 6]), (ENDS / 9, [1.0, 1.0])):
        (said,) = paddings_said((FRAMES, given), ["x", "lens"], [0], None)
        assert said.cut(given, 9, slice(0, 6)).tolist() == cut
    square = torch.randn(9, 9, 4), TRIANGLE
    assert not paddings_said(square, ["x", "m"], [0], None)


def with_image(ids, image):
    table = nn.Embedding.from_pretrained(torch.eye(40))
    x = table(ids).where((ids != 1)[..., None], image.mean())
    return x.cumsum(1)


def test_words_that_an_image_replaces_are_no_padding():
    ids = IDS.clone()
    ids[:, 1:3] = 1
    image = torch.ones(2, 3, 4, 4)
    assert past(with_image, ids, image).holds is None
    assert "any other word with the id 1" in past(with_image, ids, image).says


def test_a_model_that_refuses_what_a_check_changes_is_not_judged():
    def first_words(ids):
        if not ids.equal(IDS):
            raise ValueError("not these")
        return with_image(ids, torch.ones(1))

    finding = causality(first_words, IDS)
    assert finding.holds is None
    assert "does not run with what is changed here" in finding.says


def test_vectors_may_have_positions_in_them_and_blocks_may_read_the_input():
    layer = nn.TransformerDecoderLayer(10, 2, 20, 0.0, batch_first=True)
    model = nn.TransformerDecoder(layer, 2)
    given = FRAMES[:, :4], FRAMES
    assert order_sensitivity(model, *given).level == "unusual"
    assert identity(model, *given).holds


@pytest.mark.parametrize("given", [torch.tensor([1, 2]), torch.randn(7)])
def test_what_has_no_positions_has_no_position_to_judge(given):
    model = nn.Embedding(9, 4) if given.ndim and len(given) == 2 else torch.sin
    says = str(report(model, given, causal=False))
    assert "could not be checked" not in says
    assert report(model, given)["repeatable"].holds
