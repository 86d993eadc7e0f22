"""What the sources do otherwise than our parts, or not at all."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.helpers import source_003
from tests.helpers import sources_001_002 as others
from tests.helpers.sources import (
    LESS_003,
    SRC,
    TGT,
    both,
    drawn,
    masked,
    same_numbers,
)
from tests.helpers.weights import in_doubles, outputs

B, T, C = 2, 5, 12
doubles = pytest.fixture(autouse=True)(in_doubles)


def test_a_source_of_padding_alone_is_nan_in_000_and_finite_here():
    mine, theirs = both("000")
    src = torch.ones_like(SRC)
    assert theirs(*masked(src, TGT)).isnan().all()
    assert mine(src, TGT).isfinite().all()


@pytest.mark.parametrize(
    ("name", "shape", "error", "said"),
    [
        ("000", (1, 9), RuntimeError, r"\(9\) must match .* \(8\)"),
        ("002", (1, 65), ValueError, "65 > .*64"),
        ("003", (2, 40), RuntimeError, "shape"),
        ("003", (1, 20), RuntimeError, "size"),
    ],
)
def test_what_a_source_cannot_take_and_ours_can_or_names(
    name, shape, error, said
):
    """Source 003 takes one batch size and one length alone."""
    mine, theirs = both(name)
    ids = drawn(name, *shape)
    with pytest.raises(error, match=said):
        theirs(*ids, *[None, None] * (name == "000"))
    if name == "003":
        assert mine(*ids).shape == (*shape, 120)
    else:
        said = f"{shape[1]} positions .* max_len={shape[1] - 1}"
        with pytest.raises(ValueError, match=said):
            mine(*ids)


def test_padding_changes_the_logits_of_003_and_not_ours():
    """All ids are words to it: it sees which one fills a row up."""
    mine, theirs = both("003")
    src, tgt = drawn("003", 1, 40)
    cut, other = src[:, :30], src.clone()
    src[:, 30:] = 1
    same_numbers(mine(src, tgt), mine(cut, tgt))
    assert (theirs(src, tgt) - theirs(other, tgt)).abs().max() > 1e-3


def test_003_elsewhere_is_given_tables_on_the_processor():
    """As on a GPU; "meta" is a device that every machine has."""
    theirs = source_003.Translator(LESS_003).to("meta")
    ids = torch.ones(1, 40, dtype=torch.long, device="meta")
    with pytest.raises(RuntimeError, match="device"):
        theirs(ids, ids)


def test_dropout_is_the_papers_here_and_twice_on_one_branch_of_002():
    """It keeps 0.9 * 0.9 of that branch, and drops no weights."""
    mine, theirs = (model.train() for model in both("002"))
    (ids,) = drawn("002", 2, 9)
    sums, weights, hidden = (2, 9, 128), (2, 4, 9, 9), (2, 9, 256)
    here = [shape for _, shape in outputs(mine, ids, kind=nn.Dropout)]
    there = [shape for _, shape in outputs(theirs, ids, kind=nn.Dropout)]
    assert here == [sums] + 2 * [weights, sums, hidden, sums]
    assert there == [sums] + 2 * [sums, sums, sums]
    block, x = theirs.blocks[0], torch.randn(8, 50, 128)
    bent = block.dropout(block.feed_forward(x))
    assert (bent != 0).double().mean() == pytest.approx(0.81, abs=0.01)


def test_the_last_norm_of_002_does_nothing_at_the_start():
    model, ids = others.CharacterModel().eval(), drawn("002", 2, 9)
    logits = model(*ids)
    model.norm = nn.Identity()
    assert_close(model(*ids), logits, atol=1e-3, rtol=0)


def test_the_words_of_001_drown_its_positions():
    words = others.Words(1024, 512)(torch.arange(1024))
    places = others.Places(512, 0.1).waves
    assert 1000 < words.var() / places.var() < 1130


def test_an_odd_width_and_minus_a_billion_in_half_precision_raise():
    with pytest.raises(RuntimeError, match="must match"):
        others.Places(7, 0.1)
    hidden = torch.tensor([True, False])
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(2).half().masked_fill(hidden, -1e9)


@pytest.mark.filterwarnings("ignore:std")
def test_the_norm_of_001_is_not_that_of_its_formula():
    def slope(norm):
        x = torch.ones(1, C, requires_grad=True)
        with torch.enable_grad():
            return torch.autograd.grad(norm(x)[0, 0], x)[0].abs().max()

    code, formula = others.Norm(C), nn.LayerNorm(C, 1e-6)
    x = torch.randn(B, T, C)
    same_numbers(code(x) / formula(x), torch.full_like(x, 0.96), 0.005)
    assert slope(code) / slope(formula) == pytest.approx(1000)
    assert others.Norm(1)(x[..., :1]).isnan().all()
