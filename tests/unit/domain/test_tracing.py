"""Whether a request is traced: the caller's word, then a coin."""

import pytest

from blazar.domain.tracing import FREE, ONE_IN, WINDOW_SECS, Coin, Parent, parent_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01".encode()


def test_a_parent_is_read():
    """Both ids as numbers, and whether it is recorded; of later versions what comes behind is passed over."""
    assert parent_of(GOOD) == Parent(int(TRACE, 16), int(SPAN, 16), sampled=True)
    assert parent_of(GOOD[:-2] + b"00") == Parent(int(TRACE, 16), int(SPAN, 16), sampled=False)
    assert parent_of(b"42" + GOOD[2:] + b"-what-comes") == parent_of(GOOD)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"00",
        GOOD.upper(),
        GOOD + b"-more",
        b"ff" + GOOD[2:],
        f"00-{'0' * 32}-{SPAN}-01".encode(),
        f"00-{TRACE}-{'0' * 16}-01".encode(),
        GOOD.replace(b"-", b"_"),
        b"\xff" * 55,
        b"00-" + b"a" * 100_000,
    ],
)
def test_what_is_no_parent_is_as_good_as_none(header: bytes):
    """A header that cannot be understood never keeps a request from being traced, nor answered."""
    assert parent_of(header) is None
    assert Coin().takes(header, 0.0)


def test_the_caller_decides():
    """Its yes counts however many there are, and so does its no."""
    coin = Coin()
    assert all(coin.takes(GOOD, 0.0) for _ in range(FREE * 3))
    assert not coin.takes(GOOD[:-2] + b"00", 0.0)


def test_of_many_one_in_a_hundred_is_taken():
    """All of the first, then few; with the next stretch of time all again."""
    coin = Coin()
    taken = sum(coin.takes(b"", 5.0) for _ in range(FREE + 10 * ONE_IN))
    assert taken == FREE + 10
    assert coin.takes(b"", 5.0 + WINDOW_SECS)
