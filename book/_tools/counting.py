"""Count what a preset needs at sizes of any choice: numbers to learn, work,
the bytes that training keeps, and the bytes of the cache."""

from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from shapewatch.tracing import flops
from shapewatch.tracing.record.visits import Visits
from tformer_lite import DecoderOnly, EncoderDecoder, cached
from tformer_lite.model.bert import BertEmbedding
from tformer_lite.model.config import Config

Model = tuple[nn.Module, tuple[Tensor, ...]]
Bytes = list[tuple[str, int]]  # the module that keeps them, and how many


class Needs(NamedTuple):
    """What a model needs at some sizes."""

    parameters: list[tuple[str, tuple[int, ...]]]
    flops: int
    activations: Bytes
    cache: Bytes


@cache
def bert() -> Any:
    """A BERT of the size that `bert_window` loads, with other numbers."""
    from transformers import BertConfig, BertModel

    return BertModel(BertConfig())


def with_bert(config: Config) -> Config:
    """Let a preset that reads BERT's states read them without a network."""
    if config.src_embedding != "bert":
        return config
    embedding = partial(BertEmbedding, bert=bert())
    words = bert().config.vocab_size
    return replace(config, src_embedding=embedding, src_vocab_size=words)


def build_preset(
    config: Config,
    B: int,
    T: int,
    H: int,
    D: int,
    F: int,
    V: int,
    S: int = 0,
    src_vocab_size: int = 0,
    max_len: int = 0,
    n_layers: int = 2,
) -> Model:
    """Build a preset at any sizes, and ids for it: (B, S), (B, T), or those
    of a model that has no source."""
    config = replace(config, d_model=H * D, n_heads=H, d_ff=F, vocab_size=V)
    words = src_vocab_size or config.src_vocab_size
    sizes = {"max_len": max_len or max(S, T), "n_layers": n_layers}
    config = with_bert(replace(config, src_vocab_size=words, **sizes))
    kind = EncoderDecoder if S else DecoderOnly
    ids = tuple(torch.zeros(B, n).long() for n in (S, T) if n)
    return kind(config).eval(), ids


def count_needs(model: nn.Module, *ids: Tensor) -> Needs:
    """Count all four."""
    named = model.named_parameters()
    return Needs(
        [(name, tuple(weight.shape)) for name, weight in named],
        flops(model, *ids)[""].flops,
        activations(model, *ids),
        kept_by_cache(model, *ids),
    )


def activations(model: nn.Module, *ids: Tensor) -> Bytes:
    """List what training keeps for the way back, each storage once, without
    the parameters."""
    kept: dict[int, tuple[str, int]] = {}

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        place = visits.now.path, storage.nbytes()
        kept.setdefault(storage.data_ptr(), place)
        return x

    hooks = saved_tensors_hooks(keep, lambda x: x)
    with torch.enable_grad(), Visits(model) as visits, hooks:
        model.train()(*ids)
    for weight in model.eval().parameters():
        kept.pop(weight.untyped_storage().data_ptr(), None)
    return list(kept.values())


def kept_by_cache(model: nn.Module, *ids: Tensor) -> Bytes:
    """List the keys and the values that writing keeps."""
    keeper = cached(model)
    keeper(*ids)
    found = (
        (f"{path}.{name}", vars(part).get(name))
        for path, part in keeper.named_modules()
        for name in ("keys", "values")
    )
    return [(path, x.nbytes) for path, x in found if isinstance(x, Tensor)]
