"""API keys in a configuration text that is held in memory: written, read again and judged as the file would be."""

import json
from collections.abc import Callable, Iterable

from blazar.application.access.key_book import KeyBook, key_of
from blazar.application.access.manage_keys import ManageKeys
from blazar.application.config.bootstrap import NamedSecret, tables_of
from blazar.application.config.layers import load_config
from blazar.application.ports.ledger import DayUsage
from blazar.domain.keys import Key
from tests.fakes.entropy import CountingEntropy
from tests.fakes.telemetry import MemoryEvents

PATH = "/etc/blazar/config.toml"
OWNER = '[[keys]]\nname = "owner"\nkey = "plm_owners-own-secret"\n'
GUEST = '\n# of Ana\n[[keys]]\nname = "guest"\nkey = "plm_guests-own-secret"  # do not tell\nmodels = ["m"]\nrpm = 3\n'


class KeyRig:
    """`text` is the file, `variable` is BLAZAR_KEYS; `trouble` is raised in the place of the next write."""

    def __init__(self, text: str = OWNER + GUEST, variable: str = "") -> None:
        self.text, self.variable = text, variable
        self.read = text
        self.writes = 0
        self.trouble: Exception | None = None
        self.days: list[DayUsage] = []
        self.asked: list[tuple[str, int]] = []
        self.events = MemoryEvents()
        self.book = KeyBook(PATH, self.change, variable, CountingEntropy().token)
        self.manage = ManageKeys(self.book, self.held, self.catch_up, self.history, self.events)

    def change(self, edit: Callable[[str], str]) -> bool:
        after = edit(self.text)
        if after == self.text:
            return False
        load_config(after, PATH)
        if self.trouble is not None:
            raise self.trouble
        self.text = after
        self.writes += 1
        return True

    def held(self) -> list[Key]:
        """As the daemon has read it."""
        loaded = load_config(self.read, PATH, {"BLAZAR_KEYS": self.variable} if self.variable else {})
        return [key_of(key.model_dump()) for key in loaded.config.keys]

    def names(self) -> list[str]:
        return [key.name for key in self.held()]

    async def catch_up(self) -> None:
        self.read = self.text

    async def history(self, name: str, days: int) -> list[DayUsage]:
        self.asked.append((name, days))
        return self.days[:days]


def text_of(keys: Iterable[Key]) -> str:
    """A file with these, of which only names, secrets and models matter."""
    rows = (
        (NamedSecret(key.name, key.key), f"models = {json.dumps(key.models)}\n" if key.models else "") for key in keys
    )
    return "".join(tables_of([row]) + more for row, more in rows)
