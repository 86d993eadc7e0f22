"""Measured scores: what an attention that was found has computed."""

from typing import NamedTuple

import torch
from torch import Tensor

from tformer_lite.tracing.axes.names import Axis
from tformer_lite.tracing.questions.attention import Found, attentions
from tformer_lite.tracing.record.values import Values


class Attention(NamedTuple):
    """One attention of a run.

    `scores` are raw, before any mask; `masked` is what went into the
    softmax, and `weights` what came out. All three have the shape that
    `axes` names, such as (B, H, T, S).
    """

    path: str
    axes: tuple[Axis, ...]
    scores: Tensor
    masked: Tensor
    weights: Tensor

    def __repr__(self) -> str:
        """Write where it is, and its named shape."""
        shape = ", ".join(map(str, self.axes))
        return f"attention in {self.path or 'the model'}: ({shape})"


def attention(steps: list, axes: list, values: Values) -> list[Attention]:
    """Measure every attention that the data shows, in order.

    Raises ValueError when their values were not kept.
    """
    found = attentions(steps)
    for one in found:
        needed = {one.scores, one.masked, one.weights, one.opaque} - {None}
        if not needed <= values.kept.keys():
            raise ValueError(
                f"the scores in {one.path or 'the model'} were not kept: "
                "trace with keep=True."
            )
    return [measured(one, steps, axes, values) for one in found]


def measured(one: Found, steps: list, axes: list, values: Values) -> Attention:
    """Look the three up; or compute them again, where one call did it all."""
    if one.opaque is not None:
        args, kwargs = values.given[one.opaque]
        given = named(args, kwargs)
        queries, keys, *_ = axes[one.opaque][0]
        three = opened(given)
        check(one.path, three[-1] @ given["value"], values.kept[one.opaque][0])
        return Attention(one.path, (*queries[:-1], keys[-2]), *three)
    scores = values.kept[one.scores][0]
    if steps[one.scores].name == "baddbmm":  # it adds the mask as well
        (_, q, k), kwargs = values.given[one.scores]
        scores = (q @ k * kwargs.get("alpha", 1)).detach()
    masked, weights = (values.kept[i][0] for i in (one.masked, one.weights))
    return Attention(
        one.path, axes[one.weights][1][0], scores, masked, weights
    )


def named(args: tuple, kwargs: dict) -> dict:
    """Give scaled_dot_product_attention's arguments their names."""
    names = "query", "key", "value", "attn_mask", "dropout_p", "is_causal"
    return dict(zip(names, args)) | kwargs


def opened(given: dict) -> tuple[Tensor, Tensor, Tensor]:
    """Do in the open what scaled_dot_product_attention does in one call:
    its scores, masked scores and weights."""
    q, k = given["query"].detach(), given["key"].detach()
    if given.get("enable_gqa"):
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
    scale = given.get("scale") or q.shape[-1] ** -0.5
    scores = q @ k.mT * scale
    mask = given.get("attn_mask")
    if given.get("is_causal"):
        mask = torch.ones_like(scores, dtype=torch.bool).tril()
    if mask is None:
        masked = scores
    elif mask.dtype == torch.bool:
        masked = scores.masked_fill(~mask, -torch.inf)
    else:
        masked = scores + mask
    return scores, masked, masked.softmax(-1).nan_to_num(0)


def check(path: str, mine: Tensor, theirs: Tensor) -> None:
    """Raise ValueError unless the weights explain what the call gave."""
    if not torch.allclose(mine, theirs, rtol=1e-3, atol=1e-4):
        raise ValueError(
            f"the attention in {path or 'the model'} gave something else "
            "than its weights times its values: it dropped some weights, or "
            "its inputs were changed since. Trace in evaluation."
        )
