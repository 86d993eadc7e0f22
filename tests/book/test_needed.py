"""Which task needs which part, and what attention replaced: how it is trained,
and what is stored of it."""

from dataclasses import replace
from statistics import mean

import pytest
import torch
from torch.testing import assert_close

from benchmarks import left_out, recurrent
from benchmarks.left_out import LEFT_OUT, TASKS, Digits, Extremes, write
from benchmarks.translators import FIVE, TOKENIZERS, part
from tformer_lite import (
    EncoderDecoder,
    english_nepali,
    greedy,
    stored,
    tiny_translator,
    trained_translator,
)
from tformer_lite.text.tokenizers import EOS, PAD, SOS

SRC, TGT = part("test")[[0]][0]
PAIRS = [[*pair] for pair in english_nepali("test")]
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


@pytest.mark.full
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


@pytest.mark.full
def test_both_runs_go_from_one_end_to_the_other(short):
    found, kept = left_out.left_out(), stored("left_out")
    for task, parts in kept["tasks"].items():
        assert found["tasks"][task].keys() == parts.keys()
    assert recurrent.recurrent().keys() == stored("recurrent").keys()


def shares(task: str, name: str = "nothing") -> list[float]:
    """What each of five seeds has right in a task without a part."""
    by_seed = stored("left_out")["tasks"][task][name]
    assert [*by_seed] == [*map(str, FIVE)]
    return [*by_seed.values()]


@pytest.mark.parametrize("task", ["old", "roles", *TASKS])
def test_with_every_part_each_seed_learns_each_task(task):
    least = 0.9 if task == "extremes" else 0.99
    assert min(shares(task)) > least


@pytest.mark.parametrize("kind", ["old", "roles"])
def test_sentences_need_cross_attention_sums_and_a_causal_mask(kind):
    assert max(shares(kind, "cross-attention")) <= 0.01
    assert max(shares(kind, "causal mask")) <= 0.01
    assert max(shares(kind, "residual sums")) < 0.5


def test_roles_alone_need_positions():
    assert max(shares("roles", "positions")) < 0.7
    assert min(shares("old", "positions")) > 0.97


@pytest.mark.parametrize("kind", ["old", "roles"])
@pytest.mark.parametrize(
    "name",
    [
        "encoder self-attention",
        "decoder self-attention",
        "feed-forward",
        "feed-forward and encoder self-attention",
        "all but one cross-attention head",
        "norms",
        "several heads",
        "padding mask",
    ],
)
def test_sentences_do_not_need_the_other_parts(kind, name):
    """Of five seeds at most one falls, and not far."""
    low, *others = sorted(shares(kind, name))
    assert low > 0.93
    assert min(others) > 0.97


def test_a_look_up_needs_two_blocks_their_sums_and_a_causal_mask():
    """Of what is listed one in seven is right by chance."""
    for name in "second block", "residual sums":
        assert max(shares("look-up", name)) < 0.25
    assert max(shares("look-up", "causal mask")) < 0.5
    positions = shares("look-up", "positions")
    assert 0.75 < min(positions) <= max(positions) < 0.95
    for name in "feed-forward", "several heads", "norms":
        assert min(shares("look-up", name)) > 0.99


def test_digits_need_positions_and_mostly_feed_forward_and_two_heads():
    """One seed of five learns them without the one, one without the other.
    One answer in ten is right by chance."""
    assert max(shares("digits", "positions")) < 0.25
    for name in "feed-forward", "several heads":
        *four, _ = sorted(shares("digits", name))
        assert max(four) < 0.85
        assert mean(shares("digits", name)) < 0.85
    for name in "residual sums", "norms":
        assert min(shares("digits", name)) > 0.99


def test_extremes_need_two_heads():
    assert max(shares("extremes", "several heads")) < 0.75
    for name in "positions", "feed-forward", "residual sums":
        assert min(shares("extremes", name)) > 0.8
    norms = mean(shares("extremes", "norms"))
    assert 0.7 < norms < mean(shares("extremes")) - 0.1


def test_one_head_goes_up_with_the_number_and_one_down():
    heads = stored("left_out")["heads"]
    for down, up in map(sorted, heads["nothing"]["slopes"].values()):
        assert down < -0.7
        assert up > 0.7
    for (slope,) in heads["several heads"]["slopes"].values():
        assert abs(slope) < 0.5
    curves = [run["mean scores"] for run in heads.values()]
    assert [*map(len, curves)] == [2, 1]
    assert {len(curve) for run in curves for curve in run} == {64}


def test_mistakes_are_those_of_test_sentences():
    runs = stored("recurrent")["rates"].values()
    kept = [run["mistakes"] for run in runs]
    kept += stored("left_out")["mistakes"].values()
    for mistakes in kept:
        for kind, rows in mistakes.items():
            assert len(rows) <= left_out.KINDS[kind]
            for english, wanted, written in rows:
                assert [english, wanted] in PAIRS
                assert written != wanted
                assert ("लाई" in wanted) is (kind == "roles")
    assert stored("left_out")["mistakes"]["nothing"] == {
        "old": [],
        "roles": [],
    }


def test_without_cross_attention_each_source_has_the_same_translation():
    mistakes = stored("left_out")["mistakes"]["cross-attention"]
    assert len({row[2] for rows in mistakes.values() for row in rows}) == 1


def word_with(ending: str, text: str) -> str:
    """The first word of this case, without its ending."""
    words = (word for word in text.split() if word.endswith(ending))
    return next(words, "").removesuffix(ending)


def test_without_positions_who_did_it_has_it_done_to_them():
    """In most of the mistakes: a word's -ले and another's -लाई swap."""
    rows = stored("left_out")["mistakes"]["positions"]["roles"]
    swapped = [
        word_with("ले", wanted) == word_with("लाई", written)
        and word_with("लाई", wanted) == word_with("ले", written)
        for _, wanted, written in rows
    ]
    assert sum(swapped) >= 7


def test_a_recurrent_network_of_the_same_size_loses_words():
    kept = stored("recurrent")
    sizes = kept["parameters"]
    assert 0.99 < sizes["recurrent"] / sizes["Transformer"] < 1
    for run in kept["rates"].values():
        assert max(run["shares"]["old"].values()) < 0.93
    best = max(
        min(run["shares"]["roles"].values()) for run in kept["rates"].values()
    )
    assert best > 0.85
    for by_seed in kept["Transformer"]["shares"].values():
        assert min(by_seed.values()) > 0.99


def test_a_longer_list_is_too_much_for_a_recurrent_network_alone():
    kept = stored("recurrent")["look-up"]
    found = {
        listed: [[*run["shares"][name].values()] for name in recurrent.READERS]
        for listed, run in kept.items()
    }
    assert min(found["4"][0]) > 0.97
    assert 0.6 < min(found["8"][0]) <= max(found["8"][0]) < 0.9
    assert max(found["16"][0]) < 0.2
    for _, transformer in found.values():
        assert len(transformer) == 5
        assert min(transformer) > 0.9
    for run in kept.values():
        old, new = run["parameters"].values()
        assert 0.95 < old / new < 1.05
