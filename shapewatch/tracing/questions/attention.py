"""Attention, measured: the scores, the weights and what they are made of, of
each attention that the flow of a run shows."""

from typing import NamedTuple

import torch
from torch import Tensor

from shapewatch.tracing.axes.names import Axis, shape_text
from shapewatch.tracing.calls import Calls
from shapewatch.tracing.questions.flow import KEEPS, AttentionSteps, Data
from shapewatch.tracing.questions.operands import attention_operands


class Attention(NamedTuple):
    """One attention of a run.

    `scores` are raw, before any mask; `masked` is what went into the
    softmax, and `weights` what came out. All three have the shape that
    `axes` names, such as (B, H, T, S), and that is the model's own: if it
    transposes its scores, weights sum to 1 along another axis than the last.

    `queries` and `mixed` are (..., T, D), `keys` and `values` (..., S, D),
    with the axes in front that the weights have: matrices whose products the
    scores and the mixture are. Each is None where it cannot be told.
    """

    path: str
    axes: tuple[Axis, ...]
    scores: Tensor
    masked: Tensor
    weights: Tensor
    queries: Tensor | None = None
    keys: Tensor | None = None
    values: Tensor | None = None
    mixed: Tensor | None = None

    def __repr__(self) -> str:
        """Write where it is, and its named shape."""
        where = self.path or "the model"
        return f"attention in {where}: {shape_text(self.axes)}"


def find_attention(calls: Calls) -> list[Attention]:
    """Measure every attention that the data shows, in order.

    Raises ValueError when their values were not kept.
    """
    data = Data(calls)
    return [attention_tensors(x, data) for x in data.attentions()]


def attention_tensors(steps: AttentionSteps, data: Data) -> Attention:
    """Look scores, masked scores and weights up; or compute them again, where
    one call did it all, or more was done to the scores after a mask."""
    if not data.given:
        raise ValueError(
            f"the scores in {steps.path or 'the model'} were not kept: "
            "trace with keep=True."
        )
    if steps.fused:
        return fused_attention(steps, data)
    read = next(
        (i, n) for i, n in steps.way if data.sources[i][n] == steps.masked
    )
    products = data.kept[steps.scores]
    if data.names[steps.scores] == "baddbmm":  # it adds the mask as well
        _, options = data.given[steps.scores]
        q, k = (data.read(steps.scores, n).detach() for n in (-2, -1))
        products = [q @ k * options.get("alpha", 1)]
    scores = data.again(*read, {steps.scores: products}, KEEPS - {"dropout"})
    _, (shape, *_) = data.calls.axes[steps.weights]
    weights = data.kept[steps.weights][0]
    masked = softmax_input(data, *read, weights)
    parts = attention_operands(data, steps, scores, weights)
    return Attention(steps.path, shape, scores, masked, weights, *parts)


def softmax_input(data: Data, i: int, n: int, weights: Tensor) -> Tensor:
    """Give what a softmax read: as it was made; or as it is by now, if that
    explains the weights, since a mask was written into it: x[mask] = -inf."""
    scores, now = data.read(i, n), data.received(i, n)
    overwritten = not explains(scores, weights) and explains(now, weights)
    return now if overwritten else scores


def explains(masked: Tensor, weights: Tensor) -> bool:
    """Whether weights are the softmax of masked scores, along some axis."""
    return masked.shape == weights.shape and any(
        torch.allclose(masked.softmax(axis).to(weights), weights, atol=1e-5)
        for axis in range(weights.ndim)
    )


def fused_attention(steps: AttentionSteps, data: Data) -> Attention:
    """Compute what one call did not show. Raises ValueError unless the weights
    explain what it gave."""
    (_, keys, *_), (output, *_) = data.calls.axes[steps.mixed]
    parts = fused_parts(*data.given[steps.mixed])
    if not torch.allclose(parts[-1], data.kept[steps.mixed][0], 1e-3, 1e-4):
        raise ValueError(
            f"the attention in {steps.path or 'the model'} gave something "
            "else than its weights times its values: it dropped some weights, "
            "or its inputs were changed since. Trace in evaluation."
        )
    return Attention(steps.path, (*output[:-1], keys[-2]), *parts)


def fused_parts(args: tuple, kwargs: dict) -> tuple[Tensor, ...]:
    """Do in the open what scaled_dot_product_attention does in one call: give
    scores, masked scores, weights, queries, keys, values, and the values
    that the weights mix."""
    names = "query", "key", "value", "attn_mask", "dropout_p", "is_causal"
    arguments = dict(zip(names, args)) | kwargs
    q, k, v = (arguments[name].detach() for name in names[:3])
    if arguments.get("enable_gqa"):
        heads = q.shape[-3]
        k, v = (x.repeat_interleave(heads // x.shape[-3], -3) for x in (k, v))
    scores = q @ k.mT * (arguments.get("scale") or q.shape[-1] ** -0.5)
    mask = arguments.get("attn_mask")
    if mask is None:
        all_keys = torch.ones_like(scores, dtype=torch.bool)
        mask = all_keys.tril() if arguments.get("is_causal") else all_keys
    if mask.dtype == torch.bool:
        masked = scores.masked_fill(~mask, -torch.inf)
    else:
        masked = scores + mask
    weights = masked.softmax(-1).nan_to_num(0)
    return scores, masked, weights, q, k, v, weights @ v
