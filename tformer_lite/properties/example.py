"""The example: what a model of this module reads when nothing is given."""

from torch import Tensor, nn

from tformer_lite.text.pair import running_example
from tformer_lite.text.tokenizers import PAD, UNK


def example(model: nn.Module, pad: int | None) -> tuple[Tensor, ...]:
    """Take the running example, with words that the model's vocabulary has;
    the target alone, for a model without an encoder."""
    config = getattr(model, "config", None)
    if not hasattr(config, "vocab_size"):
        raise TypeError("give the model's inputs, too: check(model, ids)")
    src, tgt, *_ = running_example()
    if pad != PAD:  # its padding becomes the model's
        src, tgt = (exchanged(ids, PAD, pad) for ids in (src, tgt))
    size = config.src_vocab_size or config.vocab_size
    both = fitted(src, size), fitted(tgt, config.vocab_size)
    both = [ids[:, : config.max_len] for ids in both]
    return tuple(both if hasattr(model, "encode") else both[1:])


def unknown_id(pad: int) -> int:
    """Give the id that unknown words have in `example`."""
    return UNK if pad != UNK else PAD


def exchanged(ids: Tensor, one: int, other: int) -> Tensor:
    """Let two ids change places."""
    ones, others = ids == one, ids == other
    return ids.masked_fill(ones, other).masked_fill(others, one)


def fitted(ids: Tensor, vocab_size: int) -> Tensor:
    """Let words that a vocabulary does not have become others, and the four
    specials stay."""
    words = 4 + (ids - 4) % max(vocab_size - 4, 1)
    return words.where(ids >= 4, ids).clamp(max=vocab_size - 1)
