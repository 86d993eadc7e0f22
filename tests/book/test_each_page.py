"""Each page of the built book, opened once: it stands, and asks for nothing
from elsewhere, wide and narrow. Every look is tried in test_pages."""

import pytest

from tests.helpers.browser import DESK, NO_BOOK, PAGES, PHONE, open_page
from tests.helpers.looking import seen_now


def test_the_book_is_built():
    assert PAGES, NO_BOOK


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_whole_and_without_a_network(reader, name):
    view = open_page(reader, name)
    found = [*view.problems, *view.outside()]
    for width in DESK, PHONE:
        view.look("light", width)
        found += [f"at {width}: {fault}" for fault in seen_now(view.page)]
    view.page.close()
    assert not found, "\n\n".join([name, *found])
