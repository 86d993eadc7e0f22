"""Weights in files: those that were one, and each in its own type."""

import subprocess
import sys
from dataclasses import replace
from itertools import chain

import pytest
import torch
from torch import nn

from tests.helpers.learning import RECIPE, Cut, equal, text, writer
from tests.helpers.project import ROOT
from tests.helpers.small import small, words
from tformer_lite import (
    Checkpoint,
    EncoderDecoder,
    Trainer,
    load_checkpoint,
    resume,
    save_checkpoint,
    train,
    trained_translator,
)

DATA = text()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.pt"


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


def queries(model):
    for block in model.decoder.blocks:
        block.self_attention.query.weight = block.self_attention.key.weight


TIES = [head, blocks, biases, queries]


@pytest.mark.slow
@pytest.mark.parametrize("tie", TIES)
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


def test_the_shipped_file_of_the_first_format_is_still_read():
    kept = trained_translator()
    assert len(ones(kept.model)) == len(kept.model.state_dict())


TYPES = [torch.float64, torch.bfloat16, torch.float16, torch.float32]


@pytest.mark.parametrize("model", [coder, writer])
def test_each_number_comes_back_in_its_own_type(path, model):
    """A type for each weight and each table, in turn."""
    model = model()
    for i, x in enumerate(numbers(model).values()):
        x.data = x.data.to(TYPES[i % 4])
    save_checkpoint(Checkpoint(model), path)
    assert alike(load_checkpoint(path).model, model)


def test_tables_come_back_as_they_were_computed(path):
    """In double precision from the start they are others than if they are
    made double afterwards."""
    torch.set_default_dtype(torch.float64)
    try:
        model = coder()
    finally:
        torch.set_default_dtype(torch.float32)
    later = coder().double()
    assert not alike(model, later)
    for one in (model, later):
        save_checkpoint(Checkpoint(one), path)
        kept, ids = load_checkpoint(path).model, words(10, 2, 5)
        assert alike(kept, one)
        assert kept(ids, ids).equal(one.eval()(ids, ids))


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


QUICK = """
import sys
from tests.helpers.small import small
from tformer_lite import EncoderDecoder
from tformer_lite.training.weights import pack_model, unpack_model
for positions in ("learned", "sinusoidal"):
    model = EncoderDecoder(small("paper_base", positions=positions))
    before = len(sys.modules)
    unpack_model(pack_model(model))
    assert len(sys.modules) - before < 20, sys.modules.keys()
"""


@pytest.mark.full
def test_to_outline_a_model_loads_nothing_else():
    """On the meta device alone, torch loads 800 modules to draw numbers."""
    command = [sys.executable, "-c", QUICK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
