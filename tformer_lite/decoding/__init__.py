"""From a model's logits to text: search, sampling, a cache, scores, doubts."""
