"""The data folder without a daemon, through the real parts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, BadModelFile, Malformed, ModelNotFound, NotFound
from blazar.domain.kinds import Weights
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Origin
from tests.fakes.engines import an_engine
from tests.support.gguf_files import Gguf, Row
from tests.support.safetensors_files import MLX, OVIS, QWEN, TAE, model_folder, safetensors

gguf = pytest.importorskip("gguf")
ORIGIN = Origin("hf:o/r:F32", "ab" * 32, "MIT", 1_800_000_000.0)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    """An empty data folder, closed at the end."""
    parts = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])
    yield parts
    parts.close()


def a_model(path: Path) -> Path:
    """The smallest file that is a model."""
    numpy = pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(8)
    writer.add_block_count(1)
    writer.add_head_count(1)
    writer.add_tensor("token_embd.weight", numpy.zeros((4, 8), dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_closing_what_was_never_opened(tmp_path: Path) -> None:
    """No database comes into being by that."""
    Local(Folders(tmp_path / "c", tmp_path / "d"), {}, lambda _: []).close()
    assert list(tmp_path.iterdir()) == []


def test_a_models_life(local: Local, tmp_path: Path) -> None:
    """Import, list, show, copy, remove: the file of the user stays."""
    file = a_model(tmp_path / "Some-Model.gguf")
    models = local.models()
    assert models.add(str(file), None)[0].name == "some-model"
    assert models.add(str(file), None)[1] is True
    assert models.copy("some-model", "alias").digest == models.list()[1].digest
    shown = models.show("some-model", verbose=True)
    assert (shown["architecture"], shown["context_length"], shown["hardlinked"]) == ("llama", 64, True)
    assert shown["metadata"]["llama.context_length"] == 64
    assert "metadata" not in models.show("some-model", verbose=False)
    assert models.remove("some-model:latest") == "some-model"
    assert [row.name for row in models.list()] == ["alias"]
    assert file.exists()
    with pytest.raises(ModelNotFound):
        models.remove("some-model")


def test_a_model_with_a_projector_can_see(local: Local, tmp_path: Path) -> None:
    """As a daemon says it; not where configuration keeps the projector from it, and a file that cannot be used keeps nothing."""
    file = a_model(tmp_path / "seer.gguf")
    vision = [("general.architecture", "clip"), ("clip.has_vision_encoder", True)]
    Gguf(vision, [Row("v.patch_embd.weight", (14, 14, 3, 64), 1)]).save(tmp_path / "mmproj-F16.gguf")
    models = local.models()
    models.add(str(file), None)
    assert models.show("seer", verbose=False)["capabilities"] == ["completion", "vision"]
    assert models.show("seer", verbose=False)["projector"] == str(tmp_path / "data" / "models" / "seer@mmproj.gguf")
    local.folders.config_file.write_text("port = [\n")
    assert models.show("seer", verbose=False)["capabilities"] == ["completion", "vision"]
    local.folders.config_file.write_text("mmproj_auto = false\n")
    assert models.show("seer", verbose=False)["capabilities"] == ["completion"]


def test_a_file_that_is_no_model_leaves_nothing(local: Local, tmp_path: Path) -> None:
    """Refused before anything is linked."""
    (tmp_path / "x.gguf").write_text("hello")
    with pytest.raises(BadModelFile):
        local.models().add(str(tmp_path / "x.gguf"), None)
    assert local.models().list() == []


def test_settings_say_who_set_them(local: Local) -> None:
    """Defaults, the file, and a file that is wrong."""
    assert local.settings().get("port") == (11435, "11435")
    local.folders.config_file.write_text("port = 1\n")
    rows = {key: (value, where) for key, value, where in local.settings().rows()}
    assert rows["port"][0] == "1"
    assert rows["port"][1].startswith("file")
    assert rows["host"][1] == "default"
    assert local.settings().plain()["port"] == 1
    assert "port = 11435" in local.settings().defaults()
    local.folders.config_file.write_text("prot = 1\n")
    with pytest.raises(BadConfig, match="prot"):
        local.settings().plain()


def test_settings_are_changed_in_the_file(local: Local) -> None:
    """Set, unset, and what each came to; the next question reads the file anew."""
    file = local.folders.config_file
    done = local.settings().change([("gateway.port", ["1"])])[0]
    assert (done.key, done.value, done.before, done.toml, done.was) == ("port", 1, 11435, "1", "11435")
    assert (done.changed, done.restart, done.shadow) == (True, True, "")
    assert local.settings().change([("slots", ["2"])])[0].restart is False
    assert local.settings().get("port") == (1, "1")
    assert local.settings().unset(["port"])[0].toml == "11435"
    again = local.settings().unset(["port"])[0]
    assert (again.changed, again.restart) == (False, False)
    assert file.read_text() == "slots = 2\n"
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BadConfig, match=r"^'slots' must be a whole number"):
        local.settings().change([("slots", ["x"])])[0]


def test_a_variable_that_wins_over_the_file_is_named(tmp_path: Path) -> None:
    """And one that is wrong does not keep the file from being changed."""
    for value, shadow in (("512", "BLAZAR_DEFAULT_CTX"), ("x", "")):
        parts = Local(Folders(tmp_path / "c.toml", tmp_path / "d"), {"BLAZAR_DEFAULT_CTX": value}, lambda _: [])
        assert parts.settings().change([("default_ctx", ["1024"])])[0].shadow == shadow
        assert parts.settings().change([("slots", ["1"])])[0].shadow == ""


def test_a_file_that_was_named_may_be_made_but_not_emptied(tmp_path: Path) -> None:
    """`config set --config new.toml` writes it; taking something out of none is a slip."""
    named = Local(Folders(tmp_path / "new.toml", tmp_path / "d", named=True), {}, lambda _: [])
    for act in (lambda: named.settings().unset(["port"]), named.settings().migrate):
        with pytest.raises(BadConfig, match="no configuration file"):
            act()
    assert named.settings().change([("port", ["1"])])[0].changed


def test_a_file_is_replaced_as_a_whole(local: Local) -> None:
    """What an editor does: read, judge, replace."""
    settings, file = local.settings(), local.folders.config_file
    assert settings.source() == b""
    assert settings.replace(b"", b"port = 1\n") is True
    assert settings.replace(b"", b"port = 2\n") is False
    assert settings.source() == b"port = 1\n"
    with pytest.raises(BadConfig, match=r"copy.toml line 1: unknown key 'prot'"):
        settings.check(b"prot = 1", "copy.toml")
    settings.check(b"port = 3", "copy.toml")
    assert file.read_text() == "port = 1\n"


def test_old_keys_are_migrated_once(local: Local) -> None:
    """With the names; the second time there is nothing to do."""
    local.folders.config_file.write_text('api_keys = ["a"]\n')
    with pytest.raises(BadConfig, match="blazar migrate"):
        local.settings().plain()
    assert local.settings().migrate() == ("key-1",)
    assert local.settings().migrate() is None
    assert [key["name"] for key in local.settings().plain()["keys"]] == ["key-1"]


def test_keys_and_schema_need_no_file(local: Local) -> None:
    """Not even a good one."""
    local.folders.config_file.write_text("prot = 1\n")
    assert "port" in set(local.settings().keys())
    assert "port" in local.settings().schema()["properties"]


def test_the_diagnosis_needs_no_daemon(local: Local) -> None:
    """Every section is there; a wrong configuration is a row, not the end."""
    local.folders.config_file.write_text("prot = 1\n")
    sections = {section["name"]: section["rows"] for section in local.diagnose()["sections"]}
    assert list(sections) == ["SYSTEM", "GPU", "ENGINES", "MODELS", "CHANNELS", "RUNTIME"]
    assert any(row["status"] == "fail" and "prot" in row["detail"] for row in sections["SYSTEM"])
    assert any("no daemon" in row["detail"] for row in sections["RUNTIME"])


def test_builds_are_asked_in_the_configured_environment(local: Local) -> None:
    """`engine_env` reaches the probe; a file that cannot be read does not keep builds from being listed."""
    local.folders.config_file.write_text('[engine_env]\nNEEDED = "1"\n')
    assert local.engines()._probe._extra == {"NEEDED": "1"}
    local.folders.config_file.write_text("port = x\n")
    assert local.engines()._probe._extra == {}


def test_builds_are_asked_once_for_daemon_and_shell(local: Local, tmp_path: Path) -> None:
    """Both keep what they hear in the data folder."""
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\necho '  --alpha  the first'\n")
    program.chmod(0o755)
    assert "--alpha" in local.engines()._probe.manifest(an_engine(server_path=str(program)))
    assert len(list(local.folders.manifests.glob("?" * 64 + ".json"))) == 1


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    """Defaults in its place would go unnoticed; at the usual place nothing is fine."""
    for named in (False, True):
        local = Local(Folders(tmp_path / "nofile.toml", tmp_path / "data", named=named), {}, lambda _: [])
        if named:
            with pytest.raises(BadConfig, match="no configuration file"):
                local.settings().get("port")
        else:
            assert local.settings().get("port")[0] == 11435


@pytest.fixture
def misled(tmp_path: Path) -> Iterator[Local]:
    """A file with two mistakes, named, and a program that is no engine."""
    file = tmp_path / "c.toml"
    file.write_text("prot = 1\nhots = 2\n")
    local = Local(Folders(file, tmp_path / "data", named=True), {"BLAZAR_ENGINE_PATH": "/bin/ls"}, lambda _: [])
    yield local
    local.close()


def test_what_would_keep_a_daemon_from_starting_is_known_before(misled: Local) -> None:
    """File first, then the engine that was named."""
    with pytest.raises(BadConfig, match="prot"):
        misled.check_start()
    misled.folders.config_file.write_text("")
    with pytest.raises(Malformed, match="/bin/ls is no llama-server"):
        misled.check_start()


def test_remarks_are_about_what_was_named(misled: Local, local: Local) -> None:
    """Every problem of the file; nothing at all where nothing was named."""
    found = misled.remarks()
    assert [(row["check"], row["status"]) for row in found["SYSTEM"]] == [("--config", "fail")] * 2
    assert [(row["check"], row["status"]) for row in found["ENGINES"]] == [("BLAZAR_ENGINE_PATH", "fail")]
    assert local.remarks() == {}


def test_a_named_engine_that_is_none_is_left_out_and_told(misled: Local) -> None:
    """A listing says why it lacks it, the diagnosis has a row, and choosing it says the same."""
    engines = misled.engines()
    assert "local" not in [row.tag for row in engines.list()]
    assert "/bin/ls" in engines.trouble
    with pytest.raises(Malformed, match="/bin/ls"):
        engines.use("local")
    (section,) = [part for part in misled.diagnose()["sections"] if part["name"] == "ENGINES"]
    assert section["rows"][0]["status"] == "fail"


def test_a_change_tells_what_it_brought_and_no_older_warning(local: Local) -> None:
    """What `config validate` would say, as far as it is news."""
    assert local.settings().change([("host", ["0.0.0.0"])])[0].warnings == [teaching.open_to_others("0.0.0.0")]
    told = local.settings().change([("model_overrides.m.ctx", ["512"])])[0].warnings
    assert told == [teaching.doctor_override_without_model("m")]
    assert local.settings().change([("model_overrides.m.ctx", ["512"])])[0].warnings == []
    assert local.settings().unset(["host"])[0].warnings == []
    assert list(local.settings().warnings()) == told


def test_a_change_tells_nothing_about_other_keys(local: Local) -> None:
    """A sentence that names several is told for the one that is new; a variable of this shell has a sentence of its own."""
    settings = local.settings
    assert settings().change([("mcp_default", ["all"])])[0].warnings == [teaching.keys_without_effect(["mcp_default"])]
    told = settings().change([("idle_ram_warm", ["false"]), ("remote_fallback", ["true"])])
    assert [one.warnings for one in told] == [
        (),
        [teaching.keys_without_effect(["idle_ram_warm"]), teaching.keys_say_default(["remote_fallback"])],
    ]
    rows = {key: who for key, _, who in settings().rows()}
    assert (rows["idle_ram_warm"], rows["slots"]) == (teaching.no_effect_yet("file line 2"), "default")


def test_a_variable_that_wins_is_told_once(tmp_path: Path) -> None:
    """By the sentence about this shell, and by validation."""
    parts = Local(Folders(tmp_path / "c.toml", tmp_path / "d"), {"BLAZAR_DEFAULT_CTX": "512"}, lambda _: [])
    assert parts.settings().change([("default_ctx", ["1024"])])[0].warnings == []
    assert parts.settings().warnings() == [teaching.variable_over_file("BLAZAR_DEFAULT_CTX", "default_ctx")]


def test_the_diagnosis_tells_what_validation_does(local: Local) -> None:
    """An open door, and a file that is not there."""
    local.folders.config_file.write_text("host = '0.0.0.0'\n[model_overrides.m]\nloras = ['/nope.gguf']\n")
    rows = local.diagnose()["sections"][0]["rows"]
    assert [(row["status"], row["detail"]) for row in rows if row["check"] == "configuration"] == [
        ("warn", teaching.override_file_gone("m", "loras", "/nope.gguf")),
        ("warn", teaching.open_to_others("0.0.0.0")),
    ]


def test_the_life_of_a_diffusion_set(local: Local, tmp_path: Path) -> None:
    """Its parts come along, are shown by role, and go with it; the user's files stay."""
    main = safetensors(tmp_path / "in" / "dit.safetensors", OVIS)
    parts = [
        ("tae", str(safetensors(tmp_path / "in" / "t.safetensors", TAE))),
        ("llm", str(safetensors(tmp_path / "in" / "q.safetensors", QWEN))),
    ]
    models = local.models()
    row = models.add(str(main), "draws", parts)[0]
    shown = models.show("draws", verbose=True)
    assert (shown["architecture"], shown["format"], shown["capabilities"]) == ("ovis_image", "safetensors", ["image"])
    assert shown["components"] == dict(row.components)
    assert not {"context_length", "embedding_length", "projector"} & shown.keys()
    assert shown["metadata"]["general.architecture"] == "ovis_image"
    copied = models.copy("draws", "again")
    assert models.remove("draws") == "draws"
    assert [one.name for one in (tmp_path / "data" / "models").iterdir()] == ["again"]
    assert all(Path(file).exists() for file in (*copied.files, main))


