"""Checkpoints: what goes in comes out, to the last bit, whole or not at all,
and no code."""

import os
import random
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.helpers.learning import writer
from tests.helpers.project import ROOT
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


def test_a_translator_with_its_words_comes_back_to_the_last_bit(path):
    model, batch = EncoderDecoder(tiny_translator), running_example()
    tokenizers = english_tokenizer(), nepali_tokenizer()
    save_checkpoint(Checkpoint(model, tokenizers, 8, [3.5], [3.25]), path)
    before = torch.get_rng_state()
    kept = load_checkpoint(path)
    assert torch.get_rng_state().equal(before)
    assert kept.model.config == tiny_translator
    assert not any(part.training for part in kept.model.modules())
    logits = kept.model(batch.src, batch.tgt)
    assert logits.equal(model.eval()(batch.src, batch.tgt))
    numbers = kept.block_size, kept.train_losses, kept.val_losses
    assert numbers == (8, [3.5], [3.25])
    for here, there in zip(kept.tokenizers, tokenizers):
        assert type(here) is WordTokenizer
        assert (here.ids, len(here)) == (there.ids, len(there))
    assert kept.tokenizers[0].encode(batch.src_words).equal(batch.src)
    assert kept.tokenizers[1].decode(batch.labels[0]) == "[UNK] खाली थिएन ।"


def test_a_writer_with_its_characters_comes_back_to_the_last_bit(path):
    model, tokenizer = char_writer()
    save_checkpoint(Checkpoint(model, (tokenizer,)), path)
    kept = load_checkpoint(path)
    ids = words(len(tokenizer), 3, 7)
    assert kept.model.config == model.config
    assert kept.model(ids).equal(model.eval()(ids))
    (mine,) = kept.tokenizers
    assert type(mine) is CharTokenizer
    assert mine.encode(TEXT).equal(tokenizer.encode(TEXT))
    assert mine.decode(mine.encode(TEXT)) == TEXT


@pytest.mark.parametrize("kind", [torch.float64, torch.float16])
@pytest.mark.parametrize("preset", ["paper_base", "building_blocks"])
def test_numbers_of_another_type_come_back_in_it(path, kind, preset):
    model = EncoderDecoder(small(preset, tied=True)).to(kind)
    save_checkpoint(Checkpoint(model), path)
    kept = load_checkpoint(path).model
    assert kept.config == model.config
    for name, value in model.state_dict().items():
        assert kept.state_dict()[name].dtype == kind
        assert kept.state_dict()[name].equal(value)
    assert kept.head.weight is kept.tgt_embedding.tokens.weight


def test_source_002s_keys_are_there_with_its_values(path):
    """Its load_model_and_tokenizer reads these, and nothing else."""
    model, tokenizer = char_writer(max_len=64, dropout=0.1)
    saved = Checkpoint(model, (tokenizer,), 32, [2.5, 2.0], [2.25, 2.125])
    save_checkpoint(saved, path)
    packed = torch.load(path, weights_only=True)
    weights, characters = packed.pop("model_state_dict"), sorted(set(TEXT))
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 24}
    sizes |= {"max_seq_len": 64, "dropout": 0.1, "block_size": 32}
    assert dict(list(packed.items())[:6]) == {
        "vocab_size": len(characters),
        "stoi": {c: i for i, c in enumerate(characters)},
        "itos": dict(enumerate(characters)),
        "config": sizes,
        "train_losses": [2.5, 2.0],
        "val_losses": [2.25, 2.125],
    }
    for name, value in model.state_dict().items():
        assert weights[name].equal(value)


class MyWriter(DecoderOnly):
    pass


class MyWords(WordTokenizer):
    pass


class Louder(nn.Linear):
    """A layer of the reader's own."""

    def forward(self, x):
        return 2 * super().forward(x)


def changed(name, part):
    """A model with another part in a place."""
    model = writer()
    model.set_submodule(name, part)
    return model


