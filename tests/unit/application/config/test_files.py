"""Settings that name files: which they are, and where they lie."""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from pydantic.fields import FieldInfo

from blazar.application.config.files import PATH_KEYS, folder_of, named_in, whole
from blazar.application.config.knob import Keys, knob_of, parts_of, table_in
from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.live import LiveConfig
from blazar.application.config.model import Config
from blazar.application.config.rules import World
from blazar.domain.errors import BadConfig

FILE = "/etc/blazar/config.toml"


def settings(text: str, path: str = FILE) -> dict[str, object]:
    """What holds for one model."""
    return load_config(text, path).settings_for("m")


@pytest.mark.parametrize(
    ("text", "key", "found"),
    [
        ('sdcpp_tae = "tiny/tae.gguf"', "sdcpp_tae", "/etc/blazar/tiny/tae.gguf"),
        ('sdcpp_tae = "/tae.gguf"', "sdcpp_tae", "/tae.gguf"),
        ('video_ffmpeg_dir = ""', "video_ffmpeg_dir", ""),
        ("", "lookup_cache_static", None),
        ('[mlx]\nadapter_path = "a"', "mlx.adapter_path", "/etc/blazar/a"),
        ('[model_overrides.m.mlx]\nadapter_path = "a"', "mlx.adapter_path", "/etc/blazar/a"),
        ('[model_overrides.m]\nloras = ["a:0.5", "/b"]', "loras", ("/etc/blazar/a:0.5", "/b")),
        ('[model_overrides.m]\nmmproj = "skip"', "mmproj", "skip"),
        ('[model_overrides.m]\nmmproj = "eyes.gguf"', "mmproj", "/etc/blazar/eyes.gguf"),
        ('[mistralrs]\nchat_template = "a.jinja"', "mistralrs.chat_template", "/etc/blazar/a.jinja"),
        ('[mistralrs]\nchat_template = "{{ x }}"', "mistralrs.chat_template", "{{ x }}"),
        ('[model_overrides.m]\nextra_args = ["--lora", "a"]', "extra_args", ("--lora", "a")),
    ],
)
def test_a_path_counts_from_the_folder_of_the_file(text: str, key: str, found: object) -> None:
    """Whole ones, policies, texts of templates and words for a command line stay as they are."""
    assert settings(text)[key] == found


def test_the_configuration_itself_stays_as_it_is_written() -> None:
    """So that what was set is what is shown; and where the file's place is unknown, nothing is made up."""
    loaded = load_config('sdcpp_tae = "tae"', FILE)
    assert (loaded.config.sdcpp_tae, loaded.folder) == ("tae", "/etc/blazar")
    assert settings('sdcpp_tae = "tae"', "config.toml")["sdcpp_tae"] == "tae"
    assert (folder_of("config.toml"), whole("a", "")) == ("", "a")


@pytest.mark.parametrize("key", ["lookup_cache_static", "lookup_cache_dynamic", "mcp_servers_config"])
def test_what_must_exist_is_looked_for_there(key: str) -> None:
    """Wherever the process stands that reads the file; the sentence repeats what was written."""
    asked: list[str] = []
    world = World(exists=lambda path: bool(asked.append(path)))
    with pytest.raises(BadConfig) as caught:
        load_config(f'{key} = "made/x"', FILE, world=world)
    assert str(caught.value) == f"{FILE} line 1: '{key}' names a file that does not exist: made/x"
    assert set(asked) == {"/etc/blazar/made/x"}


def test_every_key_that_names_a_file_is_known() -> None:
    """But for those that may as well be names: drafts of mlx-lm."""
    flat = {key for key in PATH_KEYS if "." not in key}
    said = {name for name in Config.model_fields if name.startswith("sdcpp_")} & flat
    assert len(said) == 14
    assert flat - said == {
        *("lookup_cache_static", "lookup_cache_dynamic", "mcp_servers_config", "video_ffmpeg_dir"),
        *("loras", "mmproj", "chat_template_file", "tls_cert", "tls_key", "whisper_vad_model"),
    }
    assert set(PATH_KEYS) - flat == {
        *("mistralrs.chat_template", "mistralrs.imatrix", "mistralrs.calibration_file", "mlx.adapter_path"),
    }


Place = tuple[str, ...]


def declared(keys: type[Keys] = Config, place: Place = ()) -> Iterator[tuple[Place, FieldInfo]]:
    """Every key of the declaration, those of tables too."""
    for name, field in keys.model_fields.items():
        yield (*place, name), field
        if (inner := table_in(field.annotation)) is not None:
            yield from declared(inner, (*place, name))


PATHS = [place for place, field in declared() if knob_of(field).path is not None]


def saying(place: Place, value: str, keys: type[Keys] = Config) -> Keys:
    """A configuration with one key, unjudged: in its table, in the only one of a list, in that of one model."""
    name, *more = place
    kinds = set(parts_of(keys.model_fields[name].annotation))
    inner = table_in(keys.model_fields[name].annotation)
    said: Any = saying(tuple(more), value, inner) if more and inner is not None else value
    if tuple in kinds:
        said = (said,)
    return keys.model_construct(**{name: {"m": said} if dict in kinds else said})


def found(place: Place, value: Any) -> Any:
    """What stands there."""
    for name in place:
        value = getattr(value, name)
        value = value["m"] if isinstance(value, dict) else value[0] if isinstance(value, tuple) else value
    return value


@pytest.mark.parametrize("place", PATHS, ids=".".join)
def test_whoever_reads_a_path_in_the_daemon_reads_a_whole_one(place: Place) -> None:
    """In every table, whether anything reads it yet or not: a reader needs to know nothing of it."""
    assert len(PATHS) > 30
    config = saying(place, "made/x.jinja")
    live = LiveConfig(Loaded(cast("Config", config), {}, (), "/etc/blazar"))
    assert found(place, live.config) == "/etc/blazar/made/x.jinja"
    assert found(place, live.loaded.config) == "made/x.jinja"
    assert found(place, LiveConfig(Loaded(cast("Config", config), {})).config) == "made/x.jinja"
    live.replace(Loaded(cast("Config", saying(place, "/else")), {}, (), "/etc/blazar"))
    assert found(place, live.config) == "/else"


def test_a_key_that_is_called_like_a_path_is_one() -> None:
    """So that who declares one thinks of it; and nobody's default is a path, for only what is said is looked at."""
    for place, field in declared():
        if place[-1].endswith(("_file", "_dir", "_path", "_cert", "_folder", "cwd")):
            assert knob_of(field).path is not None, place
        if knob_of(field).path is not None:
            assert not field.default, place


def test_a_bare_name_of_a_speech_finder_is_the_engine_s() -> None:
    """It stands in the engine's folder; with a folder before it, it is a path of ours."""
    assert settings('whisper_vad_model = "silero.bin"')["whisper_vad_model"] == "silero.bin"
    assert settings('whisper_vad_model = "./silero.bin"')["whisper_vad_model"] == "/etc/blazar/silero.bin"


def test_paths_of_an_override_are_named():
    """Those of its tables too; words and scales are no part of them."""
    text = """[model_overrides.m]
loras = ["a.gguf:0.5", "b.gguf"]
mmproj = "skip"
chat_template_file = "t.jinja"
[model_overrides.m.mlx]
adapter_path = "c"
"""
    override = load_config(text, FILE).config.model_overrides["m"]
    assert list(named_in(override)) == [
        ("loras", "a.gguf"),
        ("loras", "b.gguf"),
        ("chat_template_file", "t.jinja"),
        ("mlx.adapter_path", "c"),
    ]
