"""The arithmetic of attention against PyTorch's, its heads and dropout."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.testing import assert_close

from tests.helpers.agreement import agree_in_values, ripple
from tests.helpers.pytorch_weights import counterpart, stirred
from tformer_lite import (
    Config,
    FusedAttention,
    FusedCrossAttention,
    MultiHeadAttention,
    causal_mask,
    dot_product_attention,
    join_heads,
    masked_softmax,
    padding_mask,
    softmax,
    split_heads,
    trace,
)

B, T, S, H, D = 3, 5, 6, 3, 4
C = H * D
TGT = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 1, 1], [5, 1, 7, 8, 1]])
sizes = Config(vocab_size=10, max_len=8, d_model=C, n_heads=H)

every_kind = pytest.mark.parametrize(
    "kind", [MultiHeadAttention, FusedAttention, FusedCrossAttention]
)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def test_softmax_is_pytorchs_also_for_scores_that_overflow():
    scores = torch.tensor([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
    assert_close(softmax(scores), torch.softmax(scores, -1))


def test_a_row_with_nobody_to_attend_to_gives_zeros_and_no_gradient():
    scores = torch.full((2, 3), -math.inf)
    scores[0] = torch.tensor([0.5, 1.0, -math.inf])
    scores.requires_grad_()
    weights = softmax(scores)
    weights[:, 0].sum().backward()
    assert_close(weights[1], torch.zeros(3))
    assert scores.grad.isfinite().all()
    assert_close(scores.grad[1], torch.zeros(3))
    assert scores.grad[0, 0] > 0


def draw(t: int, s: int) -> list[Tensor]:
    """Queries, keys and values."""
    return [torch.randn(B, H, n, D, requires_grad=True) for n in (t, s, s)]


def agree_on(tensors: list[Tensor], mask: Tensor | None) -> None:
    """Compare attention and what it sends back to q, k and v."""
    mine = dot_product_attention(*tensors, mask)
    theirs = scaled_dot_product_attention(*tensors, mask)
    agree_in_values(mine, theirs)
    back = [torch.autograd.grad(x, tensors, ripple(x)) for x in (mine, theirs)]
    for one, other in zip(*back):
        agree_in_values(one, other)


@pytest.mark.parametrize(("t", "s"), [(T, T), (T, S), (S, T), (1, S)])
def test_attention_without_a_mask_is_pytorchs(t, s):
    agree_on(draw(t, s), None)


@pytest.mark.parametrize(
    "axes", [(B, 1, 1), (1, 1, T), (B, 1, T), (1, H, 1), (B, H, T)], ids=str
)
def test_attention_under_a_mask_of_any_axes_is_pytorchs(axes):
    mask = torch.rand(*axes, S) > 0.4
    mask[..., 0] = True
    agree_on(draw(T, S), mask)


@pytest.mark.parametrize(
    "mask",
    [
        causal_mask(T),
        padding_mask(TGT, pad=1),
        causal_mask(T) & padding_mask(TGT, pad=1),
    ],
    ids=["causal", "padding", "both"],
)
def test_attention_without_the_future_and_padding_is_pytorchs(mask):
    agree_on(draw(T, T), mask)


def test_rows_that_see_nobody_give_zeros_and_gradients_as_pytorchs_do():
    mask, tensors = some_without_keys(), draw(T, S)
    agree_on(tensors, mask)
    mine = dot_product_attention(*tensors, mask)
    to_q, to_k, to_v = torch.autograd.grad(mine, tensors, ripple(mine))
    for nothing in (mine[1, :, 2], mine[2], to_q[1, :, 2]):
        assert not nothing.any()
    for nothing in (to_q[2], to_k[2], to_v[2]):
        assert not nothing.any()


def some_without_keys() -> Tensor:
    """A mask that hides every key from some queries."""
    mask = torch.rand(B, H, T, S) > 0.4
    mask[1, :, 2] = mask[2] = False
    return mask


def test_masked_softmax_is_the_written_one_of_what_is_not_hidden():
    mask = some_without_keys()
    scores = (30 * torch.randn(B, H, T, S)).requires_grad_()
    mine = masked_softmax(scores, mask)
    written = softmax(scores.masked_fill(~mask, -math.inf))
    assert_close(mine, written)
    back = [torch.autograd.grad(x, scores, ripple(x)) for x in (mine, written)]
    assert_close(*back)
    assert not mine[~mask].any()
    assert_close(masked_softmax(scores, None), softmax(scores))


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
@pytest.mark.parametrize("mixed", [False, True])
def test_queries_without_keys_make_no_nan_on_the_way_or_back(dtype, mixed):
    tensors = [x.detach().to(dtype).requires_grad_() for x in draw(T, S)]
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=mixed)
    with torch.autograd.set_detect_anomaly(True), autocast:  # raises for NaN
        heads = dot_product_attention(*tensors, some_without_keys())
        back = torch.autograd.grad(heads, tensors, ripple(heads))
    assert not heads[2].any()
    assert not any(x[2].any() for x in back)
    assert all(x.isfinite().all() and x[0].any() for x in (heads, *back))
    assert heads.dtype in ({dtype, torch.bfloat16} if mixed else {dtype})


def test_the_slopes_of_attention_are_right_and_their_slopes():
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    shapes = (3, 2), (2, 2), (2, 2)
    options = {"dtype": torch.float64, "requires_grad": True}
    given = *(torch.randn(shape, **options) for shape in shapes), mask
    assert torch.autograd.gradcheck(dot_product_attention, given)
    assert torch.autograd.gradgradcheck(dot_product_attention, given)


def test_scores_that_are_nan_are_not_hidden():
    q, k, v = (x.detach() for x in draw(T, S))
    q[0, 1, 2] = q[1, 1, 2] = math.nan
    lost = dot_product_attention(q, k, v, some_without_keys()).isnan()
    assert lost[0, 1, 2].all()
    assert lost[1, 1, 2].all()
    assert lost.sum() == 2 * D


def test_a_mask_leaves_the_scores_that_it_allows_as_they_were():
    mask = torch.rand(B, H, T, S) > 0.4
    seen = trace(dot_product_attention, *draw(T, S), mask, keep=True)
    (found,) = seen.attention()
    assert found.masked[mask].equal(found.scores[mask])
    assert found.masked[~mask].eq(-math.inf).all()


def test_heads_take_neighbouring_channels_and_joining_undoes_splitting():
    x = torch.arange(B * T * C).view(B, T, C)
    heads = split_heads(x, H)
    assert heads.shape == (B, H, T, D)
    assert heads[1, 2, 3].tolist() == x[1, 3, 2 * D : 3 * D].tolist()
    assert join_heads(heads).equal(x)


@pytest.mark.parametrize("bias", [False, True])
def test_training_drops_the_very_weights_that_pytorchs_layer_drops(bias):
    mine = stirred(MultiHeadAttention(C, H, bias, dropout=0.5))
    config = replace(sizes, dropout=0.5, bias=bias)
    theirs = counterpart(mine, config)
    x, source = torch.randn(B, T, C), torch.randn(B, S, C)
    torch.manual_seed(1)
    dropped = mine(x, source)
    torch.manual_seed(1)
    agree_in_values(dropped, theirs(x, source, source)[0])
    assert not dropped.equal(mine.eval()(x, source))


def inputs(kind: type, t: int) -> list[Tensor]:
    """x alone, or with a source for cross-attention."""
    return [torch.randn(B, t, C)] * (1 + (kind is FusedCrossAttention))


@every_kind
@pytest.mark.parametrize("share", [0.1, 0.4])
def test_dropout_takes_its_share_of_weights_and_scales_the_rest(kind, share):
    layer = kind(C, H, dropout=share)
    seen = []
    layer.dropout.register_forward_hook(
        lambda _, before, after: seen.extend((*before, after))
    )
    layer(*inputs(kind, 40))
    before, after = seen
    kept = after != 0
    assert before.shape == (B, H, 40, 40)
    assert abs((~kept).float().mean().item() - share) < 0.01
    assert_close(before.sum(-1), torch.ones(B, H, 40))
    assert_close(after[kept], before[kept] / (1 - share))


@every_kind
def test_nothing_is_dropped_outside_training(kind):
    layer, whole = kind(C, H, dropout=0.5), kind(C, H, dropout=0.0)
    whole.load_state_dict(layer.state_dict())
    layer.eval()
    given = inputs(kind, T)
    assert layer(*given).equal(layer(*given))
    assert layer(*given).equal(whole(*given))


def test_projections_keep_the_variance_of_their_input():
    layer = MultiHeadAttention(512, 8)
    q = layer.query(torch.randn(64, 512))
    assert 0.9 < q.var().item() < 1.1


def test_channels_that_do_not_divide_are_refused_by_name():
    with pytest.raises(ValueError, match="d_model=12 .* n_heads=5"):
        MultiHeadAttention(d_model=12, n_heads=5)
    with pytest.raises(ValueError, match="d_model=12 .* n_heads=5"):
        split_heads(torch.zeros(B, T, 12), 5)
