"""Checkpoints: what goes in comes out, to the last bit, whole or not at all,
and no code."""

import os
import re
import stat
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.helpers.learning import RECIPE, Cut, equal, text, writer
from tests.helpers.small import build, small, words
from tformer_lite import (
    CharTokenizer,
    Checkpoint,
    DecoderOnly,
    EncoderDecoder,
    LayerNorm,
    Trainer,
    WordTokenizer,
    english_tokenizer,
    load_checkpoint,
    nepali_tokenizer,
    resume,
    running_example,
    save_checkpoint,
    tiny_translator,
    train,
)
from tformer_lite.training.checkpoints import pack
from tformer_lite.training.files import check_place
from tformer_lite.training.weights import OLD_CHOICES

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
    kept = load_checkpoint(path)
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


def test_source_002s_keys_are_there_with_its_values(path):
    """Its load_model_and_tokenizer reads these, and nothing else."""
    model, tokenizer = char_writer(max_len=64, dropout=0.1)
    saved = Checkpoint(model, (tokenizer,), 32, [2.5, 2.0], [2.25, 2.125])
    save_checkpoint(saved, path)
    found = torch.load(path, weights_only=True)
    weights, characters = found.pop("model_state_dict"), sorted(set(TEXT))
    sizes = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 24}
    sizes |= {"max_seq_len": 64, "dropout": 0.1, "block_size": 32}
    assert dict(list(found.items())[:6]) == {
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
        (lambda: writer(), MyWords({}), "MyWords is no class .* Word"),
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


def failing(error):
    """A call that writes half of what it should, where it can."""

    def fail(_, target):
        if hasattr(target, "write"):
            target.write(b"half a checkpoi")
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


DATA = text()


def coder():
    torch.manual_seed(0)
    return EncoderDecoder(small("paper_base"))


def ones(model) -> set[tuple[str, ...]]:
    """The names that lead to one weight, in groups."""
    named = {}
    for name, weight in model.named_parameters(remove_duplicate=False):
        named.setdefault(id(weight), []).append(name)
    return {tuple(names) for names in named.values()}


def numbers(model) -> dict:
    """All tensors of a model, by name."""
    return dict(chain(model.named_parameters(), model.named_buffers()))


def alike(one, other) -> bool:
    """Whether two models have equal numbers, of equal types."""
    mine, theirs = numbers(one), numbers(other)
    return mine.keys() == theirs.keys() and all(
        x.equal(theirs[name])
        and x.dtype == theirs[name].dtype
        and x.requires_grad == theirs[name].requires_grad
        for name, x in mine.items()
    )


def head(model):
    model.head.weight = model.embedding.tokens.weight


def blocks(model):
    """Two blocks, one feed-forward layer."""
    first, second = model.decoder.blocks
    second.feed_forward = first.feed_forward


def biases(model):
    for part in model.modules():
        if isinstance(part, nn.LayerNorm):
            part.bias = model.decoder.norm.bias


@pytest.mark.slow
@pytest.mark.parametrize("tie", [head, blocks, biases])
@pytest.mark.parametrize("patience", [None, 2])
def test_what_was_one_weight_is_one_again_and_learns_as_one(
    path, tie, patience
):
    """Press and Wolf (2017): the head reads the table of the tokens."""

    def begun():
        model = writer()
        tie(model)
        return Trainer(model, replace(RECIPE, patience=patience))

    one, straight = begun(), begun()
    with pytest.raises(KeyboardInterrupt):
        train(one, Cut(5), DATA, path)
    assert len(ones(one.model)) < len(one.model.state_dict())
    assert ones(load_checkpoint(path).model) == ones(one.model)
    two = resume(path)
    assert ones(two.model) == ones(two.best) == ones(one.model)
    train(two, DATA, DATA)
    train(straight, DATA, DATA)
    assert equal(two, straight)


def test_weights_in_one_place_that_are_two_stay_two(path):
    """Slices of one tensor, and one memory for two weights of one shape: the
    optimizer has numbers for each."""
    model = writer()
    first, second = model.decoder.blocks
    both = torch.randn(24, 12)
    first.self_attention.query.weight.data = both[:12]
    second.self_attention.query.weight.data = both[12:]
    first.self_attention.key.weight.data = both[12:]
    one = Trainer(model, replace(RECIPE, steps=2))
    train(one, DATA, path=path)
    two = resume(path, steps=3)
    assert ones(two.model) == ones(model)
    assert alike(two.model, model)
    train(two, DATA)


def test_a_file_of_the_first_format_ties_what_lies_in_one_place(path):
    """They had no list: the witness is a file as it was written then."""
    model = writer()
    head(model)
    save_checkpoint(Checkpoint(model), path)
    packed = torch.load(path, weights_only=True)
    new = packed.pop("buffers"), packed.pop("tied")
    torch.save(packed | {"format": 1}, path)
    assert new == ({}, [["embedding.tokens.weight", "head.weight"]])
    kept = load_checkpoint(path).model
    assert ones(kept) == ones(model)
    assert alike(kept, model.eval())


TYPES = [torch.float64, torch.bfloat16, torch.float16, torch.float32]


@pytest.mark.parametrize("model", [coder, writer])
def test_each_number_comes_back_in_its_own_type(path, model):
    """A type for each weight and each table, in turn."""
    model = model()
    for i, x in enumerate(numbers(model).values()):
        x.data = x.data.to(TYPES[i % 4])
    save_checkpoint(Checkpoint(model), path)
    assert alike(load_checkpoint(path).model, model)


class Louder(nn.Linear):
    """A layer of the reader's own."""

    def forward(self, x):
        return 2 * super().forward(x)


def narrower(model):
    part = model.decoder.blocks[1].feed_forward
    part.hidden = type(part.hidden)(12, 5)
    part.output = type(part.output)(5, 12)


def louder(model):
    model.head = Louder(12, 11, bias=False)


def larger(model):
    model.decoder.extra = nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (louder, "head is a Louder of your own"),
        (larger, "decoder.extra is a Linear of your own"),
        (narrower, r"blocks.1.feed_forward.hidden.weight has shape \(5, 12\)"),
    ],
)
def test_what_a_config_does_not_say_is_refused_and_not_lost(
    path, change, said
):
    model = writer()
    change(model)
    with pytest.raises(ValueError, match=f"{said}.*state_dict"):
        save_checkpoint(Checkpoint(model), path)
    assert not path.exists()


