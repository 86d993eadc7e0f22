"""Writing checkpoints: whole or not at all, and no code."""

import os
from dataclasses import replace

import pytest
import torch

from tests.helpers.learning import text, trainer, writer
from tests.helpers.small import small
from tformer_lite import (
    Checkpoint,
    DecoderOnly,
    EncoderDecoder,
    LayerNorm,
    WordTokenizer,
    load_checkpoint,
    save_checkpoint,
    tiny_translator,
    train,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


class Shout:
    """Code of the reader's own, which no file keeps."""

    def __init__(self, *_):
        self.ids = {}


class MyWriter(DecoderOnly):
    pass


class MyWords(WordTokenizer):
    pass


@pytest.mark.parametrize(
    ("model", "tokenizer", "said"),
    [
        (
            lambda: DecoderOnly(small("char_lm", norm=LayerNorm)),
            None,
            "norm=<class .*LayerNorm'> is a part of your own.*state_dict",
        ),
        (
            lambda: MyWriter(small("char_lm")),
            None,
            "MyWriter is no class .* use DecoderOnly, EncoderDecoder",
        ),
        (lambda: torch.nn.Linear(2, 2), None, "Linear is no class"),
        (lambda: writer(), MyWords({}), "MyWords is no class .* Word"),
        (lambda: writer(), Shout(), "Shout is no class .* CharTokenizer"),
    ],
)
def test_code_of_the_readers_own_is_refused_before_a_file_is_made(
    tmp_path, model, tokenizer, said
):
    tokenizers = (tokenizer,) if tokenizer else ()
    checkpoint = Checkpoint(model(), tokenizers)
    with pytest.raises(ValueError, match=said):
        save_checkpoint(checkpoint, tmp_path / "new" / "model.pt")
    assert list(tmp_path.iterdir()) == []


def test_training_refuses_such_a_model_before_its_first_step(path):
    one = trainer()
    one.model.config = replace(one.model.config, norm=LayerNorm)
    with pytest.raises(ValueError, match="norm=.* a part of your own"):
        train(one, text(), path=path)
    assert one.step == 0
    assert not path.exists()
    train(one, text())  # without a file it is welcome
    assert one.step == 8


def broken_save(packed, file):
    file.write(b"half a checkpoi")
    raise OSError("No space left on device")


def interrupted_save(packed, file):
    file.write(b"half a checkpoi")
    raise KeyboardInterrupt


def no_replace(*_):
    raise PermissionError("held by another program")


@pytest.mark.parametrize(
    ("module", "name", "failure", "error"),
    [
        (torch, "save", broken_save, OSError),
        (torch, "save", interrupted_save, KeyboardInterrupt),
        (os, "replace", no_replace, PermissionError),
    ],
)
def test_a_failure_while_writing_leaves_the_former_file(
    path, monkeypatch, module, name, failure, error
):
    save_checkpoint(Checkpoint(EncoderDecoder(tiny_translator)), path)
    former = path.read_bytes()
    monkeypatch.setattr(module, name, failure)
    with pytest.raises(error):
        save_checkpoint(Checkpoint(writer()), path)
    assert path.read_bytes() == former
    assert os.listdir(path.parent) == ["model.pt"]


def test_a_new_file_takes_the_place_of_the_former_in_a_new_folder(tmp_path):
    path = tmp_path / "a" / "b" / "model.pt"
    for model in (EncoderDecoder(tiny_translator), writer()):
        save_checkpoint(Checkpoint(model), str(path))
        kept = load_checkpoint(str(path)).model
        assert type(kept) is type(model)
    assert os.listdir(path.parent) == ["model.pt"]
