"""Going on from what a model has read."""

from collections.abc import Callable, Iterator

from torch import Tensor, nn

from tformer_lite.decoding.cache.attention import Cache
from tformer_lite.model.modes import evaluating


class Continued(nn.Module):
    """What goes on from the ids that it has `seen`: (B, T), None at first."""

    seen: Tensor | None = None

    def go_on(self, ids: Tensor) -> int:
        """Count the first of ids that were seen; 0 is to begin anew.

        Nothing counts as seen until `seen` is set again.
        """
        seen, self.seen = self.seen, None
        n = 0 if seen is None else seen.shape[1]
        if 0 < n < ids.shape[1] and ids[:, :n].equal(seen):
            return n
        self.forget()
        return 0

    def forget(self) -> None:
        """Keep nothing any more."""
        self.seen = None
        for cache in self.caches():
            cache.forget()

    def reorder(self, rows: Tensor) -> None:
        """Let row i go on from what row `rows[i]` has kept, rows (B)."""
        self.seen = self.seen[rows]
        for cache in self.caches():
            cache.reorder(rows)

    def caches(self) -> Iterator[Cache]:
        """List what keeps keys and values."""
        return (part for part in self.modules() if isinstance(part, Cache))


class Recomputed(Continued):
    """A model that keeps nothing and computes everything anew."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        self.pad = getattr(model, "pad", None)

    def forward(self, *ids: Tensor) -> Tensor:
        """Call the model, and give the new positions."""
        return self.only_new(ids[-1], self.model, *ids)

    def encode(self, src: Tensor) -> Tensor:
        """Turn a source into memory."""
        with evaluating(self.model):
            return self.model.encode(src)

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Let the model decode, and give the new positions."""
        return self.only_new(tgt, self.model.decode, tgt, memory, src)

    def only_new(self, ids: Tensor, call: Callable, *inputs) -> Tensor:
        """Call with inputs, and give the positions of new ids."""
        with evaluating(self.model):
            logits = call(*inputs)
        start = self.go_on(ids)
        self.seen = ids.clone()
        return logits[:, start:]