@pytest.mark.slow
def test_another_weight_decay_is_taken_where_a_training_goes_on(path):
    one = Trainer(writer(), RECIPE)
    train(one, DATA, path=path)
    two = resume(path, steps=9, weight_decay=0.5, betas=(0.5, 0.6))
    (group,) = two.optimizer.param_groups
    assert (group["weight_decay"], group["betas"]) == (0.5, (0.5, 0.6))
    assert equal(resume(path), one)


CHECKPOINT = Checkpoint(writer())
NOBODY = 65534


def refused(path, said):
    """Neither checked nor written: one error, with the name as given."""
    for act in (check_place, lambda path: save_checkpoint(CHECKPOINT, path)):
        with pytest.raises(OSError, match=said) as caught:
            act(path)
        assert caught.value.filename == str(path)


@contextmanager
def anybody():
    """A folder of a user who has no rights but to their own."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as above:
        Path(above).chmod(0o777)
        if root:
            os.seteuid(NOBODY)
        try:
            folder = Path(above, "mine")
            folder.mkdir()
            yield folder
            folder.chmod(0o777)
        finally:
            if root:
                os.seteuid(0)


def test_what_is_no_file_is_left_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/full"), Path("/dev/null")):
        before = path.stat().st_mode
        refused(path, "is a device or a pipe, not a file")
        assert path.stat().st_mode == before
    refused(tmp_path, "is a folder, not a file")
    (tmp_path / "link").symlink_to("/dev/full")
    refused(tmp_path / "link", "is a device or a pipe")
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_what_is_read_only_stays():
    with anybody() as folder:
        path = folder / "model.pt"
        save_checkpoint(CHECKPOINT, path)
        content = path.read_bytes()
        path.chmod(0o444)
        refused(path, "Permission denied")
        folder.chmod(0o555)
        refused(folder / "new.pt", "Permission denied")
        assert path.read_bytes() == content
        assert os.listdir(folder) == ["model.pt"]


def test_its_permissions_are_those_of_any_file_or_of_the_former(tmp_path):
    path, other = tmp_path / "model.pt", tmp_path / "other"
    other.touch()
    save_checkpoint(CHECKPOINT, path)
    assert stat.S_IMODE(path.stat().st_mode) == other.stat().st_mode & 0o777
    path.chmod(0o640)
    save_checkpoint(CHECKPOINT, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_parts_of_killed_processes_go_after_an_hour(tmp_path):
    """One that is still written to, and those of other files, stay."""
    path = tmp_path / "model[1].pt"
    names = "model[1].pt.0123abcd.part", "model1.pt.0123abcd.part"
    young = tmp_path / "model[1].pt.89ef0123.part"
    for name in (*names, young.name):
        (tmp_path / name).touch()
        now = (tmp_path / name).stat().st_mtime
        os.utime(tmp_path / name, (now - 3700, now - 3700))
    young.write_bytes(b"half")
    save_checkpoint(CHECKPOINT, path)
    assert set(os.listdir(tmp_path)) == {path.name, young.name, names[1]}


def test_an_error_names_the_file_and_not_a_part_of_it(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "model.pt"
    said = f"No space left on device: {re.escape(repr(str(path)))}$"
    with pytest.raises(OSError, match=said):
        save_checkpoint(CHECKPOINT, path)
    assert os.listdir(tmp_path) == []


# --- earlier formats, which called the parts by other names --------------


SRC, TGT = words(10, 2, 6), words(11, 2, 7)


def in_format_2(model, old: dict) -> dict:
    """What format 2 kept of a model: a config's words, and other keys."""
    packed = pack(Checkpoint(model))
    fields = packed["model_config"] | {"mask": "causal"} | old
    for name in ("n_kv_heads", "window", "tied"):
        del fields[name]
    weights = {
        re.sub(r"norms\.(\d)", r"residuals.\1.norm", name): x
        for name, x in packed["model_state_dict"].items()
    }
    new = {"model_state_dict": weights, "model_config": fields, "format": 2}
    return packed | new


@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
@pytest.mark.parametrize(("field", "word"), OLD_CHOICES)
def test_a_file_of_format_2_is_the_same_model(kind, field, word, tmp_path):
    config = small("building_blocks", **OLD_CHOICES[field, word])
    model = build(kind, config)
    old = {field: word}
    if config.positions == "rotary":
        old["positions"] = "none"
    torch.save(in_format_2(model, old), tmp_path / "model.pt")
    again = load_checkpoint(tmp_path / "model.pt").model
    given = (SRC, TGT) if kind is EncoderDecoder else (TGT,)
    assert again.config == config
    assert again(*given).equal(model(*given))


@pytest.mark.parametrize(
    "old",
    [
        {"attention": "rotary", "positions": "learned"},
        {"cross_attention": "grouped"},
    ],
)
def test_what_no_config_says_any_more_is_refused(old, tmp_path):
    model = build(DecoderOnly, small("char_lm"))
    torch.save(in_format_2(model, old), tmp_path / "model.pt")
    with pytest.raises(ValueError, match="model.pt"):
        load_checkpoint(tmp_path / "model.pt")
