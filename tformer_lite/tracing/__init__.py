"""Watch a PyTorch model run. Knows nothing of Transformers."""

from tformer_lite.tracing.printing import print_shapes

__all__ = ["print_shapes"]
