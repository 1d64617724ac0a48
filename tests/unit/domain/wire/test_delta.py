"""The neutral vocabulary."""

from blazar.domain.wire.delta import Finish, ToolFragment, Usage


def test_what_is_optional_has_a_neutral_default() -> None:
    """Engines that know less make smaller deltas."""
    assert Finish("stop").stop == ""
    assert Usage(1, 2)[2:] == (0, 0.0, 0.0, 0)
    assert ToolFragment(0, None, None, "").arguments == ""
