"""Pulls of one process that want the same."""

from blazar.application.models.abreast import Abreast
from blazar.application.models.pulling import Step


def _step(done: int) -> Step:
    return Step("pulling aa", "sha256:aa", 10, done)


def test_who_waits_for_another_here_sees_how_far_that_is() -> None:
    """The last of each file, of those alone that want the same folders."""
    abreast = Abreast()
    with abreast.among(["a", "b"]) as first, abreast.among(["b"]) as second, abreast.among(["c"]) as third:
        assert abreast.ahead(second) == ()
        for done in (1, 5):
            abreast.tell(first, _step(done))
        abreast.tell(third, _step(9))
        assert abreast.ahead(second) == (_step(5),)
        assert abreast.ahead(third) is None


def test_where_nobody_here_has_them_another_process_must() -> None:
    """Also for the second who waits for it; one of ours who has got them is no other process any more."""
    abreast = Abreast()
    with abreast.among(["a"]) as first, abreast.among(["a"]) as second:
        first.outside = True
        assert abreast.ahead(second) is None
        first.outside = False
        assert abreast.ahead(second) == ()
    with abreast.among(["a"]) as alone:
        assert abreast.ahead(alone) is None