def test_the_life_of_a_folder(local: Local, tmp_path: Path) -> None:
    """Imported twice it is one; a file of it that went away is said by name."""
    folder = model_folder(tmp_path / "Tiny-MLX", MLX)
    models = local.models()
    row = models.add(str(folder), None)[0]
    assert models.add(str(folder), None) == (row, True)
    assert (row.name, row.weights, row.folder) == (
        "tiny-mlx",
        Weights.MLX_QUANT,
        str(tmp_path / "data" / "models" / "tiny-mlx"),
    )
    assert models.show("tiny-mlx", verbose=False)["format"] == "mlx"
    Path(row.folder, "tokenizer.json").unlink()
    with pytest.raises(NotFound, match=r"tokenizer\.json, which is gone"):
        models.show("tiny-mlx", verbose=False)
    models.remove("tiny-mlx")
    assert list((tmp_path / "data" / "models").iterdir()) == []


def test_what_the_file_could_hold(tmp_path: Path) -> None:
    """A word that stands nowhere in it, nor an escape that might spell it: then no one needs to parse it."""
    file = tmp_path / "c.toml"
    parts = Local(Folders(file, tmp_path / "d"), {}, lambda _: [])
    assert not parts.may_say("manual")
    for text, may in (("port = 1", False), ('x = "manual"', True), ('x = "man\\u0075al"', True)):
        file.write_text(text)
        assert parts.may_say("manual") is may
    file.unlink()
    file.mkdir()
    assert not parts.may_say("manual")


