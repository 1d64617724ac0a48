"""When a projector that failed is tried again."""

from blazar.domain.errors import SpawnFailed
from blazar.domain.instance.sight import AGAIN_AFTER, Sight


def test_a_projector_that_failed_is_not_tried_again_for_a_while():
    """Each try stops the child that serves text; the reason is told meanwhile."""
    sight = Sight()
    assert sight.refusal(0.0) is None
    sight.on_failed_load("it is of another model", 100.0)
    refusal = sight.refusal(100.0 + AGAIN_AFTER - 1)
    assert isinstance(refusal, SpawnFailed)
    assert str(refusal) == "it is of another model"
    assert sight.refusal(100.0 + AGAIN_AFTER) is None


def test_who_mended_it_need_not_wait():
    """A reload and `ps --reset` forget what was."""
    sight = Sight()
    sight.on_failed_load("no", 100.0)
    sight.forget()
    assert sight.refusal(100.0) is None
