"""From a model's logits to a text that goes on."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from tformer_lite.decoding.cache.models import cached
from tformer_lite.model.checks import check_batch


def likeliest(logits: Tensor) -> Tensor:
    """Choose each row's likeliest token: (B, V) -> (B)."""
    return logits.argmax(-1)


def generate(
    model: nn.Module,
    ids: Tensor,
    n: int,
    choose: Callable[[Tensor], Tensor] = likeliest,
    end: int | None = None,
    window: int | None = None,
) -> Tensor:
    """Write `n` more tokens after each row: (B, T) -> (B, S), S = T + n.

    `choose` picks them from their logits, (B, V) -> (B): `likeliest`, which
    is the default, or a `Sampler`. A row that has written `end` repeats it;
    once all have, writing stops. Ids stay of their type; an empty prompt
    raises ValueError.

    What the model reads are the last `window` tokens, or without one, the
    last `max_len`. Until there are as many, each is read once (see
    `cached`); then every one moves to another position with every step, and
    all are read again.
    """
    check_batch(ids)
    size, model = window or positions_of(model), cached(model)
    done = torch.zeros_like(ids[:, 0], dtype=torch.bool)
    for _ in range(n):
        if done.all():
            break
        new = choose(model(ids[:, -size:])[:, -1])
        check_batch(new[:, None])
        new = new.to(ids)
        if end is not None:
            new = new.masked_fill(done, end)
            done = done | (new == end)
        ids = torch.cat((ids, new[:, None]), dim=1)
    return ids


def positions_of(model: nn.Module) -> int:
    """Count the positions that a model has; 0 where there is no limit."""
    embedding = getattr(model, "embedding", None)
    return len(getattr(getattr(embedding, "positions", None), "table", ()))


class Sampler:
    """Draw each row's token at random, by its probability: (B, V) -> (B).

    Logits are divided by `temperature`: below 1 the likely becomes likelier.
    Of the tokens, the likeliest `top_k` stay (0: all; Fan et al., 2018,
    section 5.4); of these, the fewest that have a share of `top_p` together
    (Holtzman et al., 2020, section 3.1). `generator` makes the numbers.

    Raises ValueError for a temperature that is not above 0, a negative
    `top_k`, and a `top_p` that is not above 0 and up to 1.
    """

    def __init__(
        self,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        generator: torch.Generator | None = None,
    ):
        if not 0 < temperature < math.inf:
            raise ValueError(
                f"{temperature=} must be above 0, and finite: the nearer to "
                "0, the more often the likeliest token is drawn. For that "
                "token only, choose `likeliest`."
            )
        if top_k < 0:
            raise ValueError(f"{top_k=} must be 1 or more, or 0 for all")
        if not 0 < top_p <= 1:
            raise ValueError(f"{top_p=} must be above 0, and 1 at most")
        self.temperature, self.generator = temperature, generator
        self.top_k, self.top_p = top_k, top_p

    def __call__(self, logits: Tensor) -> Tensor:
        """Draw a token for each row: (B, V) -> (B)."""
        weights = self.probabilities(logits)
        drawn = torch.multinomial(weights, 1, generator=self.generator)
        return drawn[:, 0]

    def probabilities(self, logits: Tensor) -> Tensor:
        """What is drawn from: (B, V) -> (B, V). Each row's sum is 1."""
        logits = divide_by_temperature(logits, self.temperature)
        logits = keep_top_k(logits, self.top_k)
        return keep_top_p(logits, self.top_p).softmax(-1)


def divide_by_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Divide logits by a temperature, the largest being 0 from now on:
    (B, V) -> (B, V), in single precision at least.

    So nothing grows beyond what a float can hold; and a temperature that is
    no float of theirs becomes the nearest.
    """
    exact = torch.promote_types(logits.dtype, torch.float32)
    below = logits.to(exact) - logits.amax(-1, keepdim=True)
    floats = torch.finfo(exact)
    return below / min(max(temperature, floats.tiny), floats.max)


def keep_top_k(logits: Tensor, top_k: int) -> Tensor:
    """Hide all but the `top_k` largest: (B, V) -> (B, V); 0 hides none.

    Of equals, the first stay.
    """
    order = logits.argsort(dim=-1, descending=True, stable=True)
    others = order[:, top_k or logits.shape[-1] :]
    return logits.scatter(-1, others, -math.inf)


def keep_top_p(logits: Tensor, top_p: float) -> Tensor:
    """Hide all but the likeliest that have a share of `top_p` together:
    (B, V) -> (B, V); 1 hides none. The likeliest always stays.
    """
    weights, order = logits.softmax(-1).sort(
        dim=-1, descending=True, stable=True
    )
    likelier = weights.cumsum(-1) - weights
    others = (likelier >= top_p) & (top_p < 1)
    others = torch.empty_like(others).scatter(-1, order, others)
    return logits.masked_fill(others, -math.inf)
