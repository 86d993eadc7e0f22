"""A browser with pages of the built book, and a copy of the project."""

from pathlib import Path

import browsers
import pytest
import torch
from playwright.sync_api import expect

from tests.helpers.browser import (
    NO_BOOK,
    PAGES,
    View,
    need_browser,
    new_reader,
    open_page,
    served,
)
from tests.helpers.project import archive, copy_project, run


@pytest.fixture(autouse=True)
def seed():
    """The same numbers each time."""
    torch.manual_seed(0)


@pytest.fixture(scope="module")
def chromium():
    need_browser()
    expect.set_options(timeout=60_000)  # for what a worker computes, too
    with browsers.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def browser(chromium):
    if not PAGES:
        pytest.fail(NO_BOOK)
    return chromium


@pytest.fixture(scope="module")
def reader(browser):
    """Who opens one page after another; what was loaded once stays."""
    context = new_reader(browser)
    yield context
    context.close()


@pytest.fixture
def visit(reader):
    """Open a page for somebody who may change it: what a page keeps of a
    reader is forgotten afterwards."""
    views = []

    def visit(page, *look):
        views.append(open_page(reader, page, *look))
        return views[-1]

    yield visit
    for view in views:
        view.page.evaluate("localStorage.clear()")
        view.page.close()


@pytest.fixture
def on_site(reader):
    """A page of the site, where a page from the disk may do less."""
    view = View(reader.new_page())
    view.page.route("**/*", served)
    return view


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A repository whose only commit is the working tree as it is now."""
    copy = copy_project(tmp_path_factory.mktemp("checkout"))
    me = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    run(copy, "git", "add", "-A").check_returncode()
    run(copy, "git", *me, "commit", "-qm", "All").check_returncode()
    return copy


@pytest.fixture(scope="module")
def published(checkout) -> str:
    """The address of that repository, where the first cell may fetch it."""
    return archive(checkout)
