"""What `config validate` adds about this machine."""

from pathlib import Path

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.application.config.layers import load_config
from blazar.composition.cautions import cautions, embeddings_said, open_door
from blazar.domain import teaching
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.parcels import Origin
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """A catalog with two models, and a build of another kind."""
    database = Database(tmp_path / "blazar.db")
    SqliteModelCatalog(database).add_model(a_model("m"))
    SqliteModelCatalog(database).add_model(a_model("dir", weights=Weights.SAFETENSORS))
    SqliteEngineCatalog(database).add_engine(an_engine("v1", kind=EngineKind.MISTRALRS, active=True))
    database.close()
    return tmp_path / "blazar.db"


def told(text: str, database: Path) -> list[str]:
    return list(cautions(load_config(text, "config.toml").config, database))


def test_what_is_in_order_is_not_remarked_upon(catalog: Path) -> None:
    """Also not where a key stands, or where the address is a name."""
    assert told("", catalog) == []
    assert told("host = '0.0.0.0'\n[[keys]]\nname = 'a'\nkey = 'plm_x'", catalog) == []
    assert told("host = 'box.lan'\n[model_overrides.m]\nextra_args = ['--temp', '-1']", catalog) == []


def test_an_open_door_is_told_before_the_daemon_opens_it(catalog: Path) -> None:
    """In the daemon's own words."""
    assert told("host = '0.0.0.0'", catalog) == [teaching.open_to_others("0.0.0.0")]


def test_an_override_for_no_model_is_told(catalog: Path, tmp_path: Path) -> None:
    """In the doctor's words; of a catalog that cannot be read nothing is said."""
    text = "[model_overrides.mm]\nctx = 512"
    assert told(text, catalog) == told(text, tmp_path / "none.db") == [teaching.doctor_override_without_model("mm")]
    (tmp_path / "text.db").write_text("x" * 5000)
    assert told(text, tmp_path / "text.db") == []


@pytest.mark.parametrize(
    ("name", "words", "taken"),
    [
        ("m", "extra_args = ['--alias', 'x', '--log-file=y']", [("--alias", "model"), ("--log-file", "log")]),
        ("m", "extra_args = ['--alias', 'x']\nengine = 'mlx'", []),
        ("m", "extra_args = ['--format', 'x']\nengine = 'mistralrs'", [("--format", "model")]),
        ("m", "extra_args = ['--format', 'x']\nengine = 'v1'", [("--format", "model")]),
        ("m", "extra_args = ['--format', 'x']\nengine = 'gone'", []),
        ("dir", "extra_args = ['--alias', 'x']", []),
    ],
)
def test_a_word_that_the_engine_of_a_model_will_not_take_is_told(
    catalog: Path, name: str, words: str, taken: list[tuple[str, str]]
) -> None:
    """As far as it is sure which kind that is."""
    assert told(f"[model_overrides.{name}]\n{words}", catalog) == [
        *([teaching.override_without_engine(name, "gone")] if "'gone'" in words else []),
        *([teaching.override_engine_cannot(name, "mlx", "mlx", "gguf")] if "'mlx'" in words else []),
        *(teaching.override_word_reserved(name, teaching.extra_arg_reserved(flag, why)) for flag, why in taken),
    ]


def test_the_reason_is_that_of_the_load(catalog: Path) -> None:
    """Not every word is about where an engine listens."""
    (said,) = told("[model_overrides.m]\nextra_args = ['--help']", catalog)
    assert said == teaching.override_word_reserved("m", teaching.extra_arg_reserved("--help", "questions"))


def test_an_engine_that_there_is_not_is_told(catalog: Path, tmp_path: Path) -> None:
    """Neither a kind nor a tag; nothing is said where no catalog can be read."""
    text = "[model_overrides.m]\nengine = '{}'"
    assert told(text.format("v1"), catalog) == told(text.format("mistralrs"), catalog) == []
    assert told(text.format("nosuch"), catalog) == [teaching.override_without_engine("m", "nosuch")]
    (tmp_path / "text.db").write_text("x" * 5000)
    assert told(text.format("nosuch"), tmp_path / "text.db") == []


