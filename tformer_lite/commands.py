"""What `python -m tformer_lite` does: to train, and to write."""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import torch
from tqdm import tqdm

from tformer_lite import public as lite
from tformer_lite.example.running import seeded_model
from tformer_lite.training.batches import Data
from tformer_lite.training.checkpoints import newest_path
from tformer_lite.training.options import (
    AS_IN_SOURCE,
    Options,
    recipe_for,
    size_for,
    with_options,
    writer_for,
)

# --- To train -------------------------------------------------------------


def train_char(args: Namespace) -> None:
    """Train a model that writes; the text decides what is not typed."""
    text, share = lite.read_text(args.file), 0.8 if args.as_in_source else 0.9
    length = int(len(text) * share)
    typed = {name: x for name, x in vars(args).items() if x is not None}
    usual = AS_IN_SOURCE if args.as_in_source else writer_for(length, typed)
    options = usual | typed
    start = earlier_checkpoint(args) or new_writer(options, text)
    tokenizer, size = start.tokenizers[0], start.block_size or 0
    data, rest = lite.split_text(tokenizer.encode(text), size, share)
    letters = f"{len(text):,} characters, vocab size = {len(tokenizer)}"
    print(f"Loaded corpus with {letters}")
    rows = size_for(length)[-1] * length // size
    recipe = recipe_for(options, len(data), rows)
    valid = lite.Chunks(rest.ids, size)
    trainer = trainer_for(args, start, recipe)
    best = best_of_training(trainer, Path(args.save_path), data, valid)
    prompt = "amar" if args.as_in_source else text.split("\n")[0][:20]
    print(f"\n==== Demo generation ====\nPrompt: {prompt}")
    if tokenizer.known(prompt):
        print(f"Generated: {text_after(best, prompt, 100, lite.Sampler())}")


def new_writer(options: Options, text: str) -> lite.Checkpoint:
    """Build the model that options describe, for the letters of a text."""
    tokenizer, size = lite.CharTokenizer(text), options["block_size"]
    usual = lite.Config(vocab_size=1, max_len=size, bias=False)
    base = lite.char_lm if options["as_in_source"] else usual
    config = with_options(replace(base, vocab_size=len(tokenizer)), options)
    if size > config.max_len:
        raise ValueError(
            f"--block_size {size} is more than --max_seq_len {config.max_len}:"
            " a row of a batch needs a position for each character."
        )
    model = seeded_model(lite.DecoderOnly, config, 0)
    return lite.Checkpoint(model, (tokenizer,), size)


def earlier_checkpoint(args: Namespace) -> lite.Checkpoint | None:
    """Read the newest weights of --save_path for --resume. Raises ValueError
    where a training would write over the file that it reads, and
    FileExistsError where over another one."""
    save = Path(args.save_path)
    if save.is_dir():
        raise ValueError(f"--save_path {save} is a folder: name a file.")
    newest = newest_path(save)
    for path in save, newest, curve_path(save):
        if path.exists() and path.samefile(args.file):
            raise ValueError(
                f"--save_path {save} would write over {args.file}, which is "
                "read: choose another name."
            )
    if args.resume:
        return checkpoint_of(str(newest))
    if save.exists() and not args.force:
        raise FileExistsError(
            f"{save} is there already: --resume goes on from it, --force "
            "trains from the start and replaces it."
        )
    return None


def curve_path(save: Path) -> Path:
    """Name the picture of both losses, beside the checkpoint."""
    return save.with_name(f"{save.stem}_loss_curve.png")


def trainer_for(
    args: Namespace, start: lite.Checkpoint, recipe: lite.Recipe
) -> lite.Trainer:
    """Let a model learn from a recipe; with --resume it knows what was best,
    and no patience ends it."""
    usual = "cuda" if torch.cuda.is_available() else "cpu"
    model = start.model.to(device := args.device or usual)
    count = sum(p.numel() for p in model.parameters())
    print(f"Using device: {device}\nModel parameters: {count:,}")
    trainer = lite.Trainer(model, recipe, start.tokenizers, start.block_size)
    if args.resume:
        best = checkpoint_of(args.save_path)
        trainer.best = best.model
        trainer.recipe = replace(recipe, patience=None)
        trainer.train_losses = best.train_losses
        trainer.val_losses = best.val_losses
    return trainer


def best_of_training(
    trainer: lite.Trainer, save: Path, data: Data, valid: Data
) -> lite.Checkpoint:
    """Train, show the losses, save both checkpoints and the curve, and give
    the best weights."""
    try:
        lite.train(trainer, data, valid, save, sys.stderr.isatty(), say_losses)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"stopped at step {trainer.step} of {trainer.recipe.steps}; "
            f"{save} has the best weights, --resume goes on"
        ) from None
    print(f"Model saved to {save}, the newest weights to {newest_path(save)}")
    draw_losses(trainer, curve_path(save))
    return lite.load_checkpoint(save)


def say_losses(trainer: lite.Trainer) -> None:
    """Print the losses of the last note, above the progress bar."""
    loss = trainer.val_losses[-1]
    tqdm.write(
        f"Step {trainer.step}/{trainer.recipe.steps}: "
        f"train_loss={trainer.train_losses[-1]:.4f}, val_loss={loss:.4f}, "
        f"perplexity={lite.perplexity(loss):.2f}"
    )


def draw_losses(trainer: lite.Trainer, path: Path) -> None:
    """Save the curves of both losses."""
    losses, every = trainer.train_losses, trainer.recipe.every
    picture = lite.curves(
        torch.tensor(losses),
        torch.tensor(trainer.val_losses),
        axis="step",
        titles=["Training", "Validation"],
        places=range(every, every * len(losses) + 1, every),
        heads=["Training and validation loss\nnats a token"],
    )
    picture.figures[0].savefig(path, dpi=150)
    print(f"Loss curve saved to {path}")


# --- To use a model -------------------------------------------------------


def checkpoint_of(path: str) -> lite.Checkpoint:
    """Read a checkpoint; ValueError for one of another kind of model, or
    without its vocabulary."""
    saved = lite.load_checkpoint(path)
    if type(saved.model) is not lite.DecoderOnly or not saved.tokenizers:
        raise ValueError(
            f"{path} is not a checkpoint of `train char`: one is needed."
        )
    return saved


def write_texts(args: Namespace) -> None:
    """Write more of a text, some times."""
    saved = checkpoint_of(args.ckpt)
    draw = lite.Sampler(args.temperature, args.top_k)
    prompt = args.prompt or input("Enter prompt text: ")
    for number in range(1, args.num_samples + 1):
        if args.num_samples > 1:
            print(f"---- Sample {number} ----")
        print(text_after(saved, prompt, args.max_new_tokens, draw))


def text_after(
    saved: lite.Checkpoint, prompt: str, n: int, draw: lite.Sampler
) -> str:
    """Write `n` characters after those of a prompt that have an id."""
    tokenizer, prompt = saved.tokenizers[0], normalize("NFC", prompt)
    known = tokenizer.known(prompt)
    if not known:
        raise ValueError(f"no character of {prompt!r} is in the vocabulary.")
    if unknown := {*prompt} - {*known}:
        left_out = f"not in the vocabulary, and left out: {sorted(unknown)}"
        print(f"tformer_lite: {left_out}", file=sys.stderr)
    ids = tokenizer.encode(known)[None]
    row = lite.generate(saved.model, ids, n, draw, window=saved.block_size)
    return tokenizer.decode(row[0])


FUNCTIONS = {"train char": train_char, "generate": write_texts}
