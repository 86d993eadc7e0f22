"""The model that runs on a page: each of its numbers is PyTorch's; its checks
notice what Python's properties notice."""

import os

import pytest
import torch
import weights
from torch import Tensor, nn

from explorer.scripts import FOLDER
from gallery import bug
from gallery.catching import stored_catches
from tests.helpers.playing import GIVEN, MADE, MODULES, first_rows
from tests.helpers.scripts import answer
from tformer_lite import (
    EncoderDecoder,
    running_example,
    trace,
    trained_translator,
    translations,
)
from tformer_lite.example.running import seeded_model
from tformer_lite.text.tokenizers import EOS, PAD, SOS

pytestmark = pytest.mark.slow

# One sentence of so many; BUGS=all tries each.
COUNT = 1 if os.environ.get("BUGS") == "all" else 64
STEPS = """(given) => {
  const [model, steps] = [(%s)(given), {}];
  model.forward(ids(given.src), ids(given.tgt), (path, value) => {
    steps[path] = [value.shape, [...value.data]];
  });
  return steps;
}"""
WRITTEN = """(given, changed) => {
  const model = (%s)(given, changed);
  const vocabulary = new Map(Object.entries(given.words[0]));
  return given.texts.map((text) => greedy(model, row(text, vocabulary)));
}"""
BROKEN = """(given) => Object.fromEntries(
  Object.entries({ right: {}, ...bugs }).map(([name, changed]) => [
    name, (%s)(given, changed)]))"""
CELLS = """(given) => {
  const seen = run((%s)(given), ids(given.src), ids(given.tgt));
  return [...seen.values].map(([path, value]) => {
    const places = Tensor.of(value.shape, () => 0);
    let apart = 0;
    places.data.forEach((_, i) => {
      const place = placeOf(i, value.shape);
      const made = arithmetic(seen, path, place).value;
      const real = value.data[i];
      if (made !== real) apart = Math.max(apart, Math.abs(made - real));
    });
    return [path, axesOf(path), value.shape, apart];
  });
}"""
STEPS, WRITTEN = STEPS % MADE, WRITTEN % MADE
CELLS %= MADE
BROKEN = BROKEN % WRITTEN


def halved() -> nn.Module:
    """The translator with the page's numbers, in double precision."""
    return trained_translator().model.half().double()


def run_of(model: nn.Module, src: Tensor, tgt: Tensor) -> dict[str, Tensor]:
    """What PyTorch computes, by the path of the module or the variable."""
    found = {}

    def keep(path):
        return lambda module, inputs, value: found.update({path: value})

    hooks = [
        module.register_forward_hook(keep(path))
        for path, module in model.named_modules()
    ]
    with torch.no_grad():
        seen = trace(model, src, tgt, keep=True)
    for hook in hooks:
        hook.remove()
    for attention in seen.attention():
        for name in "q", "k", "v", "scores", "weights", "heads":
            key = f"{attention.path}:{name}"
            found[key] = seen[key, 0] if name == "scores" else seen[key]
        found[f"{attention.path}:masked"] = attention.masked
    for side, n in ("encoder", 2), ("decoder", 3):
        block = f"{side}.blocks.0"
        key = f"{block}.feed_forward:hidden"
        found[key] = seen[key]
        for i in range(n - 1):
            found[f"{block}.sums.{i}"] = seen[f"{block}:x", i]
        found[f"{block}.sums.{n - 1}"] = found[block]
    return found


def same_steps(theirs: dict, ours: dict[str, Tensor]) -> None:
    """In double precision the last digits may differ; in single precision,
    two millionths of a tensor's largest number."""
    for path, (shape, data) in theirs.items():
        mine = ours[path]
        largest = mine[mine.isfinite()].abs().max().item()
        double = mine.dtype == torch.double
        numbers = torch.tensor(
            [-torch.inf if x is None else x for x in data], dtype=mine.dtype
        )
        torch.testing.assert_close(
            numbers.view(*shape),
            mine,
            rtol=0,
            atol=1e-10 if double else 2e-6 * largest,
            msg=lambda text, path=path: f"{path}: {text}",
        )


