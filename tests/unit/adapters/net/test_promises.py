"""Which digest a file is compared with."""

import hashlib

import pytest

from blazar.adapters.net.promises import GIT, SHA256, digest_for, kind_of, promised
from blazar.application.ports.downloads import Wanted

WANTED = Wanted("https://host.example/f", "/data/f", "f", 6)
HELLO = "ce013625030ba8dba906f756967f9e9ca394464a"
"""What `git hash-object` says of `hello` and a line's end."""


def test_git_s_id_is_counted_as_git_does() -> None:
    """With the length in front."""
    wanted = WANTED._replace(git=HELLO)
    digest = digest_for(wanted)
    digest.update(memoryview(b"hello\n"))
    assert (digest.hexdigest(), kind_of(wanted), promised(wanted)) == (HELLO, GIT, HELLO)


def test_a_sha256_is_worth_more() -> None:
    """Where both are told; and it is what a file without any promise is counted by."""
    wanted = WANTED._replace(git=HELLO, sha256="a" * 64)
    assert (promised(wanted), kind_of(wanted)) == ("a" * 64, SHA256)
    assert digest_for(wanted).hexdigest() == digest_for(WANTED).hexdigest() == hashlib.sha256().hexdigest()
    assert promised(WANTED) == ""


@pytest.mark.parametrize("empty", [True, False])
def test_an_unknown_length_makes_no_git_id(empty: bool) -> None:
    """It is hashed before the content: only a file that is known to be empty has one of length 0."""
    wanted = WANTED._replace(size=0, git="e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", empty=empty)
    assert bool(promised(wanted)) is empty
    assert not empty or digest_for(wanted).hexdigest() == promised(wanted)
