"""Every public name of `tformer_lite`, and where it is from."""

# ruff: noqa: F401
from shapewatch.properties import Finding, Report, report, same
from shapewatch.tracing import Axis, Trace, trace
from tformer_lite.decoding.cache.models import cached
from tformer_lite.decoding.metrics import exact_match, perplexity
from tformer_lite.decoding.sampling import Sampler, generate, likeliest
from tformer_lite.decoding.search import beam, greedy
from tformer_lite.drawing.attention.heatmaps import heatmap
from tformer_lite.drawing.attention.steps import attention_steps
from tformer_lite.drawing.diagram.here import where
from tformer_lite.drawing.plots.charts import bars, curves, seeds
from tformer_lite.drawing.surface.picture import Picture
from tformer_lite.example.running import (
    running_example,
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
    translations,
)
from tformer_lite.hooks import print_shapes
from tformer_lite.model.attention import (
    MultiHeadAttention,
    dot_product_attention,
    join_heads,
    masked_softmax,
    split_heads,
)
from tformer_lite.model.config import (
    Config,
    bert_window,
    building_blocks,
    char_lm,
    paper_base,
    tiny_translator,
)
from tformer_lite.model.grouped import share_heads
from tformer_lite.model.layers import (
    FeedForward,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    sinusoids,
)
from tformer_lite.model.masks import (
    causal_mask,
    padding_mask,
    sliding_mask,
    window_mask,
)
from tformer_lite.model.models import (
    Block,
    CrossBlock,
    DecoderOnly,
    EncoderDecoder,
    PostBlock,
    PostCrossBlock,
    Stack,
)
from tformer_lite.parts.bert import BertEmbedding
from tformer_lite.parts.efficient import (
    MixtureOfExperts,
    TiledAttention,
    tiled_attention,
)
from tformer_lite.parts.modern import GatedFeedForward, rotate
from tformer_lite.parts.variants import (
    FusedAttention,
    FusedCrossAttention,
    LayerNorm,
    PlainEmbedding,
    ShrunkEmbedding,
    UnbiasedNorm,
    gelu,
    gelu_tanh,
    softmax,
)
from tformer_lite.text.datasets import (
    Batch,
    Chunks,
    Pairs,
    Windows,
    lay_out,
    split_pairs,
    split_text,
)
from tformer_lite.text.pieces import WordPieceTokenizer
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer
from tformer_lite.training.batches import mean_loss
from tformer_lite.training.checkpoints import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from tformer_lite.training.loop import train
from tformer_lite.training.recipe import Recipe
from tformer_lite.training.trainer import Trainer
