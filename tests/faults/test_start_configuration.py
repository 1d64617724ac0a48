"""What a start takes from file and environment, through a real daemon."""

import json
from pathlib import Path

from blazar.domain import teaching
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


def test_what_variables_and_the_command_line_say_is_never_written(tmp_path: Path) -> None:
    """They hold while the daemon runs; whoever edits the file meanwhile finds in it what was there."""
    config = "# mine\nport = 11499\ndefault_ctx = 2048\n"
    with Daemon(tmp_path, config, {"BLAZAR_DEFAULT_CTX": "768"}) as daemon:
        values = daemon.ask("GET", "/api/config").json()["values"]
        assert (values["port"], values["default_ctx"]) == (0, 768)
        daemon.must("config", "set", "max_loaded_models", "2")
        assert daemon.stop() == 0
        assert daemon.config_file.read_text() == f"{config}max_loaded_models = 2\n"


def test_a_path_counts_from_the_file_that_names_it(tmp_path: Path) -> None:
    """Neither from where the daemon was started nor from where children run; the same for the warning where it is not there."""
    config = 'spawn_mem_guard = false\n[model_overrides.m]\nchat_template_file = "made/t.jinja"\n'
    daemon = Daemon(tmp_path, config, {"BLAZAR_ENGINE_PATH": str(stub_server(tmp_path / "bin"))})
    warning = teaching.override_file_gone("m", "chat_template_file", "made/t.jinja")
    assert warning in daemon.must("config", "validate")
    template = daemon.config_file.parent / "made" / "t.jinja"
    template.parent.mkdir()
    template.write_text("{{ messages[0].content }}")
    assert warning not in daemon.must("config", "validate")
    daemon.must("import", str(tiny().save(tmp_path / "m.gguf")))
    with daemon:
        argv = json.loads(daemon.must("explain", "m", "--json"))["argv"]
        assert argv[argv.index("--chat-template-file") + 1] == str(template)
        asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        assert daemon.ask("POST", "/v1/chat/completions", asked).status == 200
        assert daemon.must("config", "get", "model_overrides.m.chat_template_file").strip() == "made/t.jinja"


def test_a_file_that_one_model_lacks_stops_no_other(tmp_path: Path) -> None:
    """The daemon starts, says so, and refuses that model alone."""
    config = 'spawn_mem_guard = false\n[model_overrides.m]\nchat_template_file = "gone.jinja"\n'
    daemon = Daemon(tmp_path, config, {"BLAZAR_ENGINE_PATH": str(stub_server(tmp_path / "bin"))})
    for name in ("m", "n"):
        daemon.must("import", str(tiny().save(tmp_path / f"{name}.gguf")))
    with daemon:
        asked = {"messages": [{"role": "user", "content": "hi"}]}
        assert daemon.ask("POST", "/v1/chat/completions", {"model": "n", **asked}).status == 200
        refused = daemon.ask("POST", "/v1/chat/completions", {"model": "m", **asked})
        assert (refused.status, "chat_template_file" in str(refused.json())) == (400, True)


def test_a_variable_of_the_daemon_is_known_to_another_shell(tmp_path: Path) -> None:
    """Who sets the key there, and who asks the doctor, is told why the daemon does not follow."""
    daemon = Daemon(tmp_path, "default_ctx = 512\n", {"BLAZAR_DEFAULT_CTX": "256"})
    with daemon:
        assert teaching.variable_over_file("BLAZAR_DEFAULT_CTX", "default_ctx") in daemon.cli("doctor").stdout
        daemon.env = {name: value for name, value in daemon.env.items() if name != "BLAZAR_DEFAULT_CTX"}
        told = teaching.config_shadowed_there("default_ctx", "environment", "BLAZAR_DEFAULT_CTX")
        assert told in daemon.must("config", "set", "default_ctx", "1024")
