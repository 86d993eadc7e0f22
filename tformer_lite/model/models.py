"""Whole models, put together from the parts that a `Config` names."""

from collections.abc import Callable

from torch import Tensor, nn

from tformer_lite.model.checks import check_form, check_pair, known_pad
from tformer_lite.model.choices import (
    EMBEDDINGS,
    NORMS,
    POSITIONS,
    Parts,
    make_attention,
    make_cross_attention,
    make_feed_forward,
    make_mask,
    make_norms,
    source_side,
)
from tformer_lite.model.config import Config
from tformer_lite.model.layers import Linear
from tformer_lite.model.masks import padding_mask


class InputEmbedding(nn.Module):
    """Turn ids into vectors that know their positions, with dropout.

    Vaswani et al. (2017), sections 3.4, 3.5 and 5.4.
    """

    def __init__(self, config: Config, vocab_size: int):
        super().__init__()
        positions = POSITIONS[config.positions]
        self.tokens = EMBEDDINGS[config.embedding](vocab_size, config.d_model)
        self.positions = positions(config.max_len, config.d_model)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed each id and its position: (B, T) -> (B, T, C)."""
        return self.dropout(self.positions(self.tokens(ids)))


class Block(nn.Module):
    """A layer of an encoder: self-attention, then feed-forward.

    Each sublayer reads a normalised copy of x, and what it makes is added to
    x itself: pre-norm, as in Xiong et al. (2020), figure 1b. Also the layer
    of a decoder that has no source to look at.
    """

    form = "pre"

    def __init__(self, config: Config):
        super().__init__()
        check_form(self.form, config.residual)
        self.self_attention = make_attention(config)
        self.feed_forward = make_feed_forward(config)
        self.norms = make_norms(config, 2)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply both sublayers: (B, T, C) -> (B, T, C).

        `mask` is boolean, (1 or B, 1, 1 or T, T), True = may attend.
        """
        first, second = self.norms
        x = x + self.dropout(self.self_attention(first(x), mask=mask))
        return x + self.dropout(self.feed_forward(second(x)))


class PostBlock(Block):
    """A block that normalises each sum: post-norm.

    Vaswani et al. (2017), section 3.1; dropout as in section 5.4.
    """

    form = "post"

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Apply both sublayers: (B, T, C) -> (B, T, C)."""
        first, second = self.norms
        x = first(x + self.dropout(self.self_attention(x, mask=mask)))
        return second(x + self.dropout(self.feed_forward(x)))


class CrossBlock(nn.Module):
    """A layer of a decoder: self-attention, cross-attention, feed-forward.

    Vaswani et al. (2017), section 3.1, but pre-norm, as `Block` is.
    """

    form = "pre"

    def __init__(self, config: Config):
        super().__init__()
        check_form(self.form, config.residual)
        self.self_attention = make_attention(config)
        self.cross_attention = make_cross_attention(config)
        self.feed_forward = make_feed_forward(config)
        self.norms = make_norms(config, 3)
        self.dropout = nn.Dropout(config.dropout)

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
        first, second, third = self.norms
        x = x + self.dropout(self.self_attention(first(x), mask=mask))
        read = self.cross_attention(second(x), memory, memory_mask)
        x = x + self.dropout(read)
        return x + self.dropout(self.feed_forward(third(x)))


class PostCrossBlock(CrossBlock):
    """A decoder's block that normalises each sum, as the paper's does."""

    form = "post"

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Apply the three sublayers: (B, T, C), (B, S, C) -> (B, T, C)."""
        first, second, third = self.norms
        x = first(x + self.dropout(self.self_attention(x, mask=mask)))
        read = self.cross_attention(x, memory, memory_mask)
        x = second(x + self.dropout(read))
        return third(x + self.dropout(self.feed_forward(x)))


BLOCKS = Parts(
    "residual", pre=(Block, CrossBlock), post=(PostBlock, PostCrossBlock)
)


class Stack(nn.Module):
    """Apply `n_layers` blocks of one kind in turn, and a final norm."""

    def __init__(self, config: Config, block: Callable[[Config], nn.Module]):
        super().__init__()
        layers = range(config.n_layers)
        self.blocks = nn.ModuleList(block(config) for _ in layers)
        norm = NORMS[config.norm] if config.final_norm else nn.Identity
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

    Untied, it starts small: logits with a standard deviation of 0.1 make the
    first guess nearly even, and the first loss nearly ln V.
    """

    def reset_parameters(self) -> None:
        """Draw the weights anew and set the biases to 0."""
        super().reset_parameters()
        nn.init.normal_(self.weight, std=0.1 * self.in_features**-0.5)


class EncoderDecoder(nn.Module):
    """Read a source, and predict each next token of a target.

    Vaswani et al. (2017), figure 1; the last softmax is the loss's. Padding
    is hidden from every attention, the future from the decoder's own. A
    `pad` that is no id of both sides raises ValueError.

    >>> EncoderDecoder(tiny_translator)(*running_example()[:2]).shape
    torch.Size([2, 8, 1024])
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.mask = make_mask(config)
        src_size = config.src_vocab_size or config.vocab_size
        self.pad = known_pad(config.pad, config.vocab_size, src_size)
        source = source_side(config)
        self.src_embedding = InputEmbedding(source, src_size)
        self.tgt_embedding = InputEmbedding(config, config.vocab_size)
        block, cross_block = BLOCKS[config.residual]
        self.encoder = Stack(source, block)
        self.decoder = Stack(config, cross_block)
        self.head = Head(config.d_model, config.vocab_size, config.head_bias)
        if config.tied:
            self.head.weight = self.tgt_embedding.tokens.weight

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Score the token after each of tgt: (B, S), (B, T) -> (B, T, V).

        Raises ValueError for ids outside the vocabulary, sequences longer
        than a table of positions, and batches that differ.
        """
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Tensor) -> Tensor:
        """Turn a source into memory: (B, S) -> (B, S, C)."""
        mask = padding_mask(src, self.pad)
        return self.encoder(self.src_embedding(src), mask)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Score the token after each of tgt, given the memory of src:
        (B, T), (B, S, C), (B, S) -> (B, T, V). Raises as `forward` does."""
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
        self.mask = make_mask(config)
        self.embedding = InputEmbedding(config, config.vocab_size)
        self.decoder = Stack(config, BLOCKS[config.residual][0])
        self.head = Head(config.d_model, config.vocab_size, config.head_bias)
        if config.tied:
            self.head.weight = self.embedding.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Score the token after each of ids: (B, T) -> (B, T, V).

        Raises ValueError for ids outside the vocabulary, and for a sequence
        longer than a table of positions.
        """
        x = self.embedding(ids)
        mask = self.mask(ids.shape[1], ids.device)
        return self.head(self.decoder(x, mask))
