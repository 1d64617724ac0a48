"""The record of an engine kind."""

from typing import TYPE_CHECKING

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.spec import EngineSpec
from blazar.domain.kinds import EngineKind
from blazar.domain.launch import Brief, Drafts
from tests.fakes.catalog import a_model
from tests.fakes.hardware import a_machine

if TYPE_CHECKING:
    from blazar.application.ports.drivers import Driver


def test_the_record_is_a_driver() -> None:
    """Composition may hand it to whoever wants a Driver; a load is bounded by three minutes (D34)."""
    driver: Driver = LLAMACPP
    assert (driver.kind, driver.load_cap_secs) == (EngineKind.LLAMACPP, 180.0)
    assert driver.flags


def test_inherited_settings_are_named() -> None:
    """Every variable by which a flag could sneak in is scrubbed (D30)."""
    assert "LLAMA_ARG_CTX_SIZE".startswith(LLAMACPP.scrubbed)
    assert "LLAMA_API_KEY".startswith(LLAMACPP.scrubbed)


def test_a_kind_that_leaves_nothing_open_says_settings_as_they_are() -> None:
    """And guesses nothing; one list of extra words is everybody's."""
    plain = EngineSpec(EngineKind.MLX, (), "server")
    brief = Brief({"x": 1}, a_model("m"), a_machine())
    assert plain.resolve(brief).told == {"x": 1}
    assert (plain.drafts(brief), plain.extra_keys) == (Drafts(), ("extra_args",))
    assert not plain.guesses(("--spec-type", "ngram-cache"))
