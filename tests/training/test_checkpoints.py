"""Checkpoints: what goes in comes out, to the last bit, whole or not at all,
and no code."""

import os
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.helpers.learning import writer
from tests.helpers.small import small, words
from tformer_lite import (
    CharTokenizer,
    Checkpoint,
    DecoderOnly,
    EncoderDecoder,
    LayerNorm,
    WordTokenizer,
    english_tokenizer,
    load_checkpoint,
    nepali_tokenizer,
    running_example,
    save_checkpoint,
    tiny_translator,
)
from tformer_lite.training.checkpoints import FORMAT

TEXT = "amar sonar bangla, ami tomay bhalobashi"


def char_writer(**changes):
    torch.manual_seed(0)
    tokenizer = CharTokenizer(TEXT)
    config = small("char_lm", vocab_size=len(tokenizer), **changes)
    return DecoderOnly(config), tokenizer


def translator() -> tuple:
    """The running model with its words, and inputs for it."""
    tokenizers = english_tokenizer(), nepali_tokenizer()
    return EncoderDecoder(tiny_translator), tokenizers, running_example()[:2]


def small_writer() -> tuple:
    """A model with its characters, and inputs for it."""
    model, tokenizer = char_writer()
    return model, (tokenizer,), (words(len(tokenizer), 3, 7),)


def of_type(preset: str, kind: torch.dtype) -> tuple:
    """A model with tied weights that are numbers of another type."""
    model = EncoderDecoder(small(preset, tied=True)).to(kind)
    return model, (), (words(10, 2, 5), words(11, 2, 4))


@pytest.mark.parametrize(
    "build",
    [
        translator,
        small_writer,
        *(
            partial(of_type, preset, kind)
            for preset in ("paper_base", "building_blocks")
            for kind in (torch.float64, torch.float16)
        ),
    ],
)
def test_a_model_with_its_tokenizers_comes_back_to_the_last_bit(path, build):
    model, tokenizers, inputs = build()
    save_checkpoint(Checkpoint(model, tokenizers, 8, [3.5], [3.25]), path)
    before = torch.get_rng_state()
    kept = load_checkpoint(path)
    assert torch.get_rng_state().equal(before)
    assert kept.model.config == model.config
    assert not any(part.training for part in kept.model.modules())
    assert kept.model(*inputs).equal(model.eval()(*inputs))
    numbers = kept.block_size, kept.train_losses, kept.val_losses
    assert numbers == (8, [3.5], [3.25])
    assert len(kept.tokenizers) == len(tokenizers)
    for here, there in zip(kept.tokenizers, tokenizers):
        assert type(here) is type(there)
        assert (here.ids, len(here)) == (there.ids, len(there))
    for name, value in model.state_dict().items():
        assert kept.model.state_dict()[name].dtype == value.dtype
        assert kept.model.state_dict()[name].equal(value)
    if model.config.tied:
        embedding = kept.model.tgt_embedding.tokens
        assert kept.model.head.weight is embedding.weight


def test_source_002s_keys_are_there_with_its_values(path):
    """Its load_model_and_tokenizer reads these, and nothing else."""
    model, tokenizer = char_writer(max_len=64, dropout=0.1)
    saved = Checkpoint(model, (tokenizer,), 32, [2.5, 2.0], [2.25, 2.125])
    save_checkpoint(saved, path)
    packed = torch.load(path, weights_only=True)
    characters = sorted(set(TEXT))
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 24}
    sizes |= {"max_seq_len": 64, "dropout": 0.1, "block_size": 32}
    wanted = {
        "vocab_size": len(characters),
        "stoi": {c: i for i, c in enumerate(characters)},
        "itos": dict(enumerate(characters)),
        "config": sizes,
        "train_losses": [2.5, 2.0],
        "val_losses": [2.25, 2.125],
    }
    assert packed | wanted == packed
    for name, value in model.state_dict().items():
        assert packed["model_state_dict"][name].equal(value)


class MyWriter(DecoderOnly): ...


class MyWords(WordTokenizer): ...


class Louder(nn.Linear): ...


def with_head(head: nn.Module) -> DecoderOnly:
    """A model with another part in a place."""
    model = writer()
    model.head = head
    return model


UNLIKE = "not as its config says, is your own"
OWN = [
    (
        lambda: Checkpoint(DecoderOnly(small("char_lm", norm=LayerNorm))),
        "norm=<class .*LayerNorm'> is your own",
    ),
    (lambda: Checkpoint(MyWriter(small("char_lm"))), "MyWriter is your own"),
    (lambda: Checkpoint(writer(), (MyWords({}),)), "MyWords is your own"),
    (lambda: Checkpoint(with_head(Louder(12, 11, bias=False))), UNLIKE),
]


