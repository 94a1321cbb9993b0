"""`defaults:` of a suite: what holds for every entry of its file that does not say it itself."""

from __future__ import annotations

from mcptest.formats.marks import read_tags
from mcptest.formats.suite_expect import BUDGETS, read_budgets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcptest.formats.fields import Fields
    from mcptest.formats.suite_variables import Variables

__all__ = ["DEFAULT_KEYS", "MOST_RETRIES", "Defaults"]

# Tags are added to those of an entry; of everything else the entry's own word counts.
DEFAULT_KEYS = ("server", "tags", "timeout", "retries", "setup", "teardown", *BUDGETS)

MOST_RETRIES = 100


class Defaults:
    """What stands under `defaults`, read once, so that each mistake is told once.

    `retries` are those of `run_options`, unless `defaults` has its own.
    """

    def __init__(self, top: Fields, variables: Variables, retries: int | None) -> None:
        fields = top.mapping_at("defaults") or top.at(("defaults",))
        fields.refuse_unknown(DEFAULT_KEYS, (), '"defaults"')
        self.fields = fields
        self.used: set[str] = set()
        self.tags = read_tags(fields, "tags") if "tags" in fields.mapping else ()
        self.timeout_s = fields.duration_s("timeout")
        self.retries = retries
        if "retries" in fields.mapping:
            self.retries = fields.whole_number("retries", 0, MOST_RETRIES, 0)
        variables.asked()
        given = {key: fields.mapping[key] for key in BUDGETS if key in fields.mapping}
        filled = {key: variables.fill(value, fields.at((key,))) for key, value in given.items()}
        self.budgets = read_budgets(fields.replaced(filled))
        # What every test needs of the environment.
        self.needs = variables.asked()

    def owner_of(self, key: str, entry: Fields) -> Fields:
        """Where a key of an entry stands: in the entry itself, or here."""
        if key in entry.mapping or key not in self.fields.mapping:
            return entry
        self.used.add(key)
        return self.fields
