"""The KV cache: a model that reads each token once."""
