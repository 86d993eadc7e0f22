"""PyTorch's own layers, with copies of our weights.

PyTorch packs all queries before all keys before all values, and says True
for hidden where we say True for seen.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from tests.helpers.weights import renamed
from tformer_lite import Config, Stack

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": gelu,
    "gelu_tanh": partial(gelu, approximate="tanh"),
}
NAMES = {
    "self_attention": "self_attn",
    "cross_attention": "multihead_attn",
    r"feed_forward\.hidden": "linear1",
    r"feed_forward\.output": "linear2",
    r"norms\.0": "norm1",
    r"norms\.1": "norm2",
    r"norms\.2": "norm3",
    "blocks": "layers",
}
OURS_ALONE = "src_embedding", "tgt_embedding", "head"


def values(parameter: nn.Parameter) -> Tensor:
    return parameter.detach().clone()


def gradients(parameter: nn.Parameter) -> Tensor:
    return parameter.grad


def packed(mine: nn.Module, of: Callable) -> dict[str, Tensor]:
    """An attention layer's weights by nn.MultiheadAttention's names. Rows
    that run head by head are put in PyTorch's order, part by part."""
    found = {f"out_proj.{n}": of(p) for n, p in mine.output.named_parameters()}
    names = "query", "key", "value", "qkv", "key_value"
    parts = [getattr(mine, name) for name in names if hasattr(mine, name)]
    for name, _ in mine.output.named_parameters():
        rows = []
        for part in parts:
            n = part.out_features // part.in_features
            heads = of(getattr(part, name)).unflatten(0, (mine.n_heads, n, -1))
            rows.append(heads.transpose(0, 1).flatten(0, 2))
        found[f"in_proj_{name}"] = torch.cat(rows)
    return found


def as_pytorch(mine: nn.Module, of: Callable = values) -> dict[str, Tensor]:
    """Our weights, or their gradients, by PyTorch's names."""
    found, attentions = {}, []
    for path, part in mine.named_modules():
        if hasattr(part, "n_heads"):
            attentions.append(path)
            for name, weight in packed(part, of).items():
                found[f"{path}.{name}".lstrip(".")] = weight
    for name, parameter in mine.named_parameters():
        if not name.startswith((*attentions, *OURS_ALONE)):
            found[name] = of(parameter)
    return {renamed(name, NAMES): weight for name, weight in found.items()}


def encoder(config: Config, **options) -> nn.TransformerEncoder:
    """An encoder that does not warn about nested tensors."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.n_heads, **options
    )
    norm = nn.LayerNorm(config.d_model) if config.final_norm else None
    return nn.TransformerEncoder(
        layer, config.n_layers, norm, enable_nested_tensor=False
    )


def pytorch_layer(mine: nn.Module, config: Config) -> nn.Module:
    """PyTorch's encoder for a stack, and nn.Transformer for a model: it loses
    its own final norm where ours has none."""
    sizes = config.d_model, config.n_heads
    options = {
        "dim_feedforward": config.d_ff,
        "dropout": config.dropout,
        "activation": ACTIVATIONS[config.activation],
        "norm_first": config.residual == "pre",
        "batch_first": True,
    }
    if isinstance(mine, Stack):
        return encoder(config, **options)
    own = {"custom_encoder": encoder(config, **options)}
    own |= {"num_decoder_layers": config.n_layers}
    theirs = nn.Transformer(*sizes, **own, **options)
    if not config.final_norm:
        theirs.decoder.norm = None
    return theirs


def counterpart(mine: nn.Module, config: Config) -> nn.Module:
    """PyTorch's model for one of ours, with copies of its weights.

    In training mode, so that none takes a shortcut. Where ours has no bias,
    PyTorch's is 0; any other weight must be ours.
    """
    theirs = pytorch_layer(mine, config).to(next(mine.parameters()).dtype)
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
