"""The command `train char`: a model that writes."""

from argparse import Namespace
from functools import partial
from unicodedata import normalize

import torch
from tqdm.utils import disp_trim

from tformer_lite.commands.learning.choosing import (
    choose_steps,
    description,
    writer_for,
)
from tformer_lite.commands.learning.course import announce, fit
from tformer_lite.commands.learning.data import learn_from, text_for
from tformer_lite.commands.learning.start import (
    new_trainer,
    unfinished_training,
)
from tformer_lite.commands.session import joined_processes, parts_in, say, warn
from tformer_lite.decoding.sampling import Sampler, generate
from tformer_lite.model.config import Config
from tformer_lite.model.models import DecoderOnly
from tformer_lite.text.datasets import Chunks, split_text
from tformer_lite.text.tokenizers import CharTokenizer
from tformer_lite.training.batches import processes
from tformer_lite.training.trainer import Trainer

PROMPT = 20  # characters that it goes on from, at most
LENGTH = 100  # characters of the sample in the end
LINE = 60  # columns of the one beside each loss


def train_char(args: Namespace) -> None:
    """Train a model that writes character by character. The length of the
    text decides its size, and the minutes the steps, unless you do."""
    with joined_processes(args.device) as device:
        old = unfinished_training(args, "generate")
        text, origin = text_for(args, old)
        trainer = old or new_writer(args, text)
        learn_from(trainer, origin)
        args.demo = args.demo or text.strip().split("\n")[0][:PROMPT]
        parts = parts_in(trainer, args.save_path, "generate")
        _, (tokenizer,), size = parts
        ids = tokenizer.encode(text)
        data, rest = split_text(ids, size, origin.share)
        count = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
        announce(trainer, device, f"Loaded corpus with {count}")
        say(description(trainer, choose_steps(trainer, args.given, data)))
        sample = partial(line_of, args, *parts)
        fit(trainer, args, data, Chunks(rest.ids, size), sample)
        if processes()[1] == 0:
            demonstrate(args, *parts)


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


def demonstrate(
    args: Namespace, model: DecoderOnly, tokenizers: tuple, size: int
) -> None:
    """Let a model write a little, after what it knows of the prompt."""
    (tokenizer,) = tokenizers
    prompt = tokenizer.known(normalize("NFC", args.demo))
    say("\n==== Demo generation ====")
    say(f"Prompt: {args.demo}")
    if not prompt:
        say("None of its characters is in the vocabulary: nothing to write.")
        return
    text = written(model, tokenizer, size, prompt, LENGTH, args.seed)
    say(f"Generated: {text}")


def line_of(
    args: Namespace, model: DecoderOnly, tokenizers: tuple, size: int
) -> list[str]:
    """Let a model write a line that a terminal has room for, and say so."""
    (tokenizer,) = tokenizers
    prompt = tokenizer.known(normalize("NFC", args.demo))
    prompt = prompt or tokenizer.decode(torch.tensor([0]))
    text = written(model, tokenizer, size, prompt, LINE, args.seed)
    return [f"It writes: {disp_trim(' '.join(text.split()), LINE)}"]


def written(
    model: DecoderOnly,
    tokenizer: CharTokenizer,
    size: int,
    prompt: str,
    n: int,
    seed: int,
) -> str:
    """Let a model write `n` characters after a prompt."""
    device = next(model.parameters()).device
    ids = tokenizer.encode(prompt)[None].to(device)
    draw = Sampler(generator=torch.Generator(device).manual_seed(seed))
    return tokenizer.decode(generate(model, ids, n, draw, window=size)[0])
