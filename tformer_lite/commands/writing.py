"""The command `generate`: a model writes."""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from unicodedata import normalize

import torch
from torch import Tensor

from tformer_lite.commands.session import (
    check_readable,
    known_words,
    lines_typed,
    parts_in,
    say,
    warn,
)
from tformer_lite.decoding.sampling import Sampler, stream
from tformer_lite.text.reading import brief
from tformer_lite.text.tokenizers import EOS, CharTokenizer, WordTokenizer
from tformer_lite.training.checkpoints import Tokenizer, load_checkpoint

TAIL = 8  # tokens before one, which tell how it is written
GIVES = "a factory gives (model, tokenizer)"


def write(args: Namespace) -> int:
    """Write more of a text, with a model of `train char`; each character
    appears as soon as it is written. Without a prompt, the lines of stdin
    are prompts. One that cannot be read makes the exit code 2."""
    parts = parts_in(load_checkpoint(args.ckpt), args.ckpt, "generate")
    (model, (tokenizer,), size), code = parts, 0
    numbers = torch.Generator()
    numbers.seed() if args.seed is None else numbers.manual_seed(args.seed)
    draw = Sampler(args.temperature, args.top_k, args.top_p, numbers)
    end = EOS if isinstance(tokenizer, WordTokenizer) else None
    for prompt in prompts(args):
        try:
            ids = prompt_ids(prompt, tokenizer)
        except ValueError as error:
            warn(f"tformer_lite: {error}")
            code = 2
            continue
        for number in range(1, args.num_samples + 1):
            if args.num_samples > 1:
                say(f"---- Sample {number} ----")
            n = args.max_new_tokens
            new = stream(model, ids[None], n, draw, end, size)
            try:
                for part in texts(ids.tolist(), map(int, new), tokenizer):
                    print(part, end="", flush=True)
            finally:
                print(flush=True)
    return code


def prompts(args: Namespace) -> Iterator[str]:
    """Give the prompt, or each that somebody types."""
    if args.prompt is not None:
        yield args.prompt
        return
    typed = filter(None, lines_typed("prompt> "))
    if (first := next(typed, None)) is None:
        raise ValueError("there is no prompt: give one, in quotes.")
    yield first
    yield from typed


def prompt_ids(prompt: str, tokenizer: Tokenizer) -> Tensor:
    """Look up a prompt: -> (T); warn of each word, or character, that has no
    id. ValueError where nothing is left."""
    check_readable(prompt)
    if isinstance(tokenizer, CharTokenizer):
        return known_ids(prompt, tokenizer)
    words, unknown = known_words(prompt, tokenizer)
    if not words:
        raise ValueError(f"the prompt {brief(prompt)} has no word: give one.")
    if unknown:
        names = ", ".join(map(brief, unknown))
        warn(f"Not in the vocabulary, and read as [UNK]: {names}")
    return tokenizer.encode([words])[0]


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
    prompt: list[int], new: Iterable[int], tokenizer: Tokenizer
) -> Iterator[str]:
    """Write a prompt, and then each token, with the space before it."""
    decode = tokenizer.decode
    yield decode(prompt)
    tail = prompt[-TAIL:]
    for token in new:
        yield decode([*tail, token])[len(decode(tail)) :]
        tail = [*tail, token][-TAIL:]
