"""The checks of the page: what they notice, Python's properties notice."""

import pytest

from shapewatch import properties
from tests.helpers.playing import GIVEN, MADE, MODULES, first_rows
from tests.helpers.scripts import answer
from tformer_lite.explorer.scripts import FOLDER
from tformer_lite.gallery.catching import measured

ASKED = """(given) => {
  const { src, tgt } = sentences;
  const pairs = given.src ? { src: ids(given.src), tgt: ids(given.tgt) }
    : { src, tgt };
  const lit = (model) => Object.fromEntries(Object.entries(checks)
    .map(([name, { notice }]) => [name, notice(model, pairs)])
    .filter(([, noticed]) => noticed));
  let state = given.seed;
  const next = () => (state = (state * 48271) %% 2147483647) / 2147483647;
  const drawn = (x) => x.map(() => Math.sqrt(-2 * Math.log(next()))
    * Math.cos(2 * Math.PI * next()));
  const kinds = given.planted ? Object.entries(bugs) : [["", {}]];
  return Object.fromEntries(kinds.map(([name, changed]) => {
    const model = (%s)(given, changed);
    if (given.seed) {
      const all = Object.entries(model.parameters);
      const others = all.map(([path, x]) => [path, drawn(x)]);
      model.parameters = Object.fromEntries(others);
    }
    return [name, lit(model)];
  }));
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


def asked(**given) -> dict[str, dict[str, str]]:
    """What the checks say, by bug and by their names."""
    return answer(FILES, ASKED, GIVEN | given)


@pytest.fixture(scope="module")
def lit() -> dict[str, dict[str, str]]:
    return asked(planted=True)


def test_each_check_has_the_name_of_a_property():
    names = answer(FILES, NAMES, None)
    assert all(hasattr(properties, name) for name in names), names


@pytest.mark.slow
@pytest.mark.parametrize("start", [None, 0, 80, 200])
def test_the_right_model_lights_no_lamp(start):
    given = {}
    if start is not None:
        data = first_rows("test", start + 2)
        given = {"src": data.src[-2:].tolist(), "tgt": data.tgt[-2:].tolist()}
    assert asked(**given) == {"": {}}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_right_model_of_random_numbers_lights_no_lamp(seed):
    assert asked(seed=seed) == {"": {}}


@pytest.mark.full
def test_each_bug_lights_a_lamp(lit):
    assert len(lit) == len(GIVEN["bugs"])
    assert not [name for name, found in lit.items() if not found]


@pytest.mark.full
def test_each_check_notices_a_bug(lit):
    names = answer(FILES, NAMES, None)
    found = {name for noticed in lit.values() for name in noticed}
    assert found == {*names}


def test_a_lamp_is_lit_only_where_python_finds_the_same(lit):
    theirs = measured().found
    pairs = {(bug, name) for bug in lit for name in lit[bug]}
    more = {(bug, name) for bug, name in pairs if name not in theirs[bug]}
    assert more == MORE


def test_what_python_finds_lights_the_lamp_of_that_name(lit):
    names = {*answer(FILES, NAMES, None)}
    theirs = measured().found
    less = {
        (bug, name)
        for bug, noticed in lit.items()
        for name in names & {*theirs[bug]} - {*noticed}
    }
    # Python also lets the input end earlier, where this model reads 8.
    assert less == {("one_position_for_all", "causality")}


def test_a_lamp_says_numbers_of_what_it_noticed(lit):
    said = lit["no_causal_mask"]["causality"]
    assert said.startswith("With other words from position 1 on, the scores")
    said = lit["norm_over_time"]["norm_statistics"]
    assert (
        said == "After encoder residual connection 1 norm, a position has 1.3."
    )
    half = "In encoder self attention scores, the variance would be 4."
    assert lit["no_scale"] == {"score_scale": half}
