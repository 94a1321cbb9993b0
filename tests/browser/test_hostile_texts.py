"""Whatever files and servers write, a page shows it: it runs nothing and asks for nothing."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from chromium import PATIENCE_S
from runs import diagnostic_of, fault_of, page_of, run_of_texts

from mcptest.core.events import RunFinished, RunStarted
from mcptest.core.results import Summary
from mcptest.core.text import visible
from mcptest.reporters.html.page import render_failure_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chromium import Tab

pytest_plugins = ["browsing"]

# Each of these does something in a page that does not escape it; HOME is our listener.
ACTIVE = (
    '<script>window.canary="script"</script>',
    '<img src="HOME/image" onerror="window.canary=1">',
    '"><img src=HOME/quoted>',
    "'><img src=HOME/single>",
    '</script><script>alert("dialog")</script>',
    '</style><style>@import "HOME/style.css";</style>',
    "</title><svg onload=\"window.canary='svg'\"></svg>",
    "--><img src=HOME/comment><!--",
    '</pre></details></main><iframe src="HOME/frame"></iframe>',
    '<link rel="stylesheet" href="HOME/link.css">',
    '<meta http-equiv="refresh" content="0;url=HOME/refresh">',
    '<object data="HOME/object"></object>',
    "<input autofocus onfocus=window.canary=1>",
    '<video src="HOME/video" autoplay></video>',
    '<div style="background: url(HOME/background)">x</div>',
    "<script>console.log(`${1 + 1}`)</script>",
    "<script>throw 1</script>",
)
# These do harm only in some place, some reading or some eye.
QUIET = (
    "javascript:window.canary=1",
    '<a href="javascript:window.canary=1">x</a>',
    "' onmouseover='window.canary=1' x='",
    '" onclick="window.canary=1" x="',
    "${window.canary=1}",
    "$body $script ${title} $$",
    "{{constructor.constructor('window.canary=1')()}}",
    "]]><![CDATA[<script>window.canary=1</script>]]>",
    "<!--",
    "<plaintext>",
    "<textarea>",
    "<base href='HOME/'>",
    "&lt;script&gt; &#60;script&#62; &amp;amp;",
    "+ADw-script+AD4-window.canary=1+ADw-/script+AD4-",
    "\x00<scr\x00ipt>window.canary=1</script>",
    "\u202e\u2066txt.exe\u2069 \u200f \u05d0\u05d1\u05d2",
    "\ud800 \udfff \udc00\ud800",
    "a\r\n\u2028\u2029\x85\x1b[31mred",
    "\ufeff\u200b\ufe0f\U000e0041",
    "x" * 5_000,
    "W" * 400 + " " + "\u0e01\u0e33" * 200,
)

# Everything a page of ours is made of.
TAGS = frozenset(
    """html head meta title style body header main section nav footer form label input fieldset
    button output h1 h2 h3 p div span strong a ul ol li dl dt dd details summary pre code table
    thead tbody tr th td svg rect script""".split()  # noqa: SIM905  # a list would be 44 lines
)


class Home(ThreadingHTTPServer):
    """A place on this machine for pages to call, and to be caught: it has nothing for them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self.calls = 0
        self.url = f"http://127.0.0.1:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        self.calls += 1
        super().process_request(request, client_address)


