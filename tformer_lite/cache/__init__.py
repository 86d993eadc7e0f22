"""The KV cache: a model that reads each token once."""

from tformer_lite.cache.making import cached

__all__ = ["cached"]
