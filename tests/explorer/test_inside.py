"""Look inside: each number is made as the panel says, whatever the file
computes; and the first number that a bug changes is found."""

import pytest
from scripts import FILES, STATIC

from engine import join_modules
from tests.helpers.engine import open_engine
from tests.helpers.my_file import BUGGY, MY_TEXT

pytestmark = pytest.mark.slow

OTHERWISE = MY_TEXT.replace("torch.relu(", "nn.functional.silu(")
SHOW = """async ([text, clean]) => {
    globalThis.engine ??= new Engine();
    globalThis.panel ??= new Inside(partsOf("#inside"), () => {});
    const job = { do: "translate", sentence: "ram did not see apples." };
    const found = await engine.ask({ ...job, text });
    const same = { ...job, text: clean, written: found.translation };
    panel.show(found, await engine.ask(same));
}"""
# How far ten cells of each step are from what is said of them.
APART = """() => [...panel.run.steps.values()].flatMap(step =>
    Array.from({ length: 10 }, () => [1, ...step.out.shape].slice(-4)
        .map(n => Math.floor(n * Math.random()))).map(at => {
        const said = panel.run.made(step, at).value;
        const is = numberAt(step.out, at);
        return Object.is(said, is) ? 0 : Math.abs(said - is);
    }))"""
FIRST = {
    "no_causal_mask": "decoder.blocks.0.self_attention:where",
    "heads_joined_by_view": "encoder.blocks.0.self_attention:reshape",
    "no_positions": "encoder.blocks.0.norms.0:layer_norm",
    "norm_over_time": "encoder:mean",
}


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page()
    page.set_content((STATIC / "inside.html").read_text("utf8"))
    open_engine(page)
    names = "elements", "sums", "grid", "recorded", "inside"
    page.add_script_tag(content=join_modules(FILES[x] for x in names))
    return page


@pytest.mark.parametrize("text", [MY_TEXT, OTHERWISE, *map(BUGGY.get, FIRST)])
def test_each_number_is_made_as_it_is_said(page, text):
    page.evaluate(SHOW, [text, MY_TEXT])
    assert max(page.evaluate(APART)) < 1e-4


@pytest.mark.parametrize("bug", FIRST)
def test_a_button_leads_to_the_first_number_that_a_bug_changes(page, bug):
    page.evaluate(SHOW, [BUGGY[bug], MY_TEXT])
    page.get_by_role("button", name="First number").click()
    assert page.locator("[data-part=step]").input_value() == FIRST[bug]
    said = "[data-part=shape]:text('there is no such step')"
    assert page.locator(f"td.changed:focus, {said}").count() == 1
