"""What the thin verbs are made of, by hand and without a container: each part is imported and built when it is first used.

`ps` must reach the daemon without paying for SQLModel, pydantic or Quart (D25), so nothing heavy stands at the top here.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from blazar.adapters.cli.locate import Target, api_key, find_target, read_note, takes_key_from_file
from blazar.adapters.cli.root import ApiKeys, Engines, Models, Root, Settings
from blazar.adapters.files.folders import Folders, folders_from
from blazar.adapters.hardware.processes import SystemProcesses

if TYPE_CHECKING:
    from blazar.adapters.cli.client import DaemonClient
    from blazar.composition.local import Local
    from blazar.domain.search import Hit


class ClientRoot(Root):
    """The root of every verb."""

    def __init__(self, args: argparse.Namespace, env: Mapping[str, str] | None = None) -> None:
        self._args = args
        self.env: Mapping[str, str] = os.environ if env is None else env

    @cached_property
    def places(self) -> Folders:
        return folders_from(self.env, self._args.config)

    @property
    def program(self) -> Sequence[str]:
        # -P: a folder called blazar in the current directory must not be run instead.
        return (sys.executable, "-P", "-m", "blazar")

    @cached_property
    def processes(self) -> SystemProcesses:
        return SystemProcesses()

    def target(self) -> Target:
        return find_target(self._args.target, self.env, self.places.run, self.processes, self.places.config_file)

    def client(self) -> "DaemonClient":
        target = self.target()
        return self._client_of(target.url, ours=target.note is not None)

    def _client_of(self, url: str, *, ours: bool) -> "DaemonClient":
        from blazar.adapters.cli.client import DaemonClient

        key = api_key(self.env, self.places.config_file, url)
        return DaemonClient(url, key, lambda: self._key_trouble(url), ours=ours)

    def _key_trouble(self, url: str) -> str:
        """What is wrong with the file that a key would be taken from, as `config validate` tells it; "" where nothing is."""
        if not takes_key_from_file(self.env, url):
            return ""
        from blazar.adapters.files.configfile import read_config
        from blazar.domain.errors import BadConfig

        try:
            self.places.check_config()
            read_config(self.places.config_file, {})
        except BadConfig as wrong:
            return str(wrong)
        return ""

    def serve(self, args: argparse.Namespace) -> int:
        from blazar.composition.serve import main

        return main(args)

    @cached_property
    def local(self) -> "Local":
        from blazar.composition.local import Local

        return Local(self.places, self.env, self.models_served_by)

    @property
    def models(self) -> Models:
        return self.local.models()

    @property
    def engines(self) -> Engines:
        return self.local.engines()

    @property
    def settings(self) -> Settings:
        return self.local.settings()

    @property
    def keys(self) -> ApiKeys:
        from blazar.composition.keys import LocalKeys

        return LocalKeys(self.local)

    def fit(self, question: Mapping[str, Any]) -> dict[str, Any]:
        from blazar.composition.preview import preview_here

        return preview_here(self.local)(question)

    def search(self, word: str, limit: int) -> "Sequence[Hit]":
        from blazar.composition.searching import search_here

        return search_here(self.local)(word, limit)

    def diagnose(self) -> dict[str, Any]:
        return self.local.diagnose()

    def remarks(self) -> dict[str, list[dict[str, Any]]]:
        return self.local.remarks()

    def check_start(self, config: str | None) -> None:
        from blazar.composition.local import Local

        local = Local(folders_from(self.env, config), self.env, self.models_served_by)
        try:
            local.check_start()
        finally:
            local.close()

    def start_warnings(self, host: str | None, config: str | None) -> list[str]:
        from blazar.composition.cautions import open_door
        from blazar.composition.reloading import Source
        from blazar.domain.errors import BadConfig

        try:
            loaded = Source(folders_from(self.env, config), self.env, {"host": host}).read()
        except BadConfig:  # it was good when the daemon read it
            return []
        return [*loaded.warnings, *open_door(loaded.config)]

    def models_served_by(self, tag: str) -> list[str]:
        """What runs on an engine build right now, as the daemon of this folder says; nothing runs without one."""
        note = read_note(self.places.run, self.processes)
        if note is None:
            return []
        rows = self._client_of(note.url, ours=True).call("GET", "/api/ps").get("models") or []
        return [str(row["name"]) for row in rows if row.get("engine") == tag]

    def close(self) -> None:
        if "local" in self.__dict__:
            self.local.close()
