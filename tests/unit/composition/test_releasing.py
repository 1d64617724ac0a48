"""What is configured about releases, as the use cases get it."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from blazar.adapters.files.folders import Folders, folders_from
from blazar.adapters.net.throttle import Throttle
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.application.engines.pick_release import Sources
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here
from blazar.composition.releasing import KEPT_SECS, downloads_of, open_pick, release_installer, sources_of
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.kinds import EngineKind
from blazar.domain.releases import REPOSITORIES
from tests.fakes.hardware import FakeCensus

if TYPE_CHECKING:
    from blazar.adapters.net.downloads import HttpDownloads

UNLIMITED = Throttle(lambda: 0, lambda: 0.0)


def config(text: str = "") -> Config:
    return load_config(text, "config.toml", {}, {}).config


def test_sources() -> None:
    """Channel and flavor from the file, the repository from the environment; it is llama.cpp's."""
    assert sources_of(config(), {}) == Sources("latest", "auto", {})
    told = config('update_channel = "stable"\nengine_asset = "vulkan"')
    other = {EngineKind.LLAMACPP: "me/mirror"}
    assert sources_of(told, {"BLAZAR_REPO": "me/mirror"}) == Sources("stable", "vulkan", other)


def test_a_repository_that_is_none_is_in_nobody_elses_way() -> None:
    """It is refused where llama.cpp is asked for; another kind has its own."""
    pick, close = open_pick(config(), {"BLAZAR_REPO": "no repository"}, FakeCensus())
    with pytest.raises(Malformed, match="BLAZAR_REPO"):
        pick.target(EngineKind.LLAMACPP)
    assert pick.repository(EngineKind.SDCPP) == REPOSITORIES[EngineKind.SDCPP]
    close()


def test_a_feed_is_opened_for_this_machine() -> None:
    """Its address is looked at first; nothing is asked."""
    pick, close = open_pick(config(), {}, FakeCensus())
    assert pick.system
    close()
    with pytest.raises(RegistryTrouble, match="BLAZAR_GH_BASE"):
        open_pick(config(), {"BLAZAR_GH_BASE": "x"}, FakeCensus())


def test_downloads_follow_the_keys() -> None:
    """How many connections, from which size on."""
    loads = downloads_of(config("download_connections = 3"), {}, UNLIMITED)
    assert (loads.rules.connections(1 << 20), loads.rules.connections(64 << 20)) == (1, 3)
    assert downloads_of(config(), {}, UNLIMITED).rules.connections(64 << 20) == 8


def test_models_and_engines_of_a_process_keep_to_one_limit(tmp_path: Path) -> None:
    """One bucket: what an engine brought is paid for before a model's next bytes."""
    (tmp_path / "config.toml").write_text("download_speed_limit_mb = 1\n")
    waits = list[float]()

    def wait(secs: float) -> None:
        waits.append(secs)
        raise TimeoutError

    with closing(Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])) as local:
        install, close = release_installer(local, local.engines().installer)
        close()
        model, sources = pull_here(local).transport.downloads, downloads_of(config(), {}, local.throttle)
        cast("HttpDownloads", install.downloads).rules.pay(
            1_000_000, wait
        )  # a second's worth is there at the beginning
        for other in (cast("HttpDownloads", model), sources):
            with pytest.raises(TimeoutError):
                other.rules.pay(500_000, wait)
    assert len(waits) == 2


def test_named_mirrors_may_lie_inside() -> None:
    """Whatever they resolve to; nobody else, and by default none."""
    assert downloads_of(config(), {}, UNLIMITED).ours().hosts == ()
    told = config('capability_registry_url = "https://lists.example/x.json"')
    env = {"BLAZAR_GH_BASE": "https://a.example:8443/gh", "BLAZAR_INSTALL_BASE_URL": "https://b.example"}
    ours = downloads_of(told, env, UNLIMITED).ours()
    assert (ours.hosts, ours.where) == (("a.example:8443", "b.example", "lists.example"), "BLAZAR_GH_BASE")


def test_old_partials_go_when_the_next_download_begins(tmp_path: Path) -> None:
    """What nobody came back for; what is young stays."""
    import os
    import time

    env = {"XDG_CONFIG_HOME": str(tmp_path / "c"), "XDG_DATA_HOME": str(tmp_path / "d"), "HOME": str(tmp_path)}
    local = Local(folders_from(env), env, lambda _: [])
    folder = local.folders.ensure().downloads
    folder.mkdir()
    for name in ("old.part", "young.part"):
        (folder / name).write_bytes(b"x")
    long_ago = time.time() - KEPT_SECS - 10
    os.utime(folder / "old.part", (long_ago, long_ago))
    _, close = release_installer(local, local.engines().installer)
    close()
    local.close()
    assert [path.name for path in folder.iterdir()] == ["young.part"]
