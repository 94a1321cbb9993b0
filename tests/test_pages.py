"""Pages whose commands are run, in order, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tools.environment import NODE_FOLDER
from tools.run_pages import DOCS, PageError, is_same, run_command, run_page

PAGES = ("coming-from.md", "index.md", "tutorial.md", "which-format.md")


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_commands_on_a_page_print_the_shown_output(name: str, tmp_path: Path) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    if "\naegis " in page and not (NODE_FOLDER / "node_modules" / "mcp-aegis").exists():
        pytest.skip("mcp-aegis is not installed: ./check does it where there is npm")
    assert run_page(page, tmp_path) == page
    for workflow in tmp_path.glob(".github/workflows/*.yml"):
        [job] = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
        for command in (step["run"] for step in job["steps"] if "run" in step):
            # Everything is installed here, and what the page runs itself has been run.
            if not command.startswith("pip ") and f"\n{command}\n" not in page:
                run_command(command, tmp_path)


PAGE = """
```python title="hello.py"
print("hello")
```

```sh
python3 hello.py
```

```text
hello
```
"""


def test_a_page_that_shows_other_output_is_noticed(tmp_path: Path) -> None:
    wrong = PAGE.replace("```text\nhello", "```text\ngoodbye")
    assert run_page(PAGE, tmp_path) == PAGE
    assert run_page(wrong, tmp_path) == PAGE


def test_an_exit_code_that_the_page_does_not_show_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="exited with 3"):
        run_page("```sh\nexit 3\n```\n", tmp_path)
    run_page("```sh\nexit 3 # exits with 3\n```\n", tmp_path)


def test_a_change_of_lines_that_are_not_there_is_an_error(tmp_path: Path) -> None:
    change = '```diff title="hello.py"\n-print("bye")\n+print("hi")\n```\n'
    with pytest.raises(PageError, match=r"not in hello\.py exactly once"):
        run_page(PAGE + change, tmp_path)


def test_lines_may_be_left_out_and_durations_differ() -> None:
    assert is_same("a (1 ms)\n…\nd\n", "a (<1 ms)\nb\nc\nd\n")
    assert not is_same("a (1 ms)\n…\nd\n", "a (<1 ms)\nb\nc\ne\n")
