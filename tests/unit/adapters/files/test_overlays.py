"""Overlays on disk and in config.toml."""

import errno
import os
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blazar.adapters.files import overlays as module
from blazar.adapters.files.overlays import DiskOverlays
from blazar.domain.errors import BadConfig, StoreTrouble
from blazar.domain.overlay import Overlay

FULL = Overlay("b", "{{ messages }}", 'S"\n', {"stop": ["a"], "top_k": 1}, (("user", "u"),), ("MIT",), ("/a.gguf",))
SETTINGS = {"ctx": 512, "extra_args": ["--top-k", "1"], "chat_template": "x\n'\"\\ {{ messages }}"}
MINE = '# mine\nport = 1234\n\n[model_overrides."org/m:tag"]\npin = true  # stays\n'


@pytest.fixture
def overlays(tmp_path: Path) -> DiskOverlays:
    (tmp_path / "config.toml").write_text(MINE)
    return DiskOverlays(tmp_path / "overlays", tmp_path / "config.toml")


def told(tmp_path: Path) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((tmp_path / "config.toml").read_text())["model_overrides"].get(
        "org/m:tag", {}
    )
    return found


def test_what_is_kept_is_found(overlays: DiskOverlays, tmp_path: Path) -> None:
    """By its model's name, whatever characters it has; nothing is found of others."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    assert overlays.find("org/m:tag") == FULL
    assert overlays.find("org/m") is None
    assert overlays.files() == {"/a.gguf"}
    assert told(tmp_path) == {"pin": True, **SETTINGS}


def test_a_second_overlay_takes_the_firsts_keys_away(overlays: DiskOverlays, tmp_path: Path) -> None:
    """But not what a person wrote, who never had an overlay there."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    overlays.keep("org/m:tag", Overlay("b"), {"ctx": 1024})
    assert told(tmp_path) == {"pin": True, "ctx": 1024}
    (tmp_path / "config.toml").write_text("[model_overrides.plain]\nctx = 2048\n")
    overlays.keep("plain", Overlay("b"), {})
    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {"model_overrides": {"plain": {"ctx": 2048}}}