@pytest.mark.parametrize(
    "fresh", [False, pytest.param(True, marks=pytest.mark.full)]
)
def test_every_number_of_every_step_is_pytorchs(fresh):
    kept = trained_translator().model
    model = seeded_model(EncoderDecoder, kept.config, 1) if fresh else kept
    data, model = first_rows("test", 100), model.half()
    given = {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    steps = answer(MODULES, STEPS, weights.model_data(model) | given)
    assert len(steps) > 50
    for exact in (model.float(), model.double()):
        same_steps(steps, run_of(exact, data.src, data.tgt))


def test_the_arithmetic_written_out_for_a_cell_is_the_cell():
    data = first_rows("test", 2)
    given = GIVEN | {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    sizes = {"B": 2, "H": 3, "T": 8, "S": 8, "D": 4, "C": 12, "F": 48}
    sizes["V"] = 1024
    for path, axes, shape, apart in answer(MODULES, CELLS, given):
        assert apart < 1e-10, path
        assert [sizes[letter] for letter in axes] == shape, path


def padded_greedy(model: nn.Module, src: Tensor) -> list[list[int]]:
    """Write as a page does: one sentence at a time, in rows of 8."""
    written = []
    for row in src:
        tgt = torch.full((1, 8), PAD)
        tgt[0, 0] = SOS
        for t in range(7):
            with torch.no_grad():
                best = model(row[None], tgt)[0, t].argmax().item()
            tgt[0, t + 1] = best
            if best == EOS:
                break
        written.append(tgt[0, : t + 2].tolist())
    return written


@pytest.mark.full
def test_a_page_writes_what_the_model_and_each_bug_of_the_gallery_write():
    texts = [*translations("test")]
    data, texts = first_rows("test", len(texts)).src[::COUNT], texts[::COUNT]
    theirs = answer(MODULES, BROKEN, GIVEN | {"texts": texts})
    assert len(theirs) > 35
    for name, written in theirs.items():
        broken = halved() if name == "right" else bug(name).model()
        broken.load_state_dict(halved().state_dict())
        assert written == padded_greedy(broken.double(), data), name


SAME = """(given) => {
  const vocabulary = new Map(Object.entries(given.words[0]));
  const make = %s;
  const write = (model, text) => greedy(model, row(text, vocabulary)).join();
  const whole = make(given);
  const right = given.tests.map((text) => write(whole, text));
  return Object.keys(bugs).filter((name) => {
    const model = make(given, bugs[name]);
    return given.tests.every((text, i) => write(model, text) === right[i]);
  });
}"""


@pytest.mark.full
def test_four_bugs_of_the_page_change_no_translation_of_the_test():
    assert GIVEN["tests"] == [*translations("test")]
    assert answer(MODULES, SAME % MADE, GIVEN) == [
        "loud_scores",
        "one_step_ahead",
        "no_causal_mask",
        "softmax_at_the_end",
    ]


@pytest.mark.full
def test_the_page_has_the_weights_that_ship():
    stored = weights.WEIGHTS_FILE.read_text("utf8")
    now = weights.json_text(trained_translator()) + "\n"
    assert stored == now, "the page's weights are old: run `make weights`"


ASKED = """(given) => {
  const { src, tgt } = sentences;
  const pairs = given.src ? { src: ids(given.src), tgt: ids(given.tgt) }
    : { src, tgt };
  const lit = (model) => Object.fromEntries(Object.entries(checks)
    .map(([name, { notice }]) => [name, notice(model, pairs)])
    .filter(([, noticed]) => noticed));
  const kinds = given.planted ? Object.entries(bugs) : [["", {}]];
  return Object.fromEntries(kinds.map(
    ([name, changed]) => [name, lit((%s)(given, changed))]));
}"""
ASKED %= MADE
NAMES = "(_) => Object.keys(checks)"
FILES = [*MODULES, FOLDER / "checks.mjs"]
# What is noticed here and not in Python: the softmax or the norm over
# positions takes away again what a bias gives to every position alike. The
# gradient that Python measures there is of rounding, and not quite 0.
MORE = {
    ("softmax_over_queries", "live_parameters"),
    ("norm_over_time", "live_parameters"),
}
# And in Python alone: where the input ends earlier, for this model reads 8; a
# row with nobody to attend to; and dependence too small to be told from none.
# Padding is a question of unknown words there, too, and of rows alone, and
# logits are asked for their size.
LESS = {
    ("one_position_for_all", "causality"),
    ("mask_upside_down", "weight_rows"),
    ("norm_squared", "source_coverage"),
}
ALONE = "first_word_alone one_position_for_all sum_ignored"
ALONE += " triangle_turned_over"
LARGE = "heads_split_by_view key_for_value mask_upside_down"
LARGE += " position_of_the_row roles_reversed source_never_read"
LESS |= {(bug, "padding_invariance") for bug in ALONE.split()}
LESS |= {(bug, "logits") for bug in LARGE.split()}


def asked(**given) -> dict[str, dict[str, str]]:
    """What the checks say, by bug and by their names."""
    return answer(FILES, ASKED, GIVEN | given)


def test_the_right_model_lights_no_lamp_with_other_sentences_neither():
    data = first_rows("test", 400)
    given = {"src": data.src[-2:].tolist(), "tgt": data.tgt[-2:].tolist()}
    assert asked() == asked(**given) == {"": {}}


@pytest.mark.full
def test_lamps_are_lit_where_python_finds_the_same_and_nowhere_else():
    names = {*answer(FILES, NAMES, None)}
    catches = stored_catches().found
    src, tgt = (ids.tolist() for ids in running_example()[:2])
    lit = asked(planted=True, src=src, tgt=tgt)
    ours = {(bug, name) for bug in lit for name in lit[bug]}
    theirs = {(bug, name) for bug in lit for name in names & {*catches[bug]}}
    assert ours - theirs == MORE
    assert theirs - ours == LESS


@pytest.mark.full
def test_every_bug_lights_a_lamp_which_says_what_it_noticed():
    lit = asked(planted=True)
    assert len(lit) > 35
    assert all(lit.values())
    said = lit["no_causal_mask"]["causality"]
    assert said.startswith("With other words from position 1 on, the scores")
    said = lit["norm_over_time"]["norm_statistics"]
    assert said == "After encoder norm 1, a position has 0.74."
    half = "In encoder self attention scores, the variance would be 4."
    assert lit["no_scale"] == {"score_scale": half}
