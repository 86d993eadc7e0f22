"""A small Transformer, and tools that show the shape of every step in it."""

import ast
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shapewatch.properties import Finding, Report, report, same
    from shapewatch.tracing import Axis, Trace, load_trace, trace
    from tformer_lite.decoding.cache.models import cached
    from tformer_lite.decoding.metrics import (
        bleu,
        chrf,
        exact_match,
        perplexity,
    )
    from tformer_lite.decoding.sampling import Sampler, generate, likeliest
    from tformer_lite.decoding.search import beam, greedy
    from tformer_lite.drawing.attention.heatmaps import heatmap
    from tformer_lite.drawing.attention.strips import strip
    from tformer_lite.drawing.diagram.here import overview, where
    from tformer_lite.drawing.plots.charts import bars, curves, seeds
    from tformer_lite.drawing.surface.picture import Picture
    from tformer_lite.example.running import (
        running_model,
        running_trace,
        trained_trace,
    )
    from tformer_lite.example.shipped import (
        book_text,
        english_nepali,
        english_tokenizer,
        nepali_tokenizer,
        stored,
        trained_lookup,
        trained_translator,
    )
    from tformer_lite.explorer.exploring import explore
    from tformer_lite.gallery import Bug, bug, bugs
    from tformer_lite.hooks import print_shapes
    from tformer_lite.model.attention import (
        MultiHeadAttention,
        dot_product_attention,
        join_heads,
        masked_softmax,
        split_heads,
    )
    from tformer_lite.model.bert import BertEmbedding
    from tformer_lite.model.config import (
        Config,
        bert_window,
        building_blocks,
        char_lm,
        paper_base,
        tiny_translator,
    )
    from tformer_lite.model.efficient import (
        MixtureOfExperts,
        TiledAttention,
        tiled_attention,
    )
    from tformer_lite.model.layers import (
        FeedForward,
        LayerNorm,
        LearnedPositions,
        PostNorm,
        PreNorm,
        SinusoidalPositions,
        TokenEmbedding,
        sinusoids,
    )
    from tformer_lite.model.masks import causal_mask, padding_mask, window_mask
    from tformer_lite.model.models import (
        Block,
        CrossBlock,
        DecoderOnly,
        EncoderDecoder,
        Stack,
    )
    from tformer_lite.model.modern import (
        GatedFeedForward,
        GroupedQueryAttention,
        RotaryAttention,
        RotaryGroupedAttention,
        rotate,
        share_heads,
    )
    from tformer_lite.model.variants import (
        FusedAttention,
        FusedCrossAttention,
        PlainEmbedding,
        ShrunkEmbedding,
        UnbiasedNorm,
        gelu,
        gelu_tanh,
        sliding_mask,
        softmax,
    )
    from tformer_lite.text.datasets import (
        Batch,
        Chunks,
        Pairs,
        Windows,
        fitting,
        lay_out,
        running_example,
        split_pairs,
        split_text,
    )
    from tformer_lite.text.pieces import (
        PieceTokenizer,
        WordPieceTokenizer,
        train_pieces,
    )
    from tformer_lite.text.reading import read_pairs, read_text, vocabulary
    from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer
    from tformer_lite.training.batches import mean_loss
    from tformer_lite.training.checkpoints import (
        Checkpoint,
        load_checkpoint,
        save_checkpoint,
    )
    from tformer_lite.training.loop import resume, train
    from tformer_lite.training.recipe import Recipe
    from tformer_lite.training.trainer import Trainer

__version__ = "0.1.0"
__all__ = [
    "Axis",
    "Batch",
    "BertEmbedding",
    "Block",
    "Bug",
    "CharTokenizer",
    "Checkpoint",
    "Chunks",
    "Config",
    "CrossBlock",
    "DecoderOnly",
    "EncoderDecoder",
    "FeedForward",
    "Finding",
    "FusedAttention",
    "FusedCrossAttention",
    "GatedFeedForward",
    "GroupedQueryAttention",
    "LayerNorm",
    "LearnedPositions",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "Pairs",
    "Picture",
    "PieceTokenizer",
    "PlainEmbedding",
    "PostNorm",
    "PreNorm",
    "Recipe",
    "Report",
    "RotaryAttention",
    "RotaryGroupedAttention",
    "Sampler",
    "ShrunkEmbedding",
    "SinusoidalPositions",
    "Stack",
    "TiledAttention",
    "TokenEmbedding",
    "Trace",
    "Trainer",
    "UnbiasedNorm",
    "Windows",
    "WordPieceTokenizer",
    "WordTokenizer",
    "bars",
    "beam",
    "bert_window",
    "bleu",
    "book_text",
    "bug",
    "bugs",
    "building_blocks",
    "cached",
    "causal_mask",
    "char_lm",
    "chrf",
    "curves",
    "dot_product_attention",
    "english_nepali",
    "english_tokenizer",
    "exact_match",
    "explore",
    "fitting",
    "gelu",
    "gelu_tanh",
    "generate",
    "greedy",
    "heatmap",
    "join_heads",
    "lay_out",
    "likeliest",
    "load_checkpoint",
    "load_trace",
    "masked_softmax",
    "mean_loss",
    "nepali_tokenizer",
    "overview",
    "padding_mask",
    "paper_base",
    "perplexity",
    "print_shapes",
    "read_pairs",
    "read_text",
    "report",
    "resume",
    "rotate",
    "running_example",
    "running_model",
    "running_trace",
    "same",
    "save_checkpoint",
    "seeds",
    "share_heads",
    "sinusoids",
    "sliding_mask",
    "softmax",
    "split_heads",
    "split_pairs",
    "split_text",
    "stored",
    "strip",
    "tiled_attention",
    "tiny_translator",
    "trace",
    "train",
    "train_pieces",
    "trained_lookup",
    "trained_trace",
    "trained_translator",
    "vocabulary",
    "where",
    "window_mask",
]


@cache
def homes() -> dict[str, str]:
    """Tell where each public name is defined, as is written above."""
    tree = ast.parse(Path(__file__).read_text("utf8"))
    lists = [x for x in ast.walk(tree) if isinstance(x, ast.ImportFrom)]
    return {one.name: str(x.module) for x in lists for one in x.names}


def __getattr__(name: str) -> Any:
    """Import a name, or a room, when it is asked for: few need them all."""
    if name in __all__:
        globals()[name] = getattr(import_module(homes()[name]), name)
        return globals()[name]
    if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those not yet imported too."""
    return sorted({*globals(), *__all__})
