"""The sizes and choices of a model, and those of the five sources."""

from collections.abc import Callable
from dataclasses import dataclass

from tformer_lite.model.checks import check_kind

Choice = str | Callable
Residual = str | tuple
SIZES = ["vocab_size", "src_vocab_size", "max_len", "d_model", "n_heads"]
SIZES += ["n_kv_heads", "n_layers", "d_ff", "window"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that makes one Transformer different from another.

    Sizes are counts: `max_len` of positions, `n_layers` of blocks in each
    stack, the others of channels (`d_model`, `d_ff`), heads and tokens;
    without `src_vocab_size` the source has as many tokens as the target.
    `n_kv_heads` heads of keys and values serve the `n_heads` of queries, a
    group each (not in "fused" attention); without it each has its own. A
    target position attends to the `window` last ones, itself included.

    `dropout` is the share of values dropped in training: after the
    embedding, from attention's weights, in the hidden layer, and before each
    residual sum. `pad` is the id that no EncoderDecoder attends to. `bias` and
    `head_bias` give biases to the linear layers, and to the last one;
    `final_norm` ends each stack with a norm; where weights are `tied`, the
    last layer's are the target embedding's (Press and Wolf, 2017).

    A choice is the name of a part, or a part of your own, built and called as
    those are: `EncoderDecoder(replace(paper_base, norm=MyNorm))`. The names:

    - `embedding`: scaled, plain, shrunk (`src_embedding` knows bert too)
    - `positions`: sinusoidal, learned, rotary, none
    - `attention`: split, fused, tiled
    - `feed_forward`: plain, gated, mixture
    - `norm`: layer, unbiased, rms
    - `activation`: relu, gelu, gelu_tanh, silu
    - `residual`: pre, post (your own: a pair, of an encoder's block and a
      decoder's); a `mask` is your own, in place of the causal one

    Without a choice of its own the source is embedded as the target is, and
    cross-attention is built as self-attention is, but never rotary. The
    default sizes are the paper's (Vaswani et al., 2017, table 3). ValueError
    for a size that is no whole number from 1 up, and a bias that is no bool.
    """

    vocab_size: int
    max_len: int
    src_vocab_size: int | None = None
    d_model: int = 512
    n_heads: int = 8
    n_kv_heads: int | None = None
    n_layers: int = 6
    d_ff: int = 2048
    window: int | None = None
    dropout: float = 0.1
    pad: int = 1
    bias: bool = True
    head_bias: bool = False
    final_norm: bool = True
    tied: bool = False
    embedding: Choice = "scaled"
    positions: Choice = "sinusoidal"
    attention: Choice = "split"
    feed_forward: Choice = "plain"
    residual: Residual = "pre"
    norm: Choice = "layer"
    activation: Choice = "relu"
    src_embedding: Choice | None = None
    src_positions: Choice | None = None
    cross_attention: Choice | None = None
    mask: Callable | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for what is no size, or neither True nor False."""
        check_kind(self, int, *SIZES)
        check_kind(self, bool, "bias", "head_bias", "final_norm", "tied")


# fmt: off
# Source 000: the English-Nepali translator of the book. The source itself
# has embedding="shrunk" and norm="unbiased".
tiny_translator = Config(
    vocab_size=1024, max_len=8,
    d_model=12, n_heads=3, n_layers=1, d_ff=48, dropout=0.0,
    bias=False, positions="learned",
)

# Source 002: a language model that writes character by character.
# `vocab_size` is the number of different characters in your text.
char_lm = Config(
    vocab_size=65, max_len=64,
    d_model=128, n_heads=4, n_layers=2, d_ff=256,
    embedding="plain", positions="learned", residual="post",
)

# Source 003: the paper's base model. The source itself does not scale its
# tokens: embedding="plain".
paper_base = Config(
    vocab_size=120, src_vocab_size=100, max_len=200,
    head_bias=True, final_norm=False, attention="fused", residual="post",
)

# Source 001: the blocks it explains, put together. It stops before the
# stacks: their sizes are the paper's, the vocabulary is the book's.
building_blocks = Config(vocab_size=1024, max_len=5000, head_bias=True)

# Source 004: from a frozen BERT's states, which know their positions, to
# text. WordPiece ids on both sides; a target position sees the few before.
bert_window = Config(
    vocab_size=30522, max_len=512, pad=0,
    window=4, activation="gelu",
    src_embedding="bert", src_positions="none",
)
# fmt: on
