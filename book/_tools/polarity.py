"""What a mask's ones mean, by experiment: of two positions a mask marks one,
and the gradient at a third tells which of the two it hears."""

from collections.abc import Callable

import torch
from libraries import BUILDS
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from shapewatch.tracing.probing import dims_for
from tformer_lite import MultiHeadAttention

MARKED = torch.tensor([True, False, True])
SIZES = {"B": 1, "S": 3, "T": 3, "H": 3, "G": 1, "R": 3, "D": 4}
SIZES |= {"F": 20, "V": 37, "N": 16}


def built(name: str) -> nn.Module:
    build = BUILDS[name]
    return build(**dims_for(build, SIZES))[0]


def here(x: Tensor) -> Tensor:
    return MultiHeadAttention(12, 3)(x, mask=MARKED[None, None, None])


def layer(x: Tensor, **mask: Tensor) -> Tensor:
    x = x.transpose(0, 1)
    return built("MHA")(x, x, x, **mask)[0].transpose(0, 1)


def function(x: Tensor) -> Tensor:
    return scaled_dot_product_attention(x, x, x, attn_mask=MARKED)


def model(name: str) -> Callable[[Tensor], Tensor]:
    mask = MARKED[None].long()
    return lambda x: built(name)(inputs_embeds=x, attention_mask=mask)[0]


RUNS = {
    ("here", "mask"): here,
    ("MHA", "attn_mask"): lambda x: layer(x, attn_mask=MARKED.expand(3, 3)),
    ("MHA", "key_padding_mask"): lambda x: layer(
        x, key_padding_mask=MARKED[None]
    ),
    ("SDPA", "attn_mask"): function,
    ("BERT", "attention_mask"): model("BERT"),
    ("GPT-2", "attention_mask"): model("GPT-2"),
    ("Llama", "attention_mask"): model("Llama"),
}


def meaning(library: str, mask: str) -> str:
    """Say what True, or 1, means in a mask.

    Raises ValueError where neither or both of two positions are heard.
    """
    torch.manual_seed(0)
    x = torch.randn(1, 3, 12, requires_grad=True)
    out = RUNS[library, mask](x)[0, -1]
    (slope,) = torch.autograd.grad(out @ torch.randn(len(out)), x)
    heard = (slope[0].abs().sum(-1) > 1e-6).tolist()
    if heard[0] == heard[1]:
        raise ValueError(f"{library}, {mask}: {heard=}")
    return "may attend" if heard[0] else "is hidden"
