"""The model that runs on a page: each of its numbers is PyTorch's."""

import os

import pytest
import torch
import weights
from torch import Tensor, nn

from tests.helpers.playing import GIVEN, MADE, MODULES, first_rows
from tests.helpers.scripts import answer, in_browser
from tformer_lite import (
    bug,
    english_nepali,
    greedy,
    running_model,
    trace,
    trained_translator,
)
from tformer_lite.text.tokenizers import EOS, PAD, SOS

# One sentence of so many; BUGS=all tries each.
COUNT = 1 if os.environ.get("BUGS") == "all" else 32
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
  Object.entries(bugs).map(([name, changed]) => [
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
FIRST = """(given) => {
  const [src, tgt] = [ids(given.src), ids(given.tgt)];
  const right = run((%s)(given), src, tgt);
  return Object.fromEntries(Object.entries(bugs).map(([name, changed]) => [
    name, firstDifference(right, run((%s)(given, changed), src, tgt))?.path]));
}"""
STEPS, WRITTEN = STEPS % MADE, WRITTEN % MADE
CELLS, FIRST = CELLS % MADE, FIRST % (MADE, MADE)
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
        names = "q", "k", "v", "scores", "weights", "heads"
        for name in names:
            key = f"{attention.path}:{name}"
            found[key] = seen[key, 0] if name == "scores" else seen[key]
        found[f"{attention.path}:masked"] = attention.masked
    for side in "encoder", "decoder":
        key = f"{side}.blocks.0.feed_forward:hidden"
        found[key] = seen[key]
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


MODELS = {
    "trained": lambda: trained_translator().model,
    "fresh": running_model,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("part", ["test", "valid"])
def test_every_number_of_every_step_is_pytorchs(part, name):
    data, model = first_rows(part, 100), MODELS[name]().half()
    given = {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    steps = answer(MODULES, STEPS, weights.model_data(model) | given)
    assert len(steps) > 50
    for exact in (model.float(), model.double()):
        same_steps(steps, run_of(exact, data.src, data.tgt))


@pytest.mark.slow
def test_the_arithmetic_written_out_for_a_cell_is_the_cell():
    data = first_rows("test", 2)
    given = GIVEN | {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    sizes = {"B": 2, "H": 3, "T": 8, "S": 8, "D": 4, "C": 12, "F": 48}
    sizes["V"] = 1024
    for path, axes, shape, apart in answer(MODULES, CELLS, given):
        assert apart < 1e-10, path
        assert [sizes[letter] for letter in axes] == shape, path


@pytest.mark.slow
def test_the_first_number_that_differs_lies_where_the_bug_is():
    data = first_rows("test", 1)
    given = GIVEN | {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    first = answer(MODULES, FIRST, given)
    path = "encoder.blocks.0.self_attention"
    assert first["heads_joined_by_view"] == f"{path}.output"
    assert first["no_positions"] == "src_embedding.positions"
    assert first["no_causal_mask"] == "decoder.blocks.0.self_attention:masked"


@pytest.mark.slow
def test_a_page_translates_all_test_sentences_as_greedy_does():
    texts = [english for english, _ in english_nepali("test")]
    theirs = answer(MODULES, WRITTEN, GIVEN | {"texts": texts})
    src = first_rows("test", len(texts)).src
    ours = greedy(halved(), src, start=2, end=3, max_len=8).tolist()
    assert theirs == [row[: len(they)] for row, they in zip(ours, theirs)]
    assert all({*row[len(they) :]} <= {1} for row, they in zip(ours, theirs))


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
def test_each_switch_writes_what_the_gallerys_bug_writes():
    data = first_rows("test", 320).src[::COUNT]
    texts = [english for english, _ in english_nepali("test")][::COUNT]
    theirs = answer(MODULES, BROKEN, GIVEN | {"texts": texts})
    assert len(theirs) >= 35
    for name, written in theirs.items():
        broken = bug(name).model()
        broken.load_state_dict(halved().state_dict())
        assert written == padded_greedy(broken.double(), data), name


@pytest.mark.slow
def test_the_page_has_the_weights_that_ship():
    stored = weights.WEIGHTS_FILE.read_text("utf8")
    now = weights.json_text(trained_translator()) + "\n"
    assert stored == now, "the page's weights are old: run `make weights`"


@pytest.mark.full
def test_a_browser_computes_the_same_numbers():
    data = first_rows("test", 3)
    given = GIVEN | {"src": data.src.tolist(), "tgt": data.tgt.tolist()}
    steps = in_browser(MODULES, STEPS, given)
    same_steps(steps, run_of(halved(), data.src, data.tgt))
