"""The configuration read again while the daemon runs."""

import asyncio
from collections.abc import Callable
from typing import Any

from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.live import LiveConfig
from blazar.application.config.model import Config
from blazar.application.ops.reload_config import ReloadConfig
from blazar.domain import teaching
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.telemetry import MemoryEvents
from tests.support.supervision import at_once

KEYED = '[[keys]]\nname = "a"\nkey = "plm_very_secret"\n'


class File:
    """A configuration file, and everything that is told about it."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.live = LiveConfig(self.read())
        self.events, self.clock = MemoryEvents(), FakeClock()
        self.applied: list[tuple[Config, Config]] = []
        self.reload = ReloadConfig(self.live, self.read, self.apply, self.events, self.clock, at_once)

    def read(self) -> Loaded:
        return load_config(self.text, "config.toml", {"BLAZAR_LOG": "debug"}, {"port": 4})

    async def apply(self, old: Config, new: Config) -> None:
        assert self.live.config is new, "who is told must see it already"
        self.applied.append((old, new))

    def reads(self, *texts: str, asked: bool = False) -> list[tuple[str, dict[str, Any]]]:
        """What is told while the file says these one after the other."""
        before = len(self.events.emitted)

        async def all_of_them() -> None:
            for text in texts:
                self.text = text
                await self.reload(asked=asked)

        asyncio.run(all_of_them())
        return self.events.emitted[before:]


def test_a_changed_file_is_applied_and_told_by_names() -> None:
    """No value: it may be a secret."""
    file = File()
    told = file.reads("threads = 3\n" + KEYED)
    assert told == [("config_reloaded", {"changed": ("keys", "threads")})]
    assert "plm_very_secret" not in repr(told)
    assert file.live.settings_for("m")["threads"] == 3
    assert [(old.threads, new.threads) for old, new in file.applied] == [(0, 3)]


def test_an_unchanged_file_is_no_news() -> None:
    """As after the keys of BLAZAR_KEYS were written into it; who asked is answered."""
    file = File("threads = 3")
    assert file.reads("# the same\nthreads = 3\n") == []
    assert file.reads("threads = 3", asked=True) == [("config_reloaded", {"changed": ()})]
    assert file.applied == []


def test_who_set_a_key_is_known_anew() -> None:
    """Its line may have moved although no value did."""
    file = File("threads = 3")
    file.reads("# moved\nthreads = 3")
    assert file.live.loaded.origins["threads"].where == "line 2"


def test_a_bad_file_changes_nothing_and_says_why() -> None:
    """Once, with the time since when; until a good one comes, also one that says what held all the while."""
    file = File("threads = 3")
    before = file.live.loaded
    ((kind, facts),) = file.reads("thread = 4", "thread = 4")
    assert (kind, list(facts)) == ("config_refused", ["problems"])
    assert "did you mean" in facts["problems"][0]
    assert file.live.loaded is before
    assert file.live.refused is not None
    assert (file.live.refused.since, file.live.refused.problems) == (EPOCH, facts["problems"])
    asyncio.run(file.clock.advance(60))
    assert [kind for kind, _ in file.reads("threads = [")] == ["config_refused"]
    assert file.live.refused.since == EPOCH, "what was wrong before is wrong since then"
    assert file.reads("threads = 3") == [("config_reloaded", {"changed": ()})]
    assert (file.live.refused, file.applied) == (None, [])


def test_who_asks_hears_of_the_same_mistake_again() -> None:
    """A person who hangs up waits for an answer."""
    file = File()
    assert [kind for kind, _ in file.reads("x = 1", "x = 1", asked=True)] == ["config_refused"] * 2


def test_environment_and_command_line_keep_their_precedence() -> None:
    """A file must not undo what the start said."""
    file = File()
    file.reads('port = 9\nlog_level = "error"\nthreads = 1')
    assert (file.live.config.port, file.live.config.log_level, file.live.config.threads) == (4, "debug", 1)
    assert file.live.pending == ()


def test_keys_of_the_socket_wait_for_a_restart() -> None:
    """The running value holds; said once, and again when it is another set of keys."""
    file = File('host = "127.0.0.1"')
    wanted = 'host = "0.0.0.0"'
    sentence = teaching.config_restart_needed(["host"])
    assert file.reads(wanted) == [("restart_needed", {"keys": ("host",), "why": sentence})]
    assert (file.live.config.host, file.live.pending) == ("127.0.0.1", ("host",))
    assert file.reads(wanted + "\nthreads = 2") == [("config_reloaded", {"changed": ("threads",)})]
    assert file.reads("") == [("config_reloaded", {"changed": ("threads",)})]
    assert file.live.pending == ()


def test_the_last_key_gone_is_told_loudly() -> None:
    """The gateway is open from then on; where there was none before, nothing changed."""
    file = File(KEYED)
    assert [kind for kind, _ in file.reads("threads = 2")] == ["config_reloaded", "gateway_open"]
    assert [kind for kind, _ in file.reads("threads = 1")] == ["config_reloaded"]


def test_what_is_newly_accepted_with_a_warning_is_told_once() -> None:
    """As at a start; it goes on holding, and is not repeated with every reload."""
    file = File()
    remote = '[[remotes]]\nname = "a"\nurl = "http://10.0.0.9"'
    kinds = [kind for kind, _ in file.reads(remote)]
    # Its key goes in clear over the network, and no version reads remotes yet.
    assert kinds == ["config_reloaded", "config_warning", "config_warning"]
    assert [kind for kind, _ in file.reads("threads = 1\n" + remote)] == ["config_reloaded"]


def test_two_reloads_do_not_mix() -> None:
    """One ends before the next begins (case G7)."""
    file = File()
    busy: list[int] = []

    async def slowly(work: Callable[[], Any]) -> Any:
        busy.append(1)
        assert len(busy) == 1
        await asyncio.sleep(0)
        found = work()
        await asyncio.sleep(0)
        busy.pop()
        return found

    file.reload.blocking = slowly

    async def both() -> None:
        file.text = "threads = 1"
        await asyncio.gather(*(file.reload() for _ in range(5)))

    asyncio.run(both())
    assert len(file.applied) == 1


def test_a_file_that_is_lost_lets_nobody_in() -> None:
    """Empty, or not there: the keys that were in force still are, and it is told until the file is back (B11)."""
    file = File("threads = 3\n" + KEYED)
    for lost in ("", "\n# nothing left\n"):
        ((kind, facts),) = file.reads(lost, asked=True)
        assert (kind, facts["problems"]) == ("config_refused", (teaching.keys_file_gone(),))
        assert [key.name for key in file.live.config.keys] == ["a"]
        assert file.live.config.threads == 3
    assert file.reads("threads = 3\n" + KEYED) == [("config_reloaded", {"changed": ()})]
