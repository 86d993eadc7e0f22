"""The page to play on, opened once for many tests."""

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.browser import View, open_page
from tests.helpers.playing import OWN, PLAY, go, part


@pytest.fixture(scope="module")
def playing(reader) -> View:
    """The page to play on, in a tab that stays open from test to test."""
    return open_page(reader, PLAY)


@pytest.fixture
def page(playing) -> Page:
    """That page, led back to what it shows when it opens."""
    go(playing.page, "=")
    expect(part(playing.page, "sentence")).to_have_value(OWN)
    expect(part(playing.page, "bug")).to_be_hidden()
    return playing.page
