"""What a start takes from file and environment, through a real daemon."""

import json
from pathlib import Path

from tests.support.daemon import Daemon
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny

KEYS = {"BLAZAR_KEYS": "ci:plm_bootstrap"}


def test_bootstrap_keys_are_written_once_and_open_the_door(tmp_path: Path) -> None:
    """The first start appends them; from then on the file is what holds, with or without the variable (D26)."""
    with Daemon(tmp_path, "# mine\nspawn_mem_guard = false\n", KEYS) as daemon:
        assert daemon.ask("GET", "/v1/models").status == 401
        assert daemon.ask("GET", "/v1/models", headers={"authorization": "Bearer plm_bootstrap"}).status == 200
        daemon.must("ps")
        assert daemon.config_file.read_text().startswith("# mine\n")
        assert daemon.config_file.stat().st_mode & 0o777 == 0o600
        written = daemon.config_file.read_bytes()
        assert daemon.stop() == 0
        del daemon.env["BLAZAR_KEYS"]
        daemon.start()
        assert daemon.ask("GET", "/v1/models").status == 401
        daemon.must("ps")
        assert daemon.config_file.read_bytes() == written
        assert len(list(daemon.config_file.parent.glob("*.bak"))) == 1


def test_a_remote_in_clear_is_warned_of_at_the_start(tmp_path: Path) -> None:
    """Once, in the log, and by `config validate`; a public one is refused before anything is bound."""
    remote = '[[remotes]]\nname = "box"\nkey = "hush"\nurl = "http://{}"\n'
    with Daemon(tmp_path, remote.format("10.0.0.9:8000")) as daemon:
        log = (daemon.run_dir / "daemon.log").read_text()
        assert log.count("remote 'box': the key travels unencrypted over the local network to 10.0.0.9") == 1
        assert "warning: remote 'box'" in daemon.must("config", "validate")
        assert "hush" not in log + daemon.must("config", "list")
    public = Daemon(tmp_path / "public", remote.format("example.com"))
    refused = public.cli("serve", "--port", "0")
    assert refused.returncode == 1
    assert "line 4: 'remotes.url' would send the key unencrypted to example.com" in refused.stderr


def test_an_engine_that_needs_a_variable_is_asked_and_started_with_it(tmp_path: Path) -> None:
    """`engine_env` reaches trial, --help and child; a word that its --help lacks is refused by name, before any child."""
    engine = stub_server(tmp_path / "bin")
    picky = tmp_path / "llama-server"
    picky.write_text(f'#!/bin/sh\n[ "$NEEDED" = 1 ] || exit 127\nexec {engine} "$@"\n')
    picky.chmod(0o755)
    config = (
        'spawn_mem_guard = false\nmodels_autoload = ["m"]\n[engine_env]\nNEEDED = "1"\n'
        '[[keys]]\nname = "a"\nkey = "plm_1"\n[model_overrides.other]\nextra_args = ["--temprature", "-1"]\n'
    )
    ready = Daemon(tmp_path, config, {"BLAZAR_ENGINE_PATH": str(picky)})
    for name in ("m", "other"):
        ready.must("import", str(tiny().save(tmp_path / f"{name}.gguf")), "--name", name)
    with ready as daemon:
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        key = {"authorization": "Bearer plm_1"}
        assert daemon.ask("POST", "/v1/chat/completions", asked, key).status == 200
        refused = daemon.ask("POST", "/v1/chat/completions", {**asked, "model": "other"}, key)
        assert refused.status == 400
        assert b"does not know --temprature" in refused.body
        argv = json.loads(daemon.must("explain", "m", "--json"))["argv"]
        assert 0 < int(argv[argv.index("--cache-ram") + 1]) <= 8192
