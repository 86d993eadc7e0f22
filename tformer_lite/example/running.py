"""The running example, and the trained model that reads it, traced."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from shapewatch.tracing import Trace, trace
from tformer_lite.example.shipped import (
    english_tokenizer,
    nepali_tokenizer,
    trained_numbers,
    trained_translator,
)
from tformer_lite.model.config import Config, tiny_translator
from tformer_lite.model.models import DecoderOnly, EncoderDecoder
from tformer_lite.text.datasets import Batch, lay_out

# Source 000's pair, of which no dictionary here has all words; and one in
# which the order of the words says who did what to whom.
PAIRS = (
    ("mouth is not empty.", "मुख खाली थिएन ।"),
    ("the hungry dog saw hari.", "भोको कुकुरले हरिलाई देख्यो ।"),
)
SEED = 1
AnyModel = TypeVar("AnyModel", bound=nn.Module)


def running_example(length: int = 8) -> Batch:
    """Load the book's two pairs, padded: -> (B, S), (B, T), (B, T).

    S = T = `length`, and rows are as `lay_out` makes them.

    >>> running_example().src_words[0][:5]
    ['[SOS]', 'mouth', 'is', 'not', 'empty']
    """
    return lay_out(PAIRS, english_tokenizer(), nepali_tokenizer(), length)


def running_model(config: Config = tiny_translator) -> EncoderDecoder:
    """Build the model that reads the running example, in evaluation mode.

    Of the running configuration it is the trained translator; of another,
    one whose weights a seed has drawn. Either way they are the same in every
    chapter, and none of the reader's random numbers are used up.

    >>> running_model().head
    Head(in_features=12, out_features=1024, bias=False)
    """
    model = seeded_model(EncoderDecoder, config, SEED)
    if config == tiny_translator:
        # Where a bug is planted in this file's model, it may lose some.
        model.load_state_dict(trained_numbers(), strict=False)
    return model.eval()


def seeded_model(
    kind: Callable[[Config], AnyModel], config: Config, seed: int
) -> AnyModel:
    """Build a model whose first weights come from the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)


def running_trace(config: Config = tiny_translator) -> Trace:
    """Trace the running model on the running example, with the name of every
    axis proved and every value kept.

    B, S, T, H, D, F and V vary, C is H*D. Gradients are not recorded.

    >>> running_trace().attention()[0]
    attention in encoder.blocks.0.self_attention: (B, H, S, S)
    """
    build, dims = partial(sized_model, config), running_dims(config)
    with torch.no_grad():
        return trace(build=build, dims=dims, keep=True)


def trained_trace(english: str, nepali: str) -> tuple[Trace, Batch]:
    """Trace the trained translator on a pair of sentences, every value kept.

    With the trace comes the pair as it was read: its ids, (1, S) and (1, T),
    and its words. Words that the corpus lacks become `[UNK]`.

    >>> seen, row = trained_trace("that house was big.", "त्यो घर ठूलो थियो ।")
    >>> seen["decoder.blocks.0.cross_attention:weights"].shape
    torch.Size([1, 3, 8, 8])
    """
    model = trained_translator().model
    tokenizers = english_tokenizer(), nepali_tokenizer()
    row = lay_out([(english, nepali)], *tokenizers)
    dims = running_dims(model.config) | {"B": 1}
    with torch.no_grad():
        seen = trace(
            model, row.src, row.tgt, dims=dims, axes=["B S", "B T"], keep=True
        )
    return seen, row


def running_dims(config: Config) -> dict[str, int | str]:
    """Give the sizes of a model that reads the running example, by letter."""
    src, tgt, *_ = running_example()
    dims = dict(zip("BST", (*src.shape, tgt.shape[1])))
    dims |= {"H": config.n_heads, "D": config.d_model // config.n_heads}
    return dims | {"C": "H*D", "F": config.d_ff, "V": config.vocab_size}


def sized_model(
    config: Config, B: int, T: int, H: int, D: int, F: int, V: int, S: int = 0
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """Build a model at any sizes, and ids for it: (B, S), (B, T).

    At the sizes of the running example they are its own. Without a source
    (S is 0) the model is one that writes, and has ids (B, T) alone.
    """
    sized = replace(config, d_model=H * D, n_heads=H, d_ff=F, vocab_size=V)
    src, tgt, *_ = running_example()
    if sized == config and (*src.shape, tgt.shape[1]) == (B, S, T):
        return running_model(config), (src, tgt)
    numbers = torch.Generator().manual_seed(SEED)
    ids = [torch.randint(V, (B, n), generator=numbers) for n in (S, T) if n]
    kind = EncoderDecoder if S else DecoderOnly
    return seeded_model(kind, sized, SEED).eval(), tuple(ids)
