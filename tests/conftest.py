"""A browser with pages of the built book, and a copy of the project."""

from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.helpers.browser import (
    CHAPTERS,
    NO_BOOK,
    PAGES,
    executable,
    open_page,
)
from tests.helpers.project import copy_project, run


@pytest.fixture(scope="module")
def browser():
    if not PAGES:
        pytest.fail(NO_BOOK)
    path = executable()
    with sync_playwright() as play:
        chromium = play.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module", params=CHAPTERS)
def chapter(browser, request):
    """Every chapter, once; the last tests work its switches."""
    view = open_page(browser, request.param)
    yield view
    view.page.context.close()


@pytest.fixture
def visit(browser):
    """Open pages that the test may change."""
    views = []

    def visit(*args):
        views.append(open_page(browser, *args))
        return views[-1]

    yield visit
    for view in views:
        view.page.context.close()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A repository whose only commit is the working tree as it is now."""
    copy = copy_project(tmp_path_factory.mktemp("checkout"))
    me = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org"]
    run(copy, "git", "add", "-A").check_returncode()
    run(copy, "git", *me, "commit", "-qm", "All").check_returncode()
    return copy
