"""What it is to leave a part out, and what attention replaced."""

import json
import re
from dataclasses import replace

import pytest
import torch
from fillers import pairs
from torch.testing import assert_close

from benchmarks import larger, left_out, recurrent, results, translators
from benchmarks.left_out import IN_ITS_PLACE, LEFT_OUT, OF_LARGER
from benchmarks.translators import questions_of_kinds, write
from tformer_lite import (
    EncoderDecoder,
    stored,
    tiny_translator,
    trained_translator,
    translations,
)
from tformer_lite.example.shipped import STORED_FILES
from tformer_lite.text.tokenizers import PAD

RESULTS = STORED_FILES / "results.json"
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


def test_what_has_several_translations_is_asked_for_by_its_first_word():
    kinds, found = questions_of_kinds(), translations("test")
    asked, wanted = (sum(map(len, x.values())) for x in (kinds, found))
    assert asked == wanted > len(found)
    for question in kinds["polite"] + kinds["order"]:
        (right,) = question.right
        assert right.split()[0] == question.first
        assert right in found[question.english]
    written = write(trained_translator().model, kinds["polite"])
    for text, question in zip(written, kinds["polite"]):
        assert text.startswith(question.first + " ")


def test_chains_of_people_are_turned_round():
    learned, tested = larger.people()
    assert not {english for english, _ in learned} & {x for x, _ in tested}
    word = dict(pairs("CHAINED").values())
    for english, nepali in learned + tested:
        agents, others = re.split(r" (?:saw|knew|met|called) ", english[:-1])
        turned = []
        for chain, end in (agents, "ले"), (others, "लाई"):
            names = re.findall(r"the (\w+)", chain)
            turned.append("को ".join(word[x] for x in names[::-1]) + end)
        assert nepali.split()[:-2] == " ".join(turned).split()


def test_what_takes_the_place_of_feed_forward_has_as_many_weights():
    """In attention; and its tables of words are larger."""

    def in_blocks(name: str) -> int:
        config = replace(larger.SIZES, vocab_size=9, **OF_LARGER[name])
        state = EncoderDecoder(config).state_dict()
        matrices = (w for n, w in state.items() if "blocks" in n)
        return sum(w.numel() for w in matrices if w.ndim == 2)

    wide, whole, bare = map(
        in_blocks, (IN_ITS_PLACE, "nothing", "feed-forward")
    )
    assert wide == whole == 9 * bare


def test_a_recurrent_network_reads_no_padding_and_no_word_to_come():
    model = recurrent.Recurrent(tiny_translator).double()
    src, tgt = torch.tensor([[20, 21, 22]]), torch.tensor([[30, 31]])
    padded = torch.cat((src, torch.full((1, 2), PAD)), 1)
    assert_close(model(padded, tgt), model(src, tgt))
    assert_close(model(src, tgt)[:, :1], model(src, tgt[:, :1]))


def test_every_stored_result_has_a_run():
    assert {*results.RUNS} == {*json.loads(RESULTS.read_text("utf8"))}


@pytest.fixture
def short(monkeypatch):
    """One seed, and a handful of steps."""
    for module in left_out, recurrent:
        monkeypatch.setattr(module, "RECIPE", replace(module.RECIPE, steps=2))
    monkeypatch.setattr(left_out, "LONGER", replace(left_out.LONGER, steps=2))
    monkeypatch.setattr(
        recurrent, "READING", replace(recurrent.READING, steps=3)
    )
    monkeypatch.setattr(translators, "SEEDS", (1,))


@pytest.mark.full
def test_both_runs_go_from_one_end_to_the_other(short):
    found, kept = left_out.left_out(), stored("left_out")
    assert found.keys() == kept.keys()
    for task, parts in kept["tasks"].items():
        assert found["tasks"][task].keys() == parts.keys()
    assert recurrent.recurrent().keys() == stored("recurrent").keys()


def test_a_recurrent_network_of_the_same_size_loses_words():
    kept = stored("recurrent")
    sizes = kept["parameters"]
    assert 0.99 < sizes["recurrent"] / sizes["Transformer"] < 1
    for run in kept["rates"].values():
        assert max(run["shares"]["other"].values()) < 0.93
    best = max(
        min(run["shares"]["roles"].values()) for run in kept["rates"].values()
    )
    assert best > 0.75
    for by_seed in kept["Transformer"]["shares"].values():
        assert min(by_seed.values()) > 0.99