def test_an_engine_that_cannot_serve_the_model_is_told(catalog: Path) -> None:
    """Of a kind for other weights, or of a kind that is not installed: each request would be refused."""
    text = "[model_overrides.{}]\nengine = '{}'"
    assert told(text.format("m", "sdcpp"), catalog) == [teaching.override_engine_cannot("m", "sdcpp", "sdcpp", "gguf")]
    assert told(text.format("m", "llamacpp"), catalog) == [teaching.override_kind_missing("m", "llamacpp")]
    assert told(text.format("dir", "v1"), catalog) == []
    assert told(text.format("dir", "sglang"), catalog) == [teaching.override_kind_missing("dir", "sglang")]


def test_models_to_load_at_start_must_be_there(catalog: Path) -> None:
    """Those of remotes are not ours to know."""
    text = "preload = ['m', 'nosuch', 'far:away']\n[[remotes]]\nname = 'far'\nurl = 'https://a.example'"
    assert told(text, catalog) == [teaching.preload_without_model("nosuch")]


def test_a_key_without_effect_is_named_also_with_the_value_that_it_has_anyway(catalog: Path) -> None:
    """Who writes it down means something by it."""
    assert told("remote_fallback = true\nslots = 0", catalog) == [teaching.keys_say_default(["remote_fallback"])]


def test_a_reference_that_a_model_was_pulled_by_is_its_name(catalog: Path) -> None:
    """For keys and for what is loaded at start, as requests find it."""
    database = Database(catalog)
    SqliteModelCatalog(database).add_model(a_model("tiny-q4_0", origin=Origin("hf:me/Tiny-GGUF:Q4_0", "f" * 64)))
    database.close()
    text = "preload = ['hf.co/me/Tiny-GGUF:Q4_0']\n[[keys]]\nname = 'web'\nkey = 'plm_x'\n"
    assert (
        told(
            text + "models = ['hf.co/me/Tiny-GGUF', 'me/tiny-gguf:q4_0', 'https://huggingface.co/me/Tiny-GGUF']",
            catalog,
        )
        == []
    )
    assert told(text + "models = ['hf.co/me/Other']", catalog) == [teaching.key_model_missing("web", "hf.co/me/Other")]


def test_what_overrides_say_of_embedding_counts_where_the_semantic_cache_is_on() -> None:
    """Off, nobody has to ask for it."""
    text = "[model_overrides.a]\nembeddings = true\n[model_overrides.b]\nembeddings = false\n[model_overrides.c]\nctx = 512\n"
    assert embeddings_said(load_config(text, "c").config) is None
    said = embeddings_said(load_config(text + "[semantic_cache]\nenabled = true", "c").config)
    assert said == {"a": True, "b": False}


def test_a_name_that_leads_outside_is_an_open_door() -> None:
    """Where it leads is known from the address that was bound."""
    config = load_config("host = 'box.lan'", "c").config
    assert list(open_door(config)) == list(open_door(config, "http://127.0.0.1:1")) == []
    assert list(open_door(config, "http://192.0.2.1:1")) == [teaching.open_to_others("box.lan")]


def test_a_key_for_no_model_is_told(catalog: Path, tmp_path: Path) -> None:
    """Its owner would be refused everything; a remote's models are not ours to know, nor is a catalog that cannot be read."""
    text = "[[keys]]\nname = 'web'\nkey = 'plm_x'\nmodels = ['M:latest', 'mm', 'far:x']\n"
    text += "[[remotes]]\nname = 'far'\nurl = 'http://127.0.0.1:9'\n"
    assert teaching.key_model_missing("web", "mm") in told(text, catalog)
    assert sum("'web'" in one for one in told(text, catalog)) == 1
    (tmp_path / "text.db").write_text("x" * 5000)
    assert not any("'web'" in one for one in told(text, tmp_path / "text.db"))
