"""Where the configuration comes from, the first time and again."""

import asyncio
import logging
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.composition.reloading import ApplyAll, Source, configured, difference
from blazar.composition.securing import certificates_of
from blazar.domain.errors import BadConfig
from tests.support.certificates import pair


def test_every_reading_has_the_same_precedence(tmp_path: Path) -> None:
    """File, environment, command line; a file that is gone means the defaults, and its stamp tells all of it."""
    file = tmp_path / "config.toml"
    source = Source(Folders(file, tmp_path), {"BLAZAR_LOG": "debug"}, {"port": 5, "host": None})
    assert (source.first().config.threads, source.seen, source.stamp()) == (0, None, None)
    file.write_text('threads = 3\nport = 6\nlog_level = "error"\n')
    assert source.stamp() != source.seen
    config = source.read().config
    assert (config.threads, config.port, config.log_level) == (3, 5, "debug")
    stamp = source.stamp()
    file.write_text("threads = 4\n")
    assert source.stamp() not in (stamp, None)
    file.unlink()
    assert source.read().config.threads == 0


def test_a_named_file_that_is_gone_cannot_be_used(tmp_path: Path) -> None:
    """Defaults in its place would go unnoticed, while it runs as at its start."""
    file = tmp_path / "mine.toml"
    file.write_text("threads = 3")
    source = Source(Folders(file, tmp_path, named=True), {}, {})
    assert source.first().config.threads == 3
    file.unlink()
    with pytest.raises(BadConfig):
        source.read()


def test_a_link_is_its_target(tmp_path: Path) -> None:
    """Another target is a change, and so is what is written to it."""
    one, two, link = (tmp_path / name for name in ("one", "two", "config.toml"))
    one.write_text("threads = 1")
    two.write_text("threads = 1")
    link.symlink_to(one)
    source = Source(Folders(link, tmp_path), {}, {})
    source.first()
    assert source.stamp() == source.seen
    link.unlink()
    link.symlink_to(two)
    assert source.stamp() != source.seen


def test_all_are_told_in_order() -> None:
    """One after the other: doors before children."""
    told: list[tuple[str, Config, Config]] = []
    old, new = Config(), Config(threads=2)

    async def one(*configs: Config) -> None:
        told.append(("one", *configs))

    async def two(*configs: Config) -> None:
        told.append(("two", *configs))

    asyncio.run(ApplyAll(one, two)(old, new))
    assert told == [("one", old, new), ("two", old, new)]


OLD = "threads = 2\n[[keys]]\nname = 'a'\nkey = 'plm_hush'\n[engine_env]\nA = 'hush'\n"
NEW = "[[keys]]\nname = 'a'\nkey = 'plm_hush2'\n[engine_env]\nB = 'hush'\n[model_overrides.m]\nctx = 512\n"


def test_a_difference_is_told_without_secrets() -> None:
    """Key by key; one that is gone has its default again."""
    lines = list(difference(load_config(OLD, "c").config, load_config(NEW, "c").config))
    assert [line.partition(" ")[0] for line in lines] == ["engine_env", "keys", "model_overrides.m.ctx", "threads"]
    assert lines[0] == 'engine_env = { B = "********" } (before: { A = "********" })'
    assert lines[2:] == ["model_overrides.m.ctx = 512 (before: unset)", "threads = 0 (before: 2)"]
    assert "hush" not in "".join(lines)


def test_what_somebody_set_is_told_with_its_origin() -> None:
    """No default, no secret."""
    lines = list(configured(load_config(OLD, "c", {"BLAZAR_LOG": "debug"}, {"port": 5})))
    assert lines[0] == "port = 5 (command line)"
    assert "threads = 2 (file line 1)" in lines
    assert 'log_level = "debug" (environment BLAZAR_LOG)' in lines
    assert "hush" not in "".join(lines)
    assert len(lines) == 5


def test_the_difference_is_logged_where_details_are_wanted(caplog: pytest.LogCaptureFixture) -> None:
    """At debug only."""
    for level in (logging.INFO, logging.DEBUG):
        caplog.set_level(level, "blazar.config")
        asyncio.run(ApplyAll()(Config(), Config(threads=2)))
    assert caplog.messages == ["threads = 2 (before: 0)"]


def test_a_certificate_is_watched_and_read_again_with_the_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A renewed one is a change of what is watched; one that cannot be used is told and takes nothing away."""
    cert, key = pair(tmp_path / "tls")
    (tmp_path / "c.toml").write_text(f'tls_cert = "{cert}"\ntls_key = "{key}"\n')
    source = Source(Folders(tmp_path / "c.toml", tmp_path / "data"), {})
    tls = source.serve_with(certificates_of(source.first().rooted()))
    assert tls is not None
    assert source.seen == source.stamp()
    caplog.set_level("INFO")
    source.read()
    assert caplog.messages == []
    new_cert, new_key = pair(tmp_path / "new")
    new_cert.replace(cert)
    assert source.seen != source.stamp()
    source.read()
    assert "HTTPS goes on with the certificate that it has" in caplog.messages[-1]
    new_key.replace(key)
    source.read()
    assert "new connections are given the certificate" in caplog.messages[-1]
    assert len(caplog.messages) == 2


def test_without_a_certificate_nothing_of_one_is_watched(tmp_path: Path) -> None:
    """The file alone."""
    source = Source(Folders(tmp_path / "c.toml", tmp_path / "data"), {})
    source.first()
    assert source.serve_with(None) is None
    assert source.seen == source.stamp() is None
