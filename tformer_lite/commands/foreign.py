"""Models and tokenizers of the reader's own, for the command `generate`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from shapewatch.commands.checking import described, made
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.tokenizers import CharTokenizer, WordTokenizer

GIVES = "a factory gives (model, tokenizer)"


def own_model(target: str) -> tuple[nn.Module, Any]:
    """Call a factory: a model that writes, and its tokenizer."""
    model, parts = made(target, GIVES)
    tokenizer = parts[0] if len(parts) == 1 else None
    methods = (getattr(tokenizer, name, None) for name in ("encode", "decode"))
    if not all(map(callable, methods)):
        kinds = ", ".join(type(part).__name__ for part in parts) or "nothing"
        raise ValueError(
            f"{target} gave a model and {kinds}: {GIVES}, and a tokenizer "
            "has encode(text) and decode(ids)."
        )
    if not isinstance(model, DecoderOnly):
        model = ForeignModel(target, model)
    if not isinstance(tokenizer, (CharTokenizer, WordTokenizer)):
        tokenizer = ForeignTokenizer(target, tokenizer)
    return model, tokenizer


@contextmanager
def blamed(target: str, hint: str = "") -> Iterator[None]:
    """Make one line of whatever goes wrong in code of the reader's."""
    try:
        yield
    except Exception as error:
        line = f"{target} fails: {described(error)}{hint}"
        raise ValueError(line) from error


class ForeignModel(nn.Module):
    """A model of another make: its logits, whatever else it gives."""

    def __init__(self, target: str, model: Callable):
        super().__init__()
        self.target, self.model, self.most = target, model, 0

    def forward(self, ids: Tensor) -> Tensor:
        """Score what comes next: (B, T) -> (B, T, V), or (B, 1, V)."""
        hint, most = "", self.most
        if 0 < most < ids.shape[1]:
            hint = f"; if it reads {most} tokens at most, add --context {most}"
        with blamed(self.target, hint):
            result = self.model(ids)
        self.most = ids.shape[1]
        logits = getattr(result, "logits", result)
        if isinstance(logits, (tuple, list)):
            logits = logits[0]
        if not isinstance(logits, Tensor) or logits.ndim != 3:
            kind = type(logits).__name__
            shape = tuple(getattr(logits, "shape", ()))
            raise ValueError(
                f"{self.target}: its model gave {kind} {shape}, and no "
                "logits (B, T, V)."
            )
        return logits


class ForeignTokenizer:
    """A tokenizer of another make, with encode(text) and decode(ids)."""

    def __init__(self, target: str, tokenizer: Any):
        self.target, self.tokenizer = target, tokenizer

    def encode(self, text: str) -> Tensor:
        """Turn a text into ids: -> (T)."""
        with blamed(self.target):
            ids = self.tokenizer.encode(text)
            ids = torch.as_tensor(getattr(ids, "ids", ids)).flatten()
            return ids.long()

    def decode(self, ids: list[int]) -> str:
        """Write ids as a text."""
        with blamed(self.target):
            return str(self.tokenizer.decode(ids))
