"""Which task needs which part, and what attention replaced: how it is trained,
and what is stored of it."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from benchmarks import left_out, recurrent
from benchmarks.left_out import LEFT_OUT, TASKS, Digits, Extremes, write
from benchmarks.translators import FIVE, TOKENIZERS, part
from tformer_lite import (
    EncoderDecoder,
    greedy,
    stored,
    tiny_translator,
    trained_translator,
)
from tformer_lite.text.tokenizers import EOS, PAD, SOS

SRC, TGT = part("test")[[0]][0]
HEARD = torch.ones(8, 8, dtype=torch.bool)
# Which positions of the decoder (T) hear which words of the source (S), of the
# target (T), and which of memory (S) which words of the source (S).
HEARS = {
    "nothing": (HEARD, HEARD.tril(), HEARD),
    "encoder self-attention": (HEARD, HEARD.tril(), HEARD.tril().triu()),
    "decoder self-attention": (HEARD, HEARD.tril().triu(), HEARD),
    "cross-attention": (~HEARD, HEARD.tril(), HEARD),
    "causal mask": (HEARD, HEARD, HEARD),
}


def model_without(name: str, **choices) -> EncoderDecoder:
    """A translator without a part, as it starts."""
    torch.manual_seed(0)
    config = replace(tiny_translator, **LEFT_OUT[name], **choices)
    return EncoderDecoder(config).double().eval()


def hears(run, ids: torch.Tensor) -> torch.Tensor:
    """Which outputs (T) of a run differ when one of the words (S) does."""
    changed = ids.repeat(8, 1)
    changed.fill_diagonal_(9)
    return ((run(changed) - run(ids)).abs().amax(-1) > 1e-12).T


@pytest.mark.parametrize("name", HEARS)
def test_without_a_part_nobody_hears_through_it(name):
    model = model_without(name)
    src, tgt = (torch.arange(20, 28)[None] + i for i in (0, 100))
    over_src, over_tgt, in_memory = HEARS[name]
    many = tgt.repeat(8, 1)
    assert_close(
        hears(lambda ids: model(ids, many[: len(ids)]), src), over_src
    )
    assert_close(
        hears(lambda ids: model(src.expand_as(ids), ids), tgt), over_tgt
    )
    assert_close(hears(model.encode, src), in_memory)


def test_without_positions_a_memory_moves_with_its_words():
    src = torch.arange(20, 28)[None]
    for name, moves in ("positions", True), ("nothing", False):
        model = model_without(name)
        there = model.encode(src.flip(1)).flip(1)
        assert torch.allclose(there, model.encode(src)) is moves


def test_without_a_padding_mask_padding_is_heard():
    words = torch.tensor([[20, 21, 22]])
    padded = torch.cat((words, torch.full((1, 2), PAD)), 1)
    for name, same in ("padding mask", False), ("nothing", True):
        model = model_without(name)
        memory = model.encode(padded)[:, :3]
        assert torch.allclose(memory, model.encode(words)) is same


def test_without_residual_sums_a_block_is_what_its_sublayers_make():
    for name, silent in ("residual sums", True), ("nothing", False):
        model = model_without(name)
        for stack in model.encoder, model.decoder:
            (block,) = stack.blocks
            torch.nn.init.zeros_(block.feed_forward.output.weight)
            x = torch.ones(1, 3, 12).double()
            memory = () if stack is model.encoder else (x,)
            assert torch.equal(block(x, *memory), x * 0) is silent


def test_what_is_left_out_has_no_weights():
    whole = {*model_without("nothing").state_dict()}
    for name, part_of in (
        ("feed-forward", "feed_forward"),
        ("cross-attention", "cross_attention"),
        ("norms", "norm"),
        ("positions", "positions"),
    ):
        gone = whole - {*model_without(name).state_dict()}
        assert gone == {key for key in whole if part_of in key}


def test_written_without_a_cache_is_what_greedy_search_writes():
    model, src = trained_translator().model, part("test").src[::20]
    ids = greedy(model, src, SOS, EOS, tiny_translator.max_len)
    assert write(model, src) == [TOKENIZERS[1].decode(row) for row in ids]


def test_digits_and_extremes_are_answered_by_hand():
    data = Digits(50, seed=3)
    for row, labels in zip(data.x.tolist(), data.y.tolist()):
        assert labels == [data.ignore] * 5 + [(row[1] - row[4]) % 10]
    data = Extremes(500, seed=3)
    for (*numbers, question), ends in zip(data.x.tolist(), data.y.tolist()):
        assert len({*numbers}) == 12
        assert ends == [min(numbers), max(numbers)]
        assert ends[0] >= 0
        assert ends[1] - ends[0] < 32
        assert max(numbers) < question == 64
    assert (data.y.min(), data.y.max()) == (0, 63)


def test_ranks_of_equal_numbers_are_equal_and_slopes_are_correlations():
    found = left_out.ranks(torch.tensor([3, 1, 3, 2]))
    assert_close(found - found.min(), torch.tensor([2.5, 0, 2.5, 1]))


def test_a_recurrent_network_reads_no_padding_and_no_word_to_come():
    model = recurrent.Recurrent(tiny_translator).double()
    src, tgt = torch.tensor([[20, 21, 22]]), torch.tensor([[30, 31]])
    padded = torch.cat((src, torch.full((1, 2), PAD)), 1)
    assert_close(model(padded, tgt), model(src, tgt))
    assert_close(model(src, tgt)[:, :1], model(src, tgt[:, :1]))


def test_steps_that_wait_are_those_of_the_models():
    """Cells, one for each word that is read, and blocks."""
    done = []

    def count(module, inputs, _):
        cells = isinstance(module, torch.nn.GRU)
        done.append(inputs[0].shape[1] if cells else 1)

    told, old = recurrent.steps(), recurrent.Recurrent(tiny_translator)
    new = EncoderDecoder(tiny_translator)
    blocks = *new.encoder.blocks, *new.decoder.blocks
    for module in old.encoder, old.decoder, *blocks:
        module.register_forward_hook(count)
    old(SRC, TGT)
    assert sum(done) == told["recurrent"]["learning"]
    done.clear()
    new(SRC, TGT)
    assert sum(done) == told["Transformer"]["learning"]
    done.clear()
    memory = new.encode(SRC)
    for words in range(1, 8):
        new.decode(TGT[:, :words], memory, SRC)
    assert sum(done) == told["Transformer"]["writing"]


@pytest.fixture
def short(monkeypatch):
    """One seed, and a handful of steps."""
    for module in left_out, recurrent:
        monkeypatch.setattr(module, "RECIPE", replace(module.RECIPE, steps=2))
    monkeypatch.setattr(left_out, "FIVE", FIVE[:1])
    for name, task in TASKS.items():
        few = replace(task.recipe, steps=3, batch_size=8)
        monkeypatch.setitem(TASKS, name, task._replace(recipe=few))


@pytest.mark.slow
def test_both_runs_go_from_one_end_to_the_other(short):
    found, kept = left_out.left_out(), stored("left_out")
    for task, parts in kept["tasks"].items():
        assert found["tasks"][task].keys() == parts.keys()
    assert recurrent.recurrent().keys() == stored("recurrent").keys()
