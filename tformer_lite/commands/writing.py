"""The command `generate`: a model writes."""

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any
from unicodedata import normalize

import torch
from torch import Tensor, nn

from tformer_lite.commands.foreign import own_model
from tformer_lite.commands.session import parts_in, say, warn
from tformer_lite.commands.typed import (
    asked,
    at_terminal,
    brief,
    check_readable,
    known_words,
    lines_asked,
    lines_typed,
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

DRAWING = "temperature", "top_k", "top_p", "seed"
BEFORE = 8  # tokens before one, which tell how it is written
PART = "\ufffd"  # what stands for a part of a character


def write(args: Namespace) -> None:
    """Write more of a text, with a model of `train char` or one of your
    own; each character appears as soon as it is written."""
    model, tokenizer, size = own_parts(args) if args.model else kept(args)
    window, choose = window_of(args, model, size), choice(args)
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
            show(texts(ids.tolist(), map(int, new), tokenizer.decode))


def kept(args: Namespace) -> tuple[DecoderOnly, Any, int]:
    """Load a model, its tokenizer, and how much it was trained to read."""
    parts = parts_in(load_checkpoint(args.ckpt), args.ckpt, "generate")
    model, (tokenizer,), size = parts
    return model, tokenizer, size


def own_parts(args: Namespace) -> tuple[nn.Module, Any, None]:
    """Make the reader's own model and tokenizer."""
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


def choice(args: Namespace) -> Callable[[Tensor], Tensor]:
    """Make what chooses each token: the likeliest, or one that is drawn."""
    if args.greedy:
        if useless := [name for name in DRAWING if name in args.given]:
            raise ValueError(
                f"--greedy takes the likeliest each time, and draws nothing: "
                f"leave out --{useless[0]}."
            )
        return likeliest
    numbers = torch.Generator()
    numbers.seed() if args.seed is None else numbers.manual_seed(args.seed)
    return Sampler(args.temperature, args.top_k, args.top_p, numbers)


def prompts(args: Namespace) -> Iterable[str]:
    """Give the prompt, and all that somebody types; without any, ask."""
    given = [] if args.prompt is None else [args.prompt]
    if args.interactive:
        return chain(given, lines_asked("prompt> "))
    return given or [typed_prompt()]


def typed_prompt() -> str:
    """Ask for a prompt, or read it when nobody is there to be asked."""
    ask = at_terminal()
    line = asked("Enter prompt text: ") if ask else next(lines_typed(), "")
    if not line:
        raise ValueError("there is no prompt: give one, in quotes.")
    return line


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
    if known and unknown:
        names = ", ".join(map(repr, unknown))
        warn(f"Not in the vocabulary, and left out: {names}")
    if not known:
        raise ValueError(
            f"no character of the prompt {brief(prompt)} is in the "
            f"vocabulary: {''.join(tokenizer.ids)!r}"
        )
    return tokenizer.encode(known)


def texts(
    prompt: list[int], new: Iterator[int], decode: Callable[[list[int]], str]
) -> Iterator[str]:
    """Write a prompt, and then each token as soon as its text is whole."""
    yield decode(prompt)
    tail = prompt[-BEFORE:]
    before = decode(tail)
    for token in new:
        tail.append(token)
        now = decode(tail)
        if not now.endswith(PART):
            yield now[len(before) :]
            tail = tail[-BEFORE:]
            before = decode(tail)
    yield decode(tail)[len(before) :]


def show(parts: Iterable[str]) -> None:
    """Print a text, each part of it at once."""
    try:
        for part in parts:
            print(part, end="", flush=True)
    finally:
        print(flush=True)
