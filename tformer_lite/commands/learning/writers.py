"""The command `train char`: a model that writes, of the size and for the
time that suit its text."""

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from typing import Any
from unicodedata import normalize

import torch

from tformer_lite.commands.learning.course import announce, run_training
from tformer_lite.commands.learning.start import (
    heads_for,
    learn_from,
    new_trainer,
    text_for,
    unfinished_training,
)
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import Chunks, Windows, split_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.origin import Origin
from tformer_lite.training.trainer import Trainer

PROMPT_LENGTH = 20  # characters that it goes on from, at most
LENGTH = 100  # characters of the sample in the end
LINE_WIDTH = 60  # columns of the one beside each loss
LONG_TEXT = 50_000  # characters, from which on less care is enough
# From so many characters on: channels, dropout, times through them at most.
TEXT_SIZES = [
    (0, 96, 0.3, 20),
    (10_000, 96, 0.2, 30),
    (LONG_TEXT, 128, 0.1, 20),
    (10 * LONG_TEXT, 128, 0.0, 10),
]
# What all of them have in common, but for those of source 002.
ALWAYS: dict[str, Any] = {
    "num_layers": 3,
    "norm": "rms",
    "activation": "gelu",
    "embedding": "plain",
    "weight_decay": 0.1,
    "patience": 4,
}


def train_char(args: Namespace) -> None:
    """Train a model that writes character by character. The length of the
    text decides its size, and the minutes the steps, unless you do."""
    with joined_processes(args.device) as device:
        old = unfinished_training(args, "generate")
        text, origin = text_for(args, old)
        trainer = old or new_writer(args, text)
        learn_from(trainer, origin)
        args.demo = args.demo or text.strip().split("\n")[0][:PROMPT_LENGTH]
        parts = parts_in(trainer, args.save_path, "generate")
        _, (tokenizer,), size = parts
        check_text_length(len(text), size, origin)
        data, rest = split_text(tokenizer.encode(text), size, origin.share)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer, device, f"Loaded corpus with {count}")
        valid, most = Chunks(rest.ids, size), most_steps(trainer, data)
        sample = partial(sample_lines, args, parts)
        run_training(trainer, args, data, valid, sample, most)
        if processes()[1] == 0:
            demonstrate(args, parts)


# --- What a text asks for -------------------------------------------------


def check_text_length(length: int, size: int, origin: Origin) -> None:
    """Raise ValueError for a text that is too short to train and validate
    on."""
    cut = int(length * origin.share)
    if min(cut, length - cut) <= size:
        raise ValueError(
            f"{origin.path} has {length} characters: --train_split "
            f"{origin.share} leaves {cut} to train on and {length - cut} to "
            f"validate on, and --block_size {size} needs {size + 1} of each. "
            "Bring a longer text, or choose a smaller --block_size."
        )


def new_writer(args: Namespace, text: str) -> Trainer:
    """Build the model that the options describe, to train it; what they do
    not say, the text does."""
    length = int(len(text) * args.train_split)
    args.given = writer_for(length, vars(args))
    vars(args).update(args.given)
    size, positions = args.block_size, args.max_seq_len
    if size > positions:
        raise ValueError(
            f"--block_size {size} is more than --max_seq_len {positions}: a "
            "row of a batch needs a position for each character."
        )
    if size < positions:
        warn(
            f"positions {size} to {positions - 1} are never trained, since "
            f"--block_size is {size}: `generate` leaves them out."
        )
    tokenizer = CharTokenizer(text)
    config = Config(vocab_size=len(tokenizer), max_len=size, bias=False)
    return new_trainer(args, DecoderOnly, config, (tokenizer,), size)


def writer_for(length: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose options of `train char` for a text, around those `given`.

    `length` is the number of characters to train on. The longer the text,
    the larger the model that does not learn it by heart.
    """
    said = {name: x for name, x in given.items() if x is not None}
    _, width, dropout, _ = text_size(length)
    width = said.get("d_model", width)
    rows = said.get("block_size", 64 if length >= 5000 else 32)
    positions = said.get("positions", "rotary")
    choice = {
        "num_heads": heads_for(width),
        "d_model": width,
        "d_ff": 4 * width,
        "dropout": dropout,
        "attention": "split" if positions == "rotary" else "fused",
        "positions": positions,
        "block_size": rows,
        "max_seq_len": rows,
        "batch_size": 12 if length >= LONG_TEXT else 8,
        "lr": 5e-3 if length >= LONG_TEXT else 4e-3,
    }
    always = {} if given.get("as_in_source") else ALWAYS
    return always | choice | said


def text_size(length: int) -> tuple[int, int, float, int]:
    """Find the row of `TEXT_SIZES` for a text."""
    return max(row for row in TEXT_SIZES if row[0] <= length)


def most_steps(trainer: Trainer, data: Windows) -> int:
    """Count the steps that a text is good for."""
    tokens = trainer.recipe.batch_size * data.size
    return text_size(len(data))[-1] * len(data) // tokens


# --- What it writes -------------------------------------------------------


def demonstrate(args: Namespace, parts: tuple) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    say(f"\n==== Demo generation ====\nPrompt: {args.demo}")
    text = sample_text(args, parts, LENGTH)
    none = "None of its characters is in the vocabulary: nothing to write."
    say(f"Generated: {text}" if text else none)


def sample_lines(args: Namespace, parts: tuple) -> list[str]:
    """Let a model write a line that a terminal has room for, and say so."""
    from tqdm.utils import disp_trim  # --help needs torch alone

    text = sample_text(args, parts, LINE_WIDTH, next(iter(parts[1][0].ids)))
    return [f"It writes: {disp_trim(' '.join(text.split()), LINE_WIDTH)}"]


def sample_text(args: Namespace, parts: tuple, n: int, other: str = "") -> str:
    """Let a model write `n` characters after what it knows of the prompt, or
    after another one; "" where there is none."""
    model, (tokenizer,), size = parts
    prompt = tokenizer.known(normalize("NFC", args.demo)) or other
    if not prompt:
        return ""
    device = next(model.parameters()).device
    ids = tokenizer.encode(prompt)[None].to(device)
    numbers = torch.Generator(device).manual_seed(args.seed)
    draw = Sampler(generator=numbers)
    return tokenizer.decode(generate(model, ids, n, draw, window=size)[0])