def test_a_created_models_life(local: Local, tmp_path: Path) -> None:
    """Made of another one, configured, copied, removed: the configuration is then as it was."""
    models = local.models()
    models.add(str(a_model(tmp_path / "base.gguf")), None)
    local.folders.config_file.write_text("port = 1\n")
    models.create("terse", Overlay("base", system="Be terse.", parameters={"num_ctx": 512}), fresh=False)
    models.create("child", Overlay("terse", parameters={"top_k": 1}), fresh=False)
    models.copy("child", "twin")
    overrides = local.settings().loaded.config.model_overrides
    assert overrides["terse"].ctx == overrides["child"].ctx == overrides["twin"].ctx == 512
    assert "Be terse." in (overrides["twin"].chat_template or "")
    assert overrides["child"].extra_args == ("--top-k", "1")
    for name in ("terse", "child", "twin"):
        models.remove(name)
    assert local.folders.config_file.read_text() == "port = 1\n"


def test_show_tells_where_a_model_was_pulled_from(local: Local, tmp_path: Path) -> None:
    """And what guesses ahead for it; one that was imported says nothing of either."""
    models = local.models()
    row, _ = models.add(str(a_model(tmp_path / "m.gguf")), "m", ())
    plain = models.show("m", verbose=False)
    assert not {"pulled_from", "license", "draft"} & set(plain)
    local.catalog.replace_model(replace(row, origin=ORIGIN, draft="/d.gguf"))
    shown = models.show("m", verbose=False)
    assert (shown["pulled_from"], shown["license"], shown["draft"]) == ("hf:o/r:F32", "MIT", "/d.gguf")
    assert shown["artefact"] == "ab" * 32
    assert shown["pulled_at"].startswith("2027-")
    local.catalog.replace_model(replace(row, origin=ORIGIN._replace(licence="")))
    assert "license" not in models.show("m", verbose=False)
