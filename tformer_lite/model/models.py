"""Whole models, put together from the parts that a `Config` names."""

from collections.abc import Callable

from torch import Tensor, nn

from tformer_lite.model.checks import check_pair, known_pad
from tformer_lite.model.choices import (
    choose,
    make_attention,
    make_feed_forward,
    make_residuals,
)
from tformer_lite.model.config import Config
from tformer_lite.model.layers import Linear
from tformer_lite.model.masks import padding_mask


class InputEmbedding(nn.Module):
    """Turn ids into vectors that know their positions, with dropout.

    `side` is "" for the target and "src_" for the source. Vaswani et al.
    (2017), sections 3.4, 3.5 and 5.4.
    """

    def __init__(self, config: Config, vocab_size: int, side: str = ""):
        super().__init__()
        tokens = choose(config, f"{side}embedding")
        positions = choose(config, f"{side}positions")
        self.tokens = tokens(vocab_size, config.d_model)
        self.positions = positions(config.max_len, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed each id and its position: (B, T) -> (B, T, C).

        Raises ValueError for an id outside the vocabulary, and for a
        sequence longer than `max_len`.
        """
        return self.dropout(self.positions(self.tokens(ids)))


class Block(nn.Module):
    """A layer of an encoder: self-attention, then feed-forward.

    Vaswani et al. (2017), section 3.1. Also the layer of a decoder that has
    no source to look at.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.self_attention = make_attention(config)
        self.feed_forward = make_feed_forward(config)
        self.residuals = make_residuals(config, 2)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply both sublayers: (B, T, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, 1 or T, T), True = may attend.
        """
        first, second = self.residuals
        x = first(x, lambda x: self.self_attention(x, mask=mask))
        return second(x, self.feed_forward)


class CrossBlock(nn.Module):
    """A layer of a decoder: self-attention, cross-attention, feed-forward.

    Vaswani et al. (2017), section 3.1.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.self_attention = make_attention(config)
        self.cross_attention = make_attention(config, "cross_attention")
        self.feed_forward = make_feed_forward(config)
        self.residuals = make_residuals(config, 3)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Apply the three sublayers: (B, T, C), (B, S, C) -> (B, T, C).

        Masks are boolean, True = may attend: `mask` (1 or B, 1, 1 or T, T),
        `memory_mask` (1 or B, 1, 1 or T, S).
        """
        first, second, third = self.residuals
        x = first(x, lambda x: self.self_attention(x, mask=mask))
        x = second(x, lambda x: self.cross_attention(x, memory, memory_mask))
        return third(x, self.feed_forward)


class Stack(nn.Module):
    """Apply `n_layers` blocks of one kind in turn, and a final norm."""

    def __init__(self, config: Config, block: Callable[[Config], nn.Module]):
        super().__init__()
        layers = range(config.n_layers)
        self.blocks = nn.ModuleList(block(config) for _ in layers)
        norm = choose(config, "norm") if config.final_norm else nn.Identity
        self.norm = norm(config.d_model)

    def forward(self, x: Tensor, *context: Tensor | None) -> Tensor:
        """Hand x from block to block: (B, T, C) -> (B, T, C).

        `context` goes to every block: its mask, or memory and both masks.
        """
        for block in self.blocks:
            x = block(x, *context)
        return self.norm(x)


class Head(Linear):
    """Turn the channels of each position into a logit for each token.

    It starts small: logits with a standard deviation of 0.1 make the first
    guess nearly uniform, and the first loss nearly ln V.
    """

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        super().reset_parameters()
        nn.init.normal_(self.weight, std=0.1 * self.in_features**-0.5)


class EncoderDecoder(nn.Module):
    """Read a source, and predict each next token of a target.

    Vaswani et al. (2017), figure 1, without its last softmax: the loss has
    it. Padding is hidden from every attention, the future from the decoder's
    own. A `pad` that is no id of both sides raises ValueError.

    >>> EncoderDecoder(tiny_translator)(*running_example()[:2]).shape
    torch.Size([2, 8, 1024])
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.mask = choose(config, "mask")
        src_size = config.src_vocab_size or config.vocab_size
        self.pad = known_pad(config.pad, config.vocab_size, src_size)
        self.src_embedding = InputEmbedding(config, src_size, "src_")
        self.tgt_embedding = InputEmbedding(config, config.vocab_size)
        self.encoder = Stack(config, Block)
        self.decoder = Stack(config, CrossBlock)
        self.head = Head(config.d_model, config.vocab_size, config.head_bias)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of tgt: (B, S), (B, T) -> (B, T, V).

        Raises ValueError for ids outside the vocabulary, sequences longer
        than `max_len`, and batches that differ.
        """
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Tensor) -> Tensor:
        """Turn a source into memory: (B, S) -> (B, S, C)."""
        mask = padding_mask(src, self.pad)
        return self.encoder(self.src_embedding(src), mask)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Score the token after each of tgt, given the memory of src:
        (B, T), (B, S, C), (B, S) -> (B, T, V). Raises as `forward` does.
        """
        check_pair(src, tgt)
        memory_mask = padding_mask(src, self.pad)
        mask = padding_mask(tgt, self.pad)
        mask = mask & self.mask(tgt.shape[1], tgt.device)
        x = self.tgt_embedding(tgt)
        return self.head(self.decoder(x, memory, mask, memory_mask))


class DecoderOnly(nn.Module):
    """Predict each next token of one sequence from those before it.

    Radford et al. (2018), section 3.1. Rows are padded at their end if at
    all, where no real token looks.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.mask = choose(config, "mask")
        self.embedding = InputEmbedding(config, config.vocab_size)
        self.decoder = Stack(config, Block)
        self.head = Head(config.d_model, config.vocab_size, config.head_bias)

    def forward(self, ids: Tensor) -> Tensor:
        """Score the token after each of ids: (B, T) -> (B, T, V).

        Raises ValueError for ids outside the vocabulary, and for a sequence
        longer than `max_len`.
        """
        x = self.embedding(ids)
        mask = self.mask(ids.shape[1], ids.device)
        return self.head(self.decoder(x, mask))
