"""A browser for the tests in this folder, as a plugin: type checkers allow one conftest."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from chromium import Browser, Tab, required

from tools.environment import find_browser

if TYPE_CHECKING:
    from collections.abc import Iterator


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
