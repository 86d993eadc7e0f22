"""PyTorch's own layers, with copies of our weights.

PyTorch packs all queries before all keys before all values, and says True
for hidden where we say True for seen.
"""

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from tformer_lite import (
    Block,
    Config,
    CrossBlock,
    EncoderDecoder,
    FusedAttention,
    FusedCrossAttention,
    MultiHeadAttention,
    Stack,
)

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
}


def values(parameter: nn.Parameter) -> Tensor:
    return parameter.detach().clone()


def gradients(parameter: nn.Parameter) -> Tensor:
    return parameter.grad


def one_by_one(rows: Tensor, n_heads: int, parts: int) -> Tensor:
    """Put rows that run head by head in PyTorch's order, part by part."""
    heads = rows.unflatten(0, (n_heads, parts, -1))
    return heads.transpose(0, 1).flatten(0, 2)


def packed(mine: nn.Module, of: Callable) -> dict[str, Tensor]:
    """An attention layer's weights by nn.MultiheadAttention's names."""
    found = {f"out_proj.{n}": of(p) for n, p in mine.output.named_parameters()}
    for name, _ in mine.output.named_parameters():
        match mine:
            case FusedAttention():
                rows = of(getattr(mine.qkv, name))
                rows = one_by_one(rows, mine.n_heads, 3)
            case FusedCrossAttention():
                pair = of(getattr(mine.key_value, name))
                pair = one_by_one(pair, mine.n_heads, 2)
                rows = torch.cat([of(getattr(mine.query, name)), pair])
            case MultiHeadAttention():
                three = mine.query, mine.key, mine.value
                rows = torch.cat([of(getattr(part, name)) for part in three])
        found[f"in_proj_{name}"] = rows
    return found


def named_parts(mine: nn.Module) -> Iterable[tuple[str, nn.Module]]:
    """The parts of a block, stack or model, each with PyTorch's name."""
    match mine:
        case Block() | CrossBlock():
            yield "self_attn", mine.self_attention
            if isinstance(mine, CrossBlock):
                yield "multihead_attn", mine.cross_attention
            yield "linear1", mine.feed_forward.hidden
            yield "linear2", mine.feed_forward.output
            for i, norm in enumerate(mine.norms, 1):
                yield f"norm{i}", norm
        case Stack():
            yield "norm", mine.norm
            for i, block in enumerate(mine.blocks):
                yield f"layers.{i}", block
        case EncoderDecoder():
            yield "encoder", mine.encoder
            yield "decoder", mine.decoder


def as_pytorch(mine: nn.Module, of: Callable = values) -> dict[str, Tensor]:
    """Our weights, or their gradients, by PyTorch's names."""
    if hasattr(mine, "n_heads"):
        return packed(mine, of)
    parts = list(named_parts(mine))
    if not parts:
        return {name: of(p) for name, p in mine.named_parameters()}
    return {
        f"{prefix}.{name}": value
        for prefix, part in parts
        for name, value in as_pytorch(part, of).items()
    }


def layer(kind: Callable[..., nn.Module], config: Config) -> nn.Module:
    return kind(
        config.d_model,
        config.n_heads,
        config.d_ff,
        config.dropout,
        ACTIVATIONS[config.activation],
        norm_first=config.residual == "pre",
        batch_first=True,
    )


def stack(config: Config) -> nn.TransformerEncoder:
    """An encoder that does not warn about nested tensors."""
    block = layer(nn.TransformerEncoderLayer, config)
    norm = nn.LayerNorm(config.d_model) if config.final_norm else None
    return nn.TransformerEncoder(
        block, config.n_layers, norm, enable_nested_tensor=False
    )


def transformer(config: Config) -> nn.Transformer:
    """nn.Transformer; without `final_norm` its own final norms go."""
    build = partial(
        nn.Transformer,
        num_decoder_layers=config.n_layers,
        dim_feedforward=config.d_ff,
        custom_encoder=stack(config),
    )
    theirs = build(
        config.d_model,
        config.n_heads,
        dropout=config.dropout,
        activation=ACTIVATIONS[config.activation],
        norm_first=config.residual == "pre",
        batch_first=True,
    )
    if not config.final_norm:
        theirs.decoder.norm = None
    return theirs


def counterpart(mine: nn.Module, config: Config) -> nn.Module:
    """PyTorch's layer or model for one of ours, with copies of its weights.

    In training mode, so that none takes a shortcut. Where ours has no bias,
    PyTorch's is 0; any other weight must be ours.
    """
    match mine:
        case Block():
            theirs = layer(nn.TransformerEncoderLayer, config)
        case CrossBlock():
            theirs = layer(nn.TransformerDecoderLayer, config)
        case Stack():
            theirs = stack(config)
        case EncoderDecoder():
            theirs = transformer(config)
        case _:
            theirs = nn.MultiheadAttention(
                config.d_model,
                config.n_heads,
                config.dropout,
                config.bias,
                batch_first=True,
            )
    theirs.to(next(mine.parameters()).dtype)
    zeros = {
        name: torch.zeros_like(weight)
        for name, weight in theirs.state_dict().items()
        if name.endswith("bias")
    }
    theirs.load_state_dict(zeros | as_pytorch(mine))
    return theirs


def hidden_future(t: int) -> Tensor:
    """PyTorch's causal mask: True = hidden."""
    return torch.ones(t, t, dtype=torch.bool).triu(1)


def stirred(mine: nn.Module) -> nn.Module:
    """Move biases, gains and offsets away from 0 and 1."""
    with torch.no_grad():
        for parameter in mine.parameters():
            if parameter.ndim == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return mine
