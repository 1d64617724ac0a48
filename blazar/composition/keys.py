"""What administers API keys is put together here, for the daemon and for verbs that find none."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.root import ApiKeys
from blazar.adapters.files.configfile import change_config
from blazar.adapters.telemetry.entropy import OsEntropy
from blazar.application.access.key_book import KeyBook, key_of
from blazar.application.access.rows import key_row, told_once, usage_row
from blazar.application.config.bootstrap import VARIABLE

if TYPE_CHECKING:
    from quart import Blueprint

    from blazar.adapters.files.folders import Folders
    from blazar.application.access.record_usage import RecordUsage
    from blazar.composition.foundation import Foundation
    from blazar.composition.local import Local


def key_book(folders: "Folders", env: Mapping[str, str] = os.environ) -> KeyBook:
    """The keys in the configuration file, which is for its owner alone once one was written there by us."""
    return KeyBook(
        str(folders.config_file),
        partial(change_config, folders.config_file, private=True),
        env.get(VARIABLE, ""),
        OsEntropy().token,
    )


class LocalKeys(ApiKeys):
    """The keys of this folder's configuration without a daemon."""

    def __init__(self, local: "Local") -> None:
        self._local = local

    @property
    def _book(self) -> KeyBook:
        local = self._local
        local.folders.check_config()
        return key_book(local.folders, local.env)

    def rows(self) -> list[dict[str, Any]]:
        return [key_row(key_of(key.model_dump())) for key in self._local.settings().loaded.config.keys]

    def add(self, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        return told_once(self._book.add(name, settings))

    def rotate(self, name: str) -> dict[str, Any]:
        return told_once(self._book.rotate(name))

    def remove(self, name: str) -> str:
        return self._book.remove(name).name

    def usage(self, name: str, days: int) -> list[dict[str, Any]]:
        from blazar.adapters.store.ledger import SqliteLedger
        from blazar.domain import teaching
        from blazar.domain.errors import NotFound

        found = SqliteLedger(self._local.database).of_key(name, days)
        if not found and all(row["name"] != name for row in self.rows()):
            raise NotFound(teaching.key_not_found(name))
        return [usage_row(day) for day in found]


def key_pages(
    foundation: "Foundation", env: Mapping[str, str], catch_up: Callable[[], Awaitable[None]], usage: "RecordUsage"
) -> "Blueprint":
    """The routes under /api/keys."""
    from blazar.adapters.http.manage.keys import keys_blueprint
    from blazar.application.access.manage_keys import ManageKeys

    manage = ManageKeys(
        key_book(foundation.folders, env), lambda: foundation.keys, catch_up, usage.history, foundation.events
    )
    return keys_blueprint(manage)
