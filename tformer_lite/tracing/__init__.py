"""Watch a PyTorch model run. Knows nothing of Transformers."""

from tformer_lite.tracing.printing import print_shapes
from tformer_lite.tracing.tracer import trace

__all__ = ["print_shapes", "trace"]
