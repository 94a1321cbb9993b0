"""A browser for the tests in this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from chromium import Browser, Tab

from tools.environment import BROWSERS, find_browser

if TYPE_CHECKING:
    from collections.abc import Iterator


def required(program: str | None, *, is_ci: bool) -> str:
    """The browser. Without one the tests are skipped, save where that would go unseen."""
    if program is None:
        complaint = f"there is no browser here; one of these is needed: {', '.join(BROWSERS)}"
        if is_ci:
            pytest.fail(complaint)
        pytest.skip(complaint)
    return program


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = required(find_browser(), is_ci=os.environ.get("CI") == "true")
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    try:
        yield browser
    finally:
        browser.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    tab = browser.open_tab()
    yield tab
    tab.close()
