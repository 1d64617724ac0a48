"""The record of an engine kind."""

from typing import TYPE_CHECKING

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.domain.kinds import EngineKind

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
