"""The command `train char`: a model that writes."""

from argparse import Namespace
from unicodedata import normalize

import torch

from tformer_lite.commands.learning.choosing import (
    choose_steps,
    description,
    writer_for,
)
from tformer_lite.commands.learning.course import announce, fit
from tformer_lite.commands.learning.start import (
    new_trainer,
    unfinished_training,
)
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.commands.writing import shortened
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import split_text
from tformer_lite.text.reading import read_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.trainer import Trainer

PROMPT, LENGTH = 20, 100  # characters of a sample: its prompt, the rest


def train_char(args: Namespace) -> None:
    """Train a model that writes character by character. Its size follows
    from the text, and its steps from the time that you give it."""
    with joined_processes(args.device) as device:
        text = read_text(args.path)
        old = unfinished_training(args, "generate")
        trainer = old or new_writer(args, text)
        parts = parts_in(trainer, args.save_path, "generate")
        _, (tokenizer,), size = parts
        data = split_text(tokenizer.encode(text), size, args.train_split)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer, device, f"Loaded corpus with {count}")
        say(description(trainer, choose_steps(trainer, args.given, data[0])))
        fit(trainer, args, *data)
        if processes()[1] == 0:
            prompt = args.demo or text.strip().splitlines()[0][:PROMPT]
            demonstrate(args, prompt, *parts)


def new_writer(args: Namespace, text: str) -> Trainer:
    """Build the model that the options describe, to train it; what they do
    not say, the text does."""
    args.given |= writer_for(int(len(text) * args.train_split), args.given)
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
    config = Config(vocab_size=len(tokenizer), max_len=size)
    return new_trainer(args, DecoderOnly, config, (tokenizer,), size)


def demonstrate(
    args: Namespace, start: str, model: DecoderOnly, words: tuple, size: int
) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    (tokenizer,) = words
    prompt = tokenizer.known(normalize("NFC", start))
    say("\n==== Demo generation ====")
    say(f"Prompt: {start}")
    if not prompt:
        say("None of its characters is in the vocabulary: nothing to write.")
        return
    ids = tokenizer.encode(prompt)[None]
    draw = Sampler(generator=torch.Generator().manual_seed(args.seed))
    ids = generate(shortened(model.cpu(), size), ids, LENGTH, draw)
    say(f"Generated: {tokenizer.decode(ids[0])}")