@pytest.mark.parametrize(("checkpoint", "said"), OWN)
def test_code_of_the_readers_own_is_refused_before_a_file_is_made(
    tmp_path, checkpoint, said
):
    with pytest.raises(ValueError, match=f"{said}.*state_dict"):
        save_checkpoint(checkpoint(), tmp_path / "new" / "model.pt")
    assert list(tmp_path.iterdir()) == []


# --- Whole, or not at all -------------------------------------------------


def failing(error):
    """A call that writes half of what it should, where it can."""

    def fail(_, target):
        if not target.exists():
            target.write_bytes(b"half a checkpoi")
        raise error

    return fail


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [
        (torch, "save", OSError),
        (torch, "save", KeyboardInterrupt),
        (os, "replace", PermissionError),
    ],
)
def test_a_failure_while_writing_leaves_the_former_file(
    path, monkeypatch, module, name, error
):
    save_checkpoint(Checkpoint(EncoderDecoder(tiny_translator)), path)
    former = path.read_bytes()
    monkeypatch.setattr(module, name, failing(error))
    with pytest.raises(error):
        save_checkpoint(Checkpoint(writer()), path)
    assert path.read_bytes() == former
    assert os.listdir(path.parent) == ["model.pt"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError, match="is not a file: a checkpoint needs one"):
        save_checkpoint(Checkpoint(writer()), tmp_path)


# --- Files that are no checkpoint: one clear error, and nothing is run ----

UNREADABLE = "is damaged, or not a checkpoint: it cannot be read. Train again"
FOREIGN = "is not a checkpoint of this version of tformer_lite"


def refused(path, content, said):
    """A file of that content gets one error, with the name as given."""
    if isinstance(content, bytes):
        Path(path).write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} {said}"):
        load_checkpoint(path)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_a_file_cut_off_anywhere_is_damaged(path, tenth):
    save_checkpoint(Checkpoint(writer()), path)
    data = path.read_bytes()
    refused(path, data[: len(data) * tenth // 10], UNREADABLE)
    refused(path, data[: len(data) * (tenth + 1) // 10 - 1], UNREADABLE)


CODE = "holds code, tformer_lite.model.models.DecoderOnly"
FILES = {
    "nothing": (b"", UNREADABLE),
    "text": ("नमस्ते\n".encode() * 99, UNREADABLE),
    "state_dict": (writer().state_dict(), FOREIGN),
    "source 002": (
        {"model_state_dict": {}, "vocab_size": 3, "stoi": {}},
        FOREIGN,
    ),
    "newer": ({"format": FORMAT + 1}, FOREIGN),
    "a whole model": (writer(), CODE),
}


@pytest.mark.parametrize(("content", "said"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_checkpoint_is_refused(path, content, said):
    """One of PyTorch's is told from one that cannot be read."""
    refused(path, content, said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "Block"),
        ("model_config", {"vocab_size": 11, "max_len": 8, "colour": 3}),
        ("model_state_dict", {"head.weight": torch.zeros(11, 12)}),
        ("tokenizers", [("Words", {})]),
    ],
)
def test_a_checkpoint_that_contradicts_itself_is_damaged(path, key, value):
    save_checkpoint(Checkpoint(writer()), path)
    packed = torch.load(path, weights_only=True)
    refused(path, packed | {key: value}, UNREADABLE)


def test_where_there_is_no_file_training_is_what_to_do(path):
    for name in (path, path.parent):
        said = f"no checkpoint {re.escape(str(name))}: train first"
        with pytest.raises(FileNotFoundError, match=said):
            load_checkpoint(name)


class Trap:
    """A pickle that runs a command where it is unpickled."""

    def __reduce__(self):
        return exec, ("open('caught', 'w').close()",)


@pytest.mark.parametrize("old", [False, True])
def test_code_in_a_file_is_named_and_not_run(tmp_path, monkeypatch, old):
    monkeypatch.chdir(tmp_path)
    packed = {"format": FORMAT, "model": Trap()}
    torch.save(packed, "trap.pt", _use_new_zipfile_serialization=not old)
    said = "trap.pt holds code, exec, .* none of it was run"
    with pytest.raises(ValueError, match=said):
        load_checkpoint("trap.pt")
    assert not Path("caught").exists()
    torch.load("trap.pt", weights_only=False)
    assert Path("caught").exists(), "the trap works"
