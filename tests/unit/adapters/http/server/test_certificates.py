"""The pair that HTTPS is spoken with."""

import ssl
from pathlib import Path

import pytest

from blazar.adapters.http.server.certificates import Certificates, judge
from blazar.domain.errors import Malformed
from tests.support.certificates import dated, encrypted, pair


def served(tls: Certificates, trusted: Path) -> ssl.SSLObject:
    """A handshake in memory; the client trusts this certificate only."""
    client_in, client_out, server_in, server_out = (ssl.MemoryBIO() for _ in range(4))
    trusting = ssl.create_default_context(cafile=trusted)
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    client = trusting.wrap_bio(client_in, client_out, server_hostname="localhost")
    server = tls.context.wrap_bio(server_in, server_out, server_side=True)
    done = 0
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
                done += 1
            except ssl.SSLWantReadError:
                pass
            server_in.write(client_out.read())
            client_in.write(server_out.read())
    assert done > 1
    return client


def test_a_pair_is_served(tmp_path: Path) -> None:
    """TLS 1.2 at least, HTTP/2 where the client wants it; its end is known."""
    cert, key = pair(tmp_path)
    tls = Certificates(cert, key)
    client = served(tls, cert)
    assert client.selected_alpn_protocol() == "h2"
    assert client.version() == "TLSv1.3"
    assert tls.context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert tls.validity is not None
    assert 29 * 86400 < tls.validity.ends - tls.validity.begins < 31 * 86400


def test_one_file_may_hold_both(tmp_path: Path) -> None:
    """As some authorities hand them out."""
    cert, key = pair(tmp_path)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + cert.read_text())
    served(Certificates(both, both), cert)


def test_one_that_has_expired_is_served_all_the_same(tmp_path: Path) -> None:
    """Clients refuse it; whether a daemon should not start over that is not decided here."""
    tls = Certificates(*dated(tmp_path, "20200101000000Z", "20210101000000Z"))
    assert tls.validity is not None
    assert (tls.validity.begins, tls.validity.ends) == (1577836800.0, 1609459200.0)


def test_what_cannot_be_used_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Each with its own sentence and the setting that is wrong."""
    cert, key = pair(tmp_path)
    _, other = pair(tmp_path, "other")
    broken = tmp_path / "broken.pem"
    broken.write_text(cert.read_text().replace("MII", "M\u00fcI", 1).replace("\n", "\n!", 2))
    nothing = tmp_path / "no.pem"
    for files, setting, words in (
        ((nothing, key), "tls_cert", "where there is no file"),
        ((cert, nothing), "tls_key", "where there is no file"),
        ((tmp_path, key), "tls_cert", "where there is no file"),
        ((key, key), "tls_cert", "no certificate in it"),
        ((cert, cert), "tls_key", "no private key in it"),
        ((cert, other), "tls_key", "is not the one of the certificate"),
        ((cert, encrypted(key, tmp_path / "new.key")), "tls_key", "openssl pkey"),
        ((cert, encrypted(key, tmp_path / "old.key", older=True)), "tls_key", "openssl pkey"),
        ((broken, key), "tls_cert", "cannot be used for HTTPS"),
    ):
        for act in (judge, Certificates):
            with pytest.raises(Malformed, match=words) as refused:
                act(*files)
            assert refused.value.field == setting


def test_a_file_that_may_not_be_read_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon has another user than who made the certificate."""
    cert, key = pair(tmp_path)

    def refused(self: Path, *_: object) -> object:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(Malformed, match="cannot read: Permission denied"):
        judge(cert, key)


def test_a_renewed_pair_is_given_to_who_comes_next(tmp_path: Path) -> None:
    """Nothing is read where nothing was written."""
    cert, key = pair(tmp_path)
    tls = Certificates(cert, key)
    assert not tls.renew()
    new_cert, new_key = pair(tmp_path, "new")
    new_cert.replace(cert)
    new_key.replace(key)
    assert tls.renew()
    served(tls, cert)
    assert not tls.renew()


def test_a_pair_that_is_half_renewed_changes_nothing(tmp_path: Path) -> None:
    """The certificate is there before its key: who comes meanwhile gets the old pair, and the new one when it is whole."""
    cert, key = pair(tmp_path)
    old = tmp_path / "old.pem"
    old.write_bytes(cert.read_bytes())
    tls = Certificates(cert, key)
    new_cert, new_key = pair(tmp_path, "new")
    new_cert.replace(cert)
    with pytest.raises(Malformed, match="is not the one of the certificate"):
        tls.renew()
    served(tls, old)
    new_key.replace(key)
    assert tls.renew()
    served(tls, cert)
