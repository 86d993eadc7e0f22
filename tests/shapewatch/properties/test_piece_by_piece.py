"""Read in pieces, with a cache, a model gives what it gives whole."""

import pytest
import torch

from shapewatch.properties import cached_run
from tests.helpers.caching import STYLES, Cached, Fused, Static
from tests.helpers.strangers import GPT, IDS
from tformer_lite import DecoderOnly, char_lm, running_example, running_model
from tformer_lite.decoding.cache.models import cached

SRC, TGT, *_ = running_example()
NONE = "The model takes no cache, and gives rows for all words each time."


class Masked(Cached):
    """It takes a mask of padding, which it may do without."""

    def forward(self, ids, mask=None, past=None, use_cache=False):
        return super().forward(ids, past, use_cache)


@pytest.mark.parametrize("wrong", ["", "positions"])
def test_a_mask_of_padding_is_left_out(wrong):
    model, mask = Masked(wrong=wrong), torch.ones_like(IDS)
    assert cached_run(model, IDS, mask).holds is (not wrong)
    needed = lambda ids, mask: model(ids, mask)  # noqa: E731
    assert cached_run(needed, IDS, mask).holds is None


def test_this_modules_caches_are_right():
    assert cached_run(cached(running_model()), SRC, TGT, pad=1).holds
    model = cached(DecoderOnly(char_lm))
    assert cached_run(model, IDS).holds
    model.rows = lambda start, ids: ids.new_ones(1, 1, ids.shape[1]) > 0
    assert cached_run(model, IDS).holds is False


class Refuses(Cached):
    def split(self, ids, start):
        if start:
            raise ValueError("one piece, please")
        return super().split(ids, start)


class GivesNone(Cached):
    def forward(self, ids, past=None, use_cache=False):
        return super().forward(ids)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (GPT(), NONE),
        (lambda ids: ids[..., None] / 2, NONE),
        (Refuses(), "It cannot go on from a cache: ValueError: one piece, "),
        (GivesNone(), "It cannot go on from a cache: ValueError: it gives "),
    ],
)
def test_what_has_no_cache_is_not_judged(model, says):
    finding = cached_run(model, IDS)
    assert finding.holds is None
    assert finding.says.startswith(says)


FAULTS = "positions", "mask", "use", "values", "order"
BY_STYLE = [(Fused, style, "") for style in STYLES]
BY_STYLE += [(Fused, "tuple", wrong) for wrong in FAULTS]
BY_STYLE += [(Static, "", x) for x in ("", "positions", "mask", "values")]


@pytest.mark.parametrize(("kind", "style", "wrong"), BY_STYLE)
def test_of_a_cache_what_is_wrong_is_said(kind, style, wrong):
    finding = cached_run(kind(style, wrong), IDS)
    assert finding.holds is (not wrong), finding
    says = "the words before it come from the cache" if wrong else "In pieces"
    assert says in finding.says


def last_kept(self, old, new, name):
    return torch.cat((old, new), 2)[:, :, -2:]


def test_a_cache_that_is_cut_is_not_one_that_is_not_used(monkeypatch):
    monkeypatch.setattr(Fused, "joined", last_kept)
    assert cached_run(Fused(), IDS).holds is False