@pytest.fixture
def home() -> Iterator[Home]:
    with Home() as home:
        thread = threading.Thread(target=home.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield home
        home.shutdown()
        thread.join(PATIENCE_S)


def aimed(text: str, home: Home) -> str:
    return text.replace("HOME", home.url)


def shown(tab: Tab, path: Path, page: str) -> None:
    path.write_bytes(page.encode("utf-8", "backslashreplace"))
    tab.show(path)


def is_noticed(tab: Tab, path: Path, page: str) -> bool:
    """Whether a page does something that it should not."""
    try:
        shown(tab, path, page)
        return bool(tab.deeds or tab.value("window.canary !== undefined"))
    except RuntimeError as error:
        # It went elsewhere while we were looking, which is a deed as well.
        return "navigated" in str(error)


def use_everything(tab: Tab) -> None:
    """Open, press and follow all there is, and search for what is there."""
    tab.value(
        """(() => {
        for (const each of document.querySelectorAll("details")) each.open = true;
        for (const each of document.querySelectorAll("button")) each.click();
        for (const each of document.querySelectorAll("a")) each.click();
        for (const each of document.querySelectorAll("*"))
            for (const kind of ["mouseover", "focus", "click", "toggle", "error", "load"])
                each.dispatchEvent(new Event(kind));
        const box = document.querySelector("input");
        if (box) { box.value = "<script>"; box.dispatchEvent(new Event("input")); }
        })()"""
    )
    tab.settle()


def assert_harmless(tab: Tab, home: Home) -> None:
    use_everything(tab)
    assert tab.value("window.canary === undefined")
    assert tab.deeds == []
    assert home.calls == 0
    names = "Array.from(document.querySelectorAll('*'), each => each.localName)"
    assert set(tab.value(names)) <= TAGS
    attributes = (
        "Array.from(document.querySelectorAll('*')).flatMap(each => each.getAttributeNames())"
    )
    assert not {name for name in tab.value(attributes) if name.startswith(("on", "src", "style"))}
    targets = tab.value(
        "Array.from(document.querySelectorAll('[href]'), e => e.getAttribute('href'))"
    )
    assert all(target.startswith("#") for target in targets)
    assert tab.value("document.scripts.length") == 1


@pytest.mark.parametrize("text", ACTIVE)
def test_each_of_these_would_be_noticed_in_a_page_that_does_not_escape(
    text: str, tab: Tab, home: Home, tmp_path: Path
) -> None:
    raw = f"<!doctype html><title></title><style></style><body>{aimed(text, home)}"
    assert is_noticed(tab, tmp_path / "raw.html", raw)


def test_a_page_that_calls_is_caught_by_the_one_it_calls(
    tab: Tab, home: Home, tmp_path: Path
) -> None:
    shown(tab, tmp_path / "raw.html", f"<!doctype html><img src={home.url}>")
    assert home.calls > 0


def test_a_run_full_of_hostile_texts_is_shown_and_does_nothing(
    tab: Tab, home: Home, tmp_path: Path
) -> None:
    texts = [aimed(text, home) for text in (*ACTIVE, *QUIET)]
    shown(tab, tmp_path / "run.html", page_of(run_of_texts(texts)))
    names = tab.value("Array.from(document.querySelectorAll('.tests .name'), e => e.textContent)")
    short = [visible(text) for text in texts if len(text) <= 300]
    assert [name for name in names[::4] if "more…" not in name] == short
    assert_harmless(tab, home)


def test_a_run_without_a_server_that_says_hostile_things_does_nothing(
    tab: Tab, home: Home, tmp_path: Path
) -> None:
    text = aimed("\n".join((*ACTIVE, *QUIET)), home)
    started = RunStarted(started_at=text, server=text, suites=1, total=1)
    finished = RunFinished(summary=Summary(), duration_s=0.0, fault=fault_of(text))
    shown(tab, tmp_path / "fault.html", page_of([started, finished]))
    assert_harmless(tab, home)


def test_a_run_that_never_began_over_hostile_files_does_nothing(
    tab: Tab, home: Home, tmp_path: Path
) -> None:
    texts = [aimed(text, home) for text in (*ACTIVE, *QUIET)]
    diagnostics = [diagnostic_of(text) for text in texts]
    page = render_failure_page(texts[0], " ".join(texts), diagnostics, texts[1], texts[2])
    shown(tab, tmp_path / "failure.html", page)
    assert_harmless(tab, home)


def test_the_policy_alone_stops_scripts_that_were_not_escaped(
    tab: Tab, home: Home, tmp_path: Path
) -> None:
    """Were escaping to fail one day, the browser would still refuse all of it."""
    page = page_of(run_of_texts(["x"]))
    active = "".join(text for text in ACTIVE if "refresh" not in text)
    holed = page.replace("<footer>", f"{aimed(active, home)}<footer>")
    shown(tab, tmp_path / "holed.html", holed)
    assert tab.value("window.canary === undefined")
    assert home.calls == 0
    # A refused request is still announced; the assertion above shows that none was sent.
    kinds = {deed.split()[0] for deed in tab.deeds}
    assert kinds <= {"Log.entryAdded", "Page.frameAttached", "Network.requestWillBeSent"}
    assert any("Content Security Policy" in deed for deed in tab.deeds)
