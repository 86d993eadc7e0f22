"""The command `generate`: a model writes, ours or the reader's own."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any
from unicodedata import normalize

import torch
from torch import Tensor, nn

from shapewatch.commands.checking import call_factory, error_with_line
from tformer_lite.commands.session import (
    ask_line,
    at_terminal,
    brief,
    check_readable,
    known_words,
    lines_asked,
    lines_typed,
    parts_in,
    say,
    warn,
)
from tformer_lite.decoding.sampling import (
    Sampler,
    likeliest,
    positions_of,
    stream,
)
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.tokenizers import EOS, CharTokenizer, WordTokenizer
from tformer_lite.training.checkpoints import load_checkpoint

DRAW_OPTIONS = "temperature", "top_k", "top_p", "seed"
TAIL = 8  # tokens before one, which tell how it is written
PART_OF_CHARACTER = "\ufffd"
GIVES = "a factory gives (model, tokenizer)"


def write(args: Namespace) -> None:
    """Write more of a text, with a model of `train char` or one of your
    own; each character appears as soon as it is written."""
    model, tokenizer, size = writer_of(args)
    window, choose = window_of(args, model, size), chooser(args)
    end = EOS if isinstance(tokenizer, WordTokenizer) else None
    for prompt in prompts(args):
        try:
            ids = prompt_ids(prompt, tokenizer)
        except ValueError as error:
            if not args.interactive:
                raise
            warn(f"tformer_lite: {error}")
            continue
        row, n = ids[None], args.max_new_tokens
        for number in range(1, args.num_samples + 1):
            if args.num_samples > 1:
                say(f"---- Sample {number} ----")
            new = stream(model, row, n, choose, end, window)
            try:
                for part in texts(ids.tolist(), map(int, new), tokenizer):
                    print(part, end="", flush=True)
            finally:
                print(flush=True)


def writer_of(args: Namespace) -> tuple[nn.Module, Any, int | None]:
    """Load a model, its tokenizer, and how much it was trained to read; or
    make the reader's own."""
    if not args.model:
        parts = parts_in(load_checkpoint(args.ckpt), args.ckpt, "generate")
        model, (tokenizer,), size = parts
        return model, tokenizer, size
    if "ckpt" in args.given:
        raise ValueError(
            f"--model {args.model} and --ckpt {args.ckpt} are two models: "
            "give one."
        )
    return *own_model(args.model), None


def window_of(
    args: Namespace, model: nn.Module, size: int | None
) -> int | None:
    """Give how many tokens are read at a time: positions that were never
    trained say nothing. ValueError for more than there are."""
    positions = positions_of(model)
    if args.context and 0 < positions < args.context:
        raise ValueError(
            f"--context {args.context}: the model has {positions} positions, "
            "and reads no more characters at a time."
        )
    return args.context or size


def chooser(args: Namespace) -> Callable[[Tensor], Tensor]:
    """Make what chooses each token: the likeliest, or one that is drawn."""
    if args.greedy:
        if useless := [name for name in DRAW_OPTIONS if name in args.given]:
            raise ValueError(
                f"--greedy takes the likeliest each time, and draws nothing: "
                f"leave out --{useless[0]}."
            )
        return likeliest
    numbers = torch.Generator()
    numbers.seed() if args.seed is None else numbers.manual_seed(args.seed)
    return Sampler(args.temperature, args.top_k, args.top_p, numbers)


def prompts(args: Namespace) -> Iterable[str]:
    """Give the prompt, and all that somebody types; without any, ask, or
    read it when nobody is there to be asked."""
    given = [] if args.prompt is None else [args.prompt]
    if args.interactive:
        return chain(given, lines_asked("prompt> "))
    if given:
        return given
    if at_terminal():
        line = ask_line("Enter prompt text: ")
    else:
        line = next(lines_typed(), "")
    if not line:
        raise ValueError("there is no prompt: give one, in quotes.")
    return [line]


def prompt_ids(prompt: str, tokenizer: Any) -> Tensor:
    """Look up a prompt: -> (T); warn of each word, or character, that has no
    id. ValueError where nothing is left."""
    check_readable(prompt)
    if isinstance(tokenizer, CharTokenizer):
        return known_ids(prompt, tokenizer)
    if isinstance(tokenizer, WordTokenizer):
        words, unknown = known_words(prompt, tokenizer)
        if unknown:
            names = ", ".join(map(brief, unknown))
            warn(f"Not in the vocabulary, and read as [UNK]: {names}")
        ids = tokenizer.encode([words])[0]
    else:
        ids = tokenizer.encode(prompt)
    if not len(ids):
        raise ValueError(f"the prompt {brief(prompt)} has no word: give one.")
    return ids


def known_ids(prompt: str, tokenizer: CharTokenizer) -> Tensor:
    """Look up a prompt's characters: -> (T)."""
    prompt = normalize("NFC", prompt)  # as training texts are
    known = tokenizer.known(prompt)
    unknown = [x for x in dict.fromkeys(prompt) if x not in known]
    if not known:
        raise ValueError(
            f"no character of the prompt {brief(prompt)} is in the "
            f"vocabulary: {''.join(tokenizer.ids)!r}"
        )
    if unknown:
        names = ", ".join(map(repr, unknown))
        warn(f"Not in the vocabulary, and left out: {names}")
    return tokenizer.encode(known)


def texts(
    prompt: list[int], new: Iterator[int], tokenizer: Any
) -> Iterator[str]:
    """Write a prompt, and then each token as soon as its text is whole."""
    decode = tokenizer.decode
    yield decode(prompt)
    tail = prompt[-TAIL:]
    before = decode(tail)
    for token in new:
        tail.append(token)
        now = decode(tail)
        if not now.endswith(PART_OF_CHARACTER):
            yield now[len(before) :]
            tail = tail[-TAIL:]
            before = decode(tail)
    yield decode(tail)[len(before) :]


# --- Models and tokenizers of the reader's own ----------------------------


def own_model(target: str) -> tuple[nn.Module, Any]:
    """Call a factory: a model that writes, and its tokenizer."""
    model, parts = call_factory(target, GIVES)
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
def blaming_factory(target: str, hint: str = "") -> Iterator[None]:
    """Make one line of whatever goes wrong in code of the reader's."""
    try:
        yield
    except Exception as error:
        line = f"{target} fails: {error_with_line(error)}{hint}"
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
        with blaming_factory(self.target, hint):
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
        with blaming_factory(self.target):
            ids = self.tokenizer.encode(text)
            return torch.as_tensor(getattr(ids, "ids", ids)).flatten().long()

    def decode(self, ids: list[int]) -> str:
        """Write ids as a text."""
        with blaming_factory(self.target):
            return str(self.tokenizer.decode(ids))