def test_forgetting_leaves_the_file_as_it_was(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Every byte of it; and a model without an overlay keeps its override."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    overlays.forget("org/m:tag")
    assert (tmp_path / "config.toml").read_text() == MINE
    assert overlays.find("org/m:tag") is None
    overlays.forget("org/m:tag")
    assert (tmp_path / "config.toml").read_text() == MINE


def test_carrying(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Overlay and settings; nothing where there is nothing."""
    overlays.keep("a", FULL, SETTINGS)
    overlays.carry("a", "b")
    overlays.carry("nobody", "c")
    assert overlays.find("b") == FULL
    assert tomllib.loads((tmp_path / "config.toml").read_text())["model_overrides"]["b"] == SETTINGS
    assert overlays.find("c") is None


def overrides(tmp_path: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = tomllib.loads((tmp_path / "config.toml").read_text())["model_overrides"]
    return found


def test_a_copy_has_what_holds_for_its_source(overlays: DiskOverlays, tmp_path: Path) -> None:
    """What a person set is as set there, what they took out is out, and what they wrote beside comes along; so it stays when it is renewed."""
    overlays.keep("a", FULL, SETTINGS)
    mine = {"ctx": 1024, "pin": True, "sampler_defaults": {"top_k": 7}}
    (tmp_path / "config.toml").write_text(
        "[model_overrides.a]\nctx = 1024\nextra_args = ['--top-k', '1']\npin = true\n"
        "[model_overrides.a.sampler_defaults]\ntop_k = 7\n"
    )
    overlays.carry("a", "b")
    assert overrides(tmp_path)["a"] == overrides(tmp_path)["b"] == {**mine, "extra_args": ["--top-k", "1"]}
    assert overlays.find("b") == FULL
    said = {"ctx": 4096, "extra_args": ["--top-k", "2"], "chat_template": "y {{ messages }}"}
    for name in ("a", "b"):
        assert overlays.renew(name, FULL, said) == ("ctx", "chat_template")
        assert overrides(tmp_path)[name] == {**mine, "extra_args": ["--top-k", "2"]}


def test_a_copy_of_a_model_without_an_overlay_has_its_override(overlays: DiskOverlays, tmp_path: Path) -> None:
    """It goes with the copy, too, but for what a person changed since; and nothing counts as laid over the model."""
    overlays.carry("org/m:tag", "b")
    assert overrides(tmp_path)["b"] == {"pin": True}
    assert overlays.find("b") is None
    overlays.forget("b")
    assert (tmp_path / "config.toml").read_text() == MINE
    (tmp_path / "config.toml").write_text("[model_overrides.a]\nctx = 512\nslots = 2\n")
    overlays.carry("a", "b")
    (tmp_path / "config.toml").write_text((tmp_path / "config.toml").read_text().replace("slots = 2", "slots = 3"))
    overlays.forget("b")
    assert overrides(tmp_path) == {"a": {"ctx": 512, "slots": 3}, "b": {"slots": 3}}


def test_what_a_person_wrote_for_the_copy_stays(overlays: DiskOverlays, tmp_path: Path) -> None:
    """They named it before it was there; an update leaves it as well."""
    overlays.keep("a", FULL, SETTINGS)
    text = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(f"{text}\n[model_overrides.b]\nctx = 2048\nslots = 1\n")
    overlays.carry("a", "b")
    assert overrides(tmp_path)["b"] == {**SETTINGS, "ctx": 2048, "slots": 1}
    assert overlays.renew("b", FULL, {"ctx": 1024}) == ("ctx",)
    overlays.forget("b")
    assert overrides(tmp_path)["b"] == {"ctx": 2048, "slots": 1}


def test_what_the_configuration_does_not_take_is_not_kept(overlays: DiskOverlays, tmp_path: Path) -> None:
    """The file is judged as a whole before it is written."""
    with pytest.raises(BadConfig):
        overlays.keep("m", FULL, {"ctx": 1})
    assert (tmp_path / "config.toml").read_text() == MINE
    assert overlays.find("m") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "m"}', '{"name": "m", "overlay": {"x": 1}, "settings": {}}'])
def test_a_note_that_cannot_be_read_is_none(overlays: DiskOverlays, tmp_path: Path, text: str) -> None:
    """Nothing fails for it: the model runs as its configuration says."""
    overlays.keep("m", FULL, {})
    (note,) = (tmp_path / "overlays").iterdir()
    note.write_text(text)
    assert overlays.find("m") is None
    assert overlays.files() == set()


def test_creations_of_one_name_at_the_same_time_wait_for_each_other(overlays: DiskOverlays, tmp_path: Path) -> None:
    """None fails over another one's draft, and note and configuration are of the same one."""
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(overlays.keep, "m", Overlay("b", system=str(ctx)), {"ctx": ctx}) for ctx in range(512, 532)]
        assert [one.result() for one in made] == [None] * 20
    found = overlays.find("m")
    assert found is not None
    assert tomllib.loads((tmp_path / "config.toml").read_text())["model_overrides"]["m"] == {"ctx": int(found.system)}


def test_what_is_refused_leaves_the_earlier_overlay(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Note and configuration say the same at every moment that anybody sees."""
    overlays.keep("m", FULL, SETTINGS)
    before = (tmp_path / "config.toml").read_text()
    with pytest.raises(BadConfig):
        overlays.keep("m", Overlay("other"), {"ctx": 1})
    assert overlays.find("m") == FULL
    assert (tmp_path / "config.toml").read_text() == before


def test_renewing_leaves_what_a_person_set(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Also the second time, when a person's value and the overlay's were the same once; what nobody touched is new."""
    overlays.keep("org/m:tag", FULL, {"ctx": 512, "chat_template": "{{ messages }}"})
    text = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(text.replace("ctx = 512", 'ctx = 1024\nextra_args = ["--mlock"]'))
    said = {"ctx": 2048, "extra_args": ["--top-k", "1"], "chat_template": "new {{ messages }}"}
    assert overlays.renew("org/m:tag", FULL, said) == ("ctx", "extra_args")
    mine = {"pin": True, "ctx": 1024, "extra_args": ["--mlock"]}
    assert told(tmp_path) == {**mine, "chat_template": "new {{ messages }}"}
    assert overlays.renew("org/m:tag", FULL, {"ctx": 1024}) == ()
    assert overlays.renew("org/m:tag", FULL, {"ctx": 4096}) == ("ctx",)
    assert told(tmp_path) == mine
    overlays.forget("org/m:tag")
    assert told(tmp_path) == mine


def test_renewing_leaves_out_what_a_person_took_out(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Every time, and what is new of it is said."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    (tmp_path / "config.toml").write_text(MINE)
    assert overlays.renew("org/m:tag", FULL, {"ctx": 1024}) == ("ctx",)
    assert overlays.renew("org/m:tag", FULL, {"ctx": 2048}) == ("ctx",)
    assert told(tmp_path) == {"pin": True}


def test_renewing_where_nothing_was_laid(overlays: DiskOverlays, tmp_path: Path) -> None:
    """What a person wrote before stays; the rest is laid, and renewing with the old takes it back."""
    (tmp_path / "config.toml").write_text("[model_overrides.m]\nctx = 2048\n")
    assert overlays.renew("m", FULL, SETTINGS) == ("ctx",)
    assert overlays.renew("m", Overlay("b"), {}) == ()
    assert tomllib.loads((tmp_path / "config.toml").read_text()) == {"model_overrides": {"m": {"ctx": 2048}}}


def test_a_second_creation_takes_away_the_firsts_keys_alone(overlays: DiskOverlays, tmp_path: Path) -> None:
    """A value that a person set since is theirs, unless this one says it too."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    text = (tmp_path / "config.toml").read_text()
    (tmp_path / "config.toml").write_text(text.replace("ctx = 512", "ctx = 1024"))
    overlays.keep("org/m:tag", Overlay("b"), {"loras": ["/l.gguf"]})
    assert told(tmp_path) == {"pin": True, "ctx": 1024, "loras": ["/l.gguf"]}
    overlays.keep("org/m:tag", Overlay("b"), {"ctx": 2048})
    assert told(tmp_path) == {"pin": True, "ctx": 2048}


@pytest.mark.parametrize("written", [False, True])
def test_who_died_over_it_leaves_nothing_that_a_person_wrote(
    overlays: DiskOverlays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """Before or after the configuration: what stands there is still known as the overlay's, and may be renewed."""
    overlays.keep("org/m:tag", FULL, SETTINGS)
    real = module.change_config

    def dies(path: Path, edit: Callable[[str], str]) -> None:
        if written:
            real(path, edit)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(module, "change_config", dies)
        with pytest.raises(SystemExit):
            overlays.renew("org/m:tag", Overlay("b"), {"ctx": 1024, "loras": ["/l.gguf"]})
    again = DiskOverlays(tmp_path / "overlays", tmp_path / "config.toml")
    assert again.renew("org/m:tag", FULL, SETTINGS) == ()
    assert told(tmp_path) == {"pin": True, **SETTINGS}
    assert again.renew("org/m:tag", Overlay("b"), {"ctx": 1024}) == ()
    assert told(tmp_path) == {"pin": True, "ctx": 1024}
    again.forget("org/m:tag")
    assert told(tmp_path) == {"pin": True}


def test_a_disk_that_takes_nothing_is_told_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is downloaded; one that may be written to is left as it is."""

    def touch(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    DiskOverlays(tmp_path / "overlays", tmp_path / "config.toml").check_writable("m")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(StoreTrouble, match=r"overlays.*Read-only"):
        DiskOverlays(tmp_path / "overlays", tmp_path / "config.toml").check_writable("m")


def test_a_configuration_that_must_not_be_written_is_told_where_it_says_nothing_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it says something of that model it may say all that is needed."""
    config = tmp_path / "config.toml"
    config.write_text("[model_overrides.known]\nctx = 4096\n")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != config)
    overlays = DiskOverlays(tmp_path / "overlays", config)
    overlays.check_writable("known")
    with pytest.raises(StoreTrouble, match="read-only"):
        overlays.check_writable("m")
    assert {path.name for path in tmp_path.iterdir()} == {"config.toml"}


BROKEN = MINE + "a = [\n"


@pytest.mark.parametrize("dies", [False, True])
def test_words_that_never_came_are_not_taken_for_taken_out(
    overlays: DiskOverlays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, dies: bool
) -> None:
    """Two tries met a file that breaks off, or were killed over it; the third lays all of them."""
    config = tmp_path / "config.toml"
    for _ in range(2):
        with monkeypatch.context() as patched:
            if dies:
                patched.setattr(module, "change_config", _die)
                patched.setattr(DiskOverlays, "_put_back", lambda *_: None)
            else:
                config.write_text(BROKEN)
            with pytest.raises(SystemExit if dies else BadConfig):
                overlays.renew("org/m:tag", FULL, SETTINGS)
        config.write_text(MINE)
        assert (overlays.find("org/m:tag") is None) or dies
    assert overlays.renew("org/m:tag", FULL, SETTINGS) == ()
    assert told(tmp_path) == {"pin": True, **SETTINGS}
    overlays.forget("org/m:tag")
    assert config.read_text() == MINE


def _die(*_: object) -> None:
    raise SystemExit


@pytest.mark.parametrize("error", [ValueError, RecursionError, KeyError, BadConfig])
def test_a_note_without_its_words_does_not_stay(
    overlays: DiskOverlays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """In whatever way the configuration was not written."""

    def fails(*_: object) -> str:
        raise error(["no"])

    overlays.keep("org/m:tag", FULL, SETTINGS)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.suffix != ".bak" and path.is_file()}
    with monkeypatch.context() as patched:
        patched.setattr(module, "set_value", fails)
        for change in (overlays.keep, overlays.renew):
            for name in ("org/m:tag", "new"):
                with pytest.raises(error):
                    change(name, Overlay("x"), {"ctx": 1024})
        with pytest.raises(error):
            overlays.carry("org/m:tag", "twin")
    assert {path: path.read_bytes() for path in before} == before
    assert list((tmp_path / "overlays").iterdir()) == [path for path in before if path.suffix == ".json"]


def test_a_note_that_cannot_be_settled_is_no_failure(
    overlays: DiskOverlays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The configuration says it by then, and the note as it stands knows whose it is."""
    real, written = DiskOverlays._write, list[bytes]()

    def write(self: DiskOverlays, path: Path, note: bytes) -> None:
        written.append(note)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, path, note)

    monkeypatch.setattr(DiskOverlays, "_write", write)
    overlays.keep("m", FULL, SETTINGS)
    assert overlays.find("m") == FULL
    overlays.forget("m")
    assert (tmp_path / "config.toml").read_text() == MINE


def test_nothing_is_carried_where_nobody_can_read_what_there_is(overlays: DiskOverlays, tmp_path: Path) -> None:
    """A person's own override is as good as lost on a copy that lacks it."""
    (tmp_path / "config.toml").write_text(BROKEN)
    with pytest.raises(BadConfig):
        overlays.carry("org/m:tag", "twin")
    assert not (tmp_path / "overlays").exists()


def test_what_is_carried_takes_the_place_of_what_lay_there(overlays: DiskOverlays, tmp_path: Path) -> None:
    """Own words and copied ones go, a person's stay; of a model that nothing holds for, nothing comes."""
    overlays.keep("a", Overlay("b", system="a"), {"ctx": 512})
    overlays.keep("old", FULL, SETTINGS)
    overlays.carry("org/m:tag", "old")
    overlays.carry("old", "older")
    assert overrides(tmp_path)["older"] == {"pin": True}
    overlays.carry("a", "older")
    assert overrides(tmp_path)["older"] == {"ctx": 512}
    assert overlays.find("older") == Overlay("b", system="a")
    overlays.carry("nobody", "older")
    assert "older" not in overrides(tmp_path)
    assert overlays.find("older") is None


def test_another_model_has_nothing_of_what_was_copied_to_its_name(overlays: DiskOverlays, tmp_path: Path) -> None:
    """The same model created anew keeps it."""
    overlays.carry("org/m:tag", "m")
    overlays.keep("m", Overlay("b"), {"ctx": 512})
    assert overrides(tmp_path)["m"] == {"pin": True, "ctx": 512}
    overlays.keep("m", Overlay("c"), {"ctx": 1024}, instead=True)
    assert overrides(tmp_path)["m"] == {"ctx": 1024}
    overlays.forget("m")
    assert (tmp_path / "config.toml").read_text() == MINE


def test_a_configuration_that_takes_no_words_is_told_beforehand(overlays: DiskOverlays, tmp_path: Path) -> None:
    """One that breaks off takes none of any model, one with a key that there is not none that is new."""
    (tmp_path / "config.toml").write_text(BROKEN)
    for name in ("m", "org/m:tag"):
        with pytest.raises(BadConfig, match="not valid TOML"):
            overlays.check_writable(name)
    (tmp_path / "config.toml").write_text("prot = 1\n" + MINE)
    overlays.check_writable("org/m:tag")
    with pytest.raises(BadConfig, match="prot"):
        overlays.check_writable("m")


def test_what_cannot_be_forgotten_is_told_beforehand(
    overlays: DiskOverlays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model without words is no matter of the configuration; nor is one whose words a person took out."""
    overlays.keep("m", FULL, SETTINGS)
    overlays.keep("silent", FULL, {})
    config = tmp_path / "config.toml"
    good = config.read_text()
    overlays.check_forgettable("m")
    config.write_text(good + "a = [\n")
    overlays.check_forgettable("nobody")
    with pytest.raises(BadConfig):
        overlays.check_forgettable("m")
    config.write_text(good)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != config)
    overlays.check_forgettable("silent")
    with pytest.raises(StoreTrouble, match="read-only"):
        overlays.check_forgettable("m")
    assert config.read_text() == good
