"""Files that are no checkpoint: one clear error, and nothing is run."""

import pickle
import random
import re
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from tests.helpers.learning import flat, text, trainer, writer
from tests.helpers.project import ROOT
from tests.helpers.small import small
from tformer_lite import (
    Checkpoint,
    EncoderDecoder,
    load_checkpoint,
    resume,
    save_checkpoint,
    train,
)
from tformer_lite.training.checkpoints import FORMAT, pack
from tformer_lite.training.origin import Origin

UNREADABLE = "is damaged, or no checkpoint: it cannot be read. Train again"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a good checkpoint."""
    path = tmp_path_factory.mktemp("good") / "model.pt"
    train(trainer(), text(), path=path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A name as a reader gives it: relative to where they are."""
    monkeypatch.chdir(tmp_path)
    Path("models").mkdir()
    return "models/model.pt"


def refused(path, content, said):
    """A file of that content gets one error, with the name as given."""
    if isinstance(content, bytes):
        Path(path).write_bytes(content)
    else:
        torch.save(content, path)
    with pytest.raises(ValueError, match=f"^{re.escape(path)} {said}"):
        load_checkpoint(path)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(10))
def test_a_file_cut_off_anywhere_is_damaged(path, whole, tenth):
    refused(path, whole[: len(whole) * tenth // 10], UNREADABLE)
    refused(path, whole[: len(whole) * (tenth + 1) // 10 - 1], UNREADABLE)


@pytest.mark.slow
def test_a_bit_that_changed_is_noticed_or_changes_nothing(path):
    """The witness: torch.load, of the file as it was."""
    one = trainer(steps=1)
    train(one, text(), path=path)
    whole = Path(path).read_bytes()
    wanted = flat(torch.load(path, weights_only=True))
    generator, refusals = random.Random(0), []
    for _ in range(100):
        content = bytearray(whole)
        content[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        Path(path).write_bytes(content)
        try:
            found = flat(pack(load_checkpoint(path)))
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert all(map(torch.equal, found, wanted))
    assert len(refusals) > 50
    assert all(message.startswith(path) for message in refusals)


def test_records_that_would_unpack_to_more_are_refused(path, whole):
    """Zeros of a gigabyte take a megabyte so packed; none may be."""
    Path(path).write_bytes(whole)
    with zipfile.ZipFile(path) as file:
        records = {name: file.read(name) for name in file.namelist()}
    for how in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        with zipfile.ZipFile(path, "w", how) as file:
            for name, content in records.items():
                file.writestr(name, content)
        good = how == zipfile.ZIP_STORED
        with nullcontext() if good else pytest.raises(ValueError, match="is"):
            load_checkpoint(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        "नमस्ते\n".encode() * 99,
        bytes(range(256)) * 9,
        (ROOT / "tformer_lite" / "__init__.py").read_bytes(),
        pickle.dumps({"format": 1, "model": trainer}),
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
        torch.zeros(3),
        None,
    ],
    ids=["state_dict", "source 002", "tensor", "None"],
)
def test_a_foreign_file_of_pytorchs_is_told_from_a_damaged_one(path, content):
    refused(path, content, "is no checkpoint of tformer_lite, though PyTorch")


@pytest.mark.parametrize("version", [-1, 0, FORMAT + 1, 99])
def test_a_file_of_another_version_says_what_to_do(path, version):
    what = "train again" if version < 1 else "update tformer_lite"
    said = f"has format {version}, and .* reads formats 1 to {FORMAT}: {what}"
    refused(path, {"format": version}, said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "Block"),
        ("model_config", {"vocab_size": 11, "max_len": 8, "colour": 3}),
        ("model_state_dict", {"head.weight": torch.zeros(11, 12)}),
        ("model_state_dict", {"head.weight": torch.zeros(11, 12).long()}),
        ("model_state_dict", [3]),
        ("tokenizers", [("Words", {})]),
    ],
)
def test_a_checkpoint_that_contradicts_itself_is_damaged(path, key, value):
    save_checkpoint(Checkpoint(writer()), path)
    packed = torch.load(path, weights_only=True)
    refused(path, packed | {key: value}, UNREADABLE)


ODD = None, "3", 2.5, -1, [3], {"a": 3}, torch.zeros(2), 10**30
EMPTY = torch.zeros(1).expand(10**9)  # of four bytes, with a large shape


def keys_in(value, above=()):
    """The ways to each value in nested dictionaries."""
    if isinstance(value, dict):
        for key in value:
            yield from keys_in(value[key], (*above, key))
    if above:
        yield above


@pytest.mark.full
def test_another_type_anywhere_is_one_clear_error_or_does_no_harm(path):
    """Where many have one name, of one of them; else the training goes on."""
    one = trainer(steps=1, patience=2)
    one.origin = Origin(path="here", fingerprint="0")
    train(one, text(), text(9), path)
    whole = torch.load(path, weights_only=True)
    ways = {str(keys[-1]).split(".")[-1]: keys for keys in keys_in(whole)}
    refusals = []
    for i, keys in enumerate(ways.values()):
        packed = inner = torch.load(path, weights_only=True)
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = ODD[i % len(ODD)]
        torch.save(packed, "odd.pt")
        try:
            train(resume("odd.pt", steps=2), text(), text(9))
        except (ValueError, FloatingPointError) as error:  # NaN is noticed
            refusals.append(str(error))
    assert len(refusals) > len(ways) / 2
    assert all(message.count("\n") == 0 for message in refusals)


@pytest.mark.parametrize("key", ["train_losses", "model_state_dict"])
def test_a_shape_without_its_numbers_takes_no_memory(path, key):
    save_checkpoint(Checkpoint(writer()), path)
    packed = torch.load(path, weights_only=True)
    wide = EMPTY if key == "train_losses" else {"head.weight": EMPTY}
    refused(path, packed | {key: wide}, UNREADABLE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["max_len", "n_layers", "d_ff", "vocab_size"])
def test_a_size_without_its_numbers_takes_no_memory(path, name):
    model = EncoderDecoder(small("paper_base"))
    save_checkpoint(Checkpoint(model), path)
    packed = torch.load(path, weights_only=True)
    packed["model_config"][name] = 10**9
    refused(path, packed, UNREADABLE)
    refused(path, packed | {"buffers": {}}, UNREADABLE)


def test_where_there_is_no_file_training_is_what_to_do(path, tmp_path):
    for name in (path, "nothing.pt", str(tmp_path)):
        said = f"no checkpoint {re.escape(name)}: train first"
        with pytest.raises(FileNotFoundError, match=said):
            load_checkpoint(name)


class Trap:
    """A pickle that runs a command where it is unpickled."""

    def __reduce__(self):
        return exec, ("open('caught', 'w').close()",)


@pytest.mark.parametrize("old", [False, True])
def test_code_in_a_file_is_refused_and_not_run(path, old):
    packed = {"format": 1, "training": Trap()}
    torch.save(packed, path, _use_new_zipfile_serialization=not old)
    with pytest.raises(ValueError, match=UNREADABLE):
        load_checkpoint(path)
    assert not Path("caught").exists()
    torch.load(path, weights_only=False)
    assert Path("caught").exists(), "the trap works"
