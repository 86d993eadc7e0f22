"""The KV cache: a model that reads each token once."""

from tformer_lite.decoding.cache.making import cached

__all__ = ["cached"]