@pytest.mark.parametrize(
    ("model", "tokenizer", "said"),
    [
        (
            lambda: DecoderOnly(small("char_lm", norm=LayerNorm)),
            None,
            "norm=<class .*LayerNorm'> is of your own",
        ),
        (lambda: MyWriter(small("char_lm")), None, "MyWriter is of your own"),
        (writer, MyWords({}), "MyWords is of your own"),
        (
            lambda: changed("head", Louder(12, 11, bias=False)),
            None,
            "not as its config says, is of your own",
        ),
        (
            lambda: changed("head", nn.Linear(12, 10, bias=False)),
            None,
            "not as its config says, is of your own",
        ),
    ],
)
def test_code_of_the_readers_own_is_refused_before_a_file_is_made(
    tmp_path, model, tokenizer, said
):
    tokenizers = (tokenizer,) if tokenizer else ()
    checkpoint = Checkpoint(model(), tokenizers)
    with pytest.raises(ValueError, match=f"{said}.*state_dict"):
        save_checkpoint(checkpoint, tmp_path / "new" / "model.pt")
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


def test_what_is_no_file_is_left_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    for name in ("pipe", "link", "/dev/full", "."):
        path = tmp_path / name
        with pytest.raises(OSError, match=f"{name} is no file"):
            save_checkpoint(Checkpoint(writer()), path)
        assert not path.is_file()
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path):
    path, link = tmp_path / "new" / "model.pt", tmp_path / "link.pt"
    link.symlink_to(path)
    save_checkpoint(Checkpoint(writer()), link)
    assert link.is_symlink()
    assert load_checkpoint(path).model.config == writer().config


# --- Files that are no checkpoint: one clear error, and nothing is run ----

UNREADABLE = "is damaged, or no checkpoint: it cannot be read. Train again"
FOREIGN = "is no checkpoint of this version of tformer_lite, though PyTorch"


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
    whole = path.read_bytes()
    refused(path, whole[: len(whole) * tenth // 10], UNREADABLE)
    refused(path, whole[: len(whole) * (tenth + 1) // 10 - 1], UNREADABLE)


@pytest.mark.slow
def test_a_bit_that_changed_is_noticed_or_changes_nothing(path):
    model = writer()
    save_checkpoint(Checkpoint(model), path)
    whole, refusals = path.read_bytes(), []
    generator, wanted = random.Random(0), model.state_dict()
    for _ in range(100):
        content = bytearray(whole)
        content[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        path.write_bytes(content)
        try:
            weights = load_checkpoint(path).model.state_dict()
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert all(weights[name].equal(x) for name, x in wanted.items())
    assert len(refusals) > 50
    assert all(message.startswith(str(path)) for message in refusals)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        "नमस्ते\n".encode() * 99,
        bytes(range(256)) * 9,
        (ROOT / "tformer_lite" / "__init__.py").read_bytes(),
    ],
    ids=lambda content: repr(content[:9]),
)
def test_a_file_of_another_kind_cannot_be_read(path, content):
    refused(path, content, UNREADABLE)


@pytest.mark.parametrize(
    "content",
    [
        writer().state_dict(),
        {"model_state_dict": {}, "vocab_size": 3, "stoi": {}},
        {"format": FORMAT - 1},
        {"format": FORMAT + 1},
    ],
    ids=["state_dict", "source 002", "older", "newer"],
)
def test_a_foreign_file_of_pytorchs_is_told_from_a_damaged_one(path, content):
    refused(path, content, FOREIGN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "Block"),
        ("model_config", {"vocab_size": 11, "max_len": 8, "colour": 3}),
        ("model_state_dict", {"head.weight": torch.zeros(11, 12)}),
        ("model_state_dict", [3]),
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
    said = "trap.pt holds code, exec, .* nothing in it was run"
    with pytest.raises(ValueError, match=said):
        load_checkpoint("trap.pt")
    assert not Path("caught").exists()
    torch.load("trap.pt", weights_only=False)
    assert Path("caught").exists(), "the trap works"


def test_a_whole_model_is_code_too(path):
    refused(
        path, writer(), "holds code, tformer_lite.model.models.DecoderOnly"
    )
