"""A small Transformer, and tools that show the shape of every step in it."""

from tformer_lite.attention import (
    MultiHeadAttention,
    dot_product_attention,
    join_heads,
    softmax,
    split_heads,
)
from tformer_lite.data import Batch, WordTokenizer, running_example
from tformer_lite.layers import (
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    sinusoids,
)
from tformer_lite.masks import causal_mask, padding_mask, window_mask
from tformer_lite.plot import heatmap
from tformer_lite.properties import same
from tformer_lite.tracing import print_shapes

__version__ = "0.1.0"
__all__ = [
    "Batch",
    "LearnedPositions",
    "MultiHeadAttention",
    "SinusoidalPositions",
    "TokenEmbedding",
    "WordTokenizer",
    "causal_mask",
    "dot_product_attention",
    "heatmap",
    "join_heads",
    "padding_mask",
    "print_shapes",
    "running_example",
    "same",
    "sinusoids",
    "softmax",
    "split_heads",
    "window_mask",
]
