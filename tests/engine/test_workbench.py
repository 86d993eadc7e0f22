"""What a reader does with the file in a page: changes and runs it, trains it,
and sends it on as one page."""

import gzip

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browser import HTML, new_reader
from tests.helpers.my_file import MY_TEXT

pytestmark = pytest.mark.slow
EDIT = "old=return x %2B self.table[: x.shape[1]]&now=return x"
ONE_PAGE = HTML / "my_transformer.html"


def says(page: Page, panel: str, part: str, text: str) -> None:
    place = page.locator(f"#{panel} [data-part={part}]")
    expect(place).to_contain_text(text)


def test_a_changed_line_is_marked_and_seen_in_what_is_written(visit):
    page = visit(f"book/workbench.html#{EDIT}").page
    says(page, "workbench", "says", "283 of 624")
    says(page, "workbench", "changes", "return x + self.table")
    says(page, "workbench", "printed", "EncoderDecoder (1, 6) (1, 6)")
    wrong = MY_TEXT.replace("q @ k.mT", "q @ k")
    area = page.locator("#workbench textarea")
    area.fill(wrong)
    area.press("Control+Enter")
    says(page, "workbench", "says", "batch2 tensor to be: [3, 4] but got")
    line = wrong[: wrong.index("q @ k /")].count("\n") + 1
    marked = page.locator(f"#workbench .marked:nth-child({line})")
    expect(marked).to_have_count(1)
    page.get_by_role("button", name="Back to the book’s file").click()
    says(page, "workbench", "says", "624 of 624")
    expect(area).to_have_value(MY_TEXT)


def test_a_part_is_left_out_and_what_is_left_is_trained(visit):
    page = visit("book/train.html#change=positions&steps=50").page
    says(page, "train", "wrong", "return x")
    page.get_by_role("radio", name="less").check()
    page.get_by_role("button", name="Train it like this").click()
    says(page, "train", "said", "of 624 test sentences are right")
    sentence = page.locator("#train [data-part=sentence]")
    sentence.fill("we saw ram.")
    sentence.press("Enter")  # the model that was trained writes it
    says(page, "train", "told", "we saw ram")
    says(page, "train", "said", "of 624 test sentences are right")


def test_one_page_has_all_of_it_without_a_network(browser):
    assert len(gzip.compress(ONE_PAGE.read_bytes())) < 500_000
    page = new_reader(browser).new_page()
    page.goto(ONE_PAGE.as_uri())
    says(page, "workbench", "says", "624 of 624")
    page.get_by_role("button", name="Train", exact=True).click()
    says(page, "train", "numbers", "loss")
    page.context.close()
