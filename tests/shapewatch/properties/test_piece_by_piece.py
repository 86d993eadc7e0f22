"""Read in pieces, with a cache, a model gives what it gives whole."""

import pytest
import torch

from shapewatch.properties import cached_run
from tests.helpers.caching import STYLES, Cached, FromZero, Fused, Static
from tests.helpers.strangers import GPT, IDS
from tformer_lite import DecoderOnly, char_lm, running_example, running_model
from tformer_lite.decoding.cache.models import cached

SRC, TGT, *_ = running_example()
NONE = "The model takes no cache, and gives rows for all words each time."


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def masked(kind):
    """Let a model take a mask of padding, which it may do without."""

    class Masked(kind):
        def forward(self, ids, mask=None, past=None, use_cache=False):
            return super().forward(ids, past, use_cache)

    return Masked()


@pytest.mark.parametrize("kind", [Cached, FromZero])
def test_a_mask_of_padding_is_left_out(kind):
    mask = torch.ones_like(IDS)
    assert bool(cached_run(masked(kind), IDS, mask).holds) is (kind is Cached)
    needed = lambda ids, mask: masked(kind)(ids, mask)  # noqa: E731
    assert cached_run(needed, IDS, mask).holds is None


def test_this_modules_caches_are_right():
    assert cached_run(cached(running_model()), SRC, TGT, pad=1).holds
    model = cached(DecoderOnly(char_lm))
    assert cached_run(model, IDS).holds
    model.rows = lambda start, ids: ids.new_ones(1, 1, ids.shape[1]) > 0
    assert cached_run(model, IDS).holds is False


class Refuses(Cached):
    """It cannot go on."""

    def start(self, past):
        if past is not None:
            raise ValueError("one piece, please")
        return 0


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


FAULTS = {
    "positions": "positions start at 0 again",
    "mask": "the mask covers the new words only",
    "use": "new words find 1 of 2 keys: the cache is not used",
    "values": "values in the cache are not those that were computed",
    "order": "keys and values are joined in the wrong order",
}
BY_STYLE = [(Fused, style, "") for style in STYLES]
BY_STYLE += [(Fused, "tuple", wrong) for wrong in FAULTS]
BY_STYLE += [(Static, "", x) for x in ("", "positions", "mask", "values")]


@pytest.mark.parametrize(("kind", "style", "wrong"), BY_STYLE)
def test_of_a_cache_what_is_wrong_is_said(kind, style, wrong):
    finding = cached_run(kind(style, wrong), IDS)
    assert finding.holds is (not wrong), finding
    assert FAULTS.get(wrong, "In pieces") in finding.says


def last_kept(self, old, new, name):
    return torch.cat((old, new), 2)[:, :, -2:]


def test_a_cache_that_is_cut_is_not_one_that_is_not_used(monkeypatch):
    monkeypatch.setattr(Fused, "joined", last_kept)
    says = cached_run(Fused(), IDS).says
    assert "new words find 2 of 3 keys: part of the cache is" in says
