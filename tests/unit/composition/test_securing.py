"""Whether HTTPS is spoken, and what is told of it."""

from pathlib import Path

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.composition.securing import SOON, certificate_row, certificates_of, tls_cautions, trouble, until
from blazar.domain.certificate import Validity
from blazar.domain.errors import Malformed
from tests.support.certificates import dated, pair

HOLDS = Validity(1000.0, 1000.0 + 2 * SOON)


def configured(cert: object, key: object) -> Config:
    return load_config(f'tls_cert = "{cert}"\ntls_key = "{key}"\n', "").config


def test_without_a_certificate_plain_http_is_spoken() -> None:
    """And nothing is told of one."""
    assert certificates_of(Config()) is None
    assert certificate_row(None, 0.0) is None
    assert list(tls_cautions(Config())) == []


def test_what_is_named_is_used(tmp_path: Path) -> None:
    """Or refused with its reason, which `config validate` tells beforehand."""
    cert, key = pair(tmp_path)
    tls = certificates_of(configured(cert, key))
    assert tls is not None
    assert list(tls_cautions(configured(cert, key))) == []
    row = certificate_row(tls, 0.0 if tls.validity is None else tls.validity.begins)
    assert row is not None
    assert (row.check, row.status, row.remedy) == ("certificate", "ok", "")
    with pytest.raises(Malformed):
        certificates_of(configured(cert, tmp_path / "no.key"))
    (told,) = tls_cautions(configured(cert, tmp_path / "no.key"))
    assert "no.key" in told


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (999.0, "holds from 1970-01-01T00:16:40Z on"),
        (1000.0, ""),
        (1000.0 + SOON, ""),
        (1001.0 + SOON, "expires on 1970-01-29T00:16:40Z"),
        (1000.0 + 2 * SOON, "expired on 1970-01-29T00:16:40Z"),
    ],
)
def test_trouble_is_told_in_time(now: float, words: str) -> None:
    """Two weeks before it is there."""
    told = trouble("/c.pem", HOLDS, now)
    assert words in told
    assert bool(told) is bool(words)


def test_one_without_a_date_is_no_trouble() -> None:
    """What cannot be read cannot be told."""
    assert trouble("/c.pem", None, 0.0) == ""
    assert until(None) == "?"


def test_the_doctor_says_how_bad_it_is(tmp_path: Path) -> None:
    """Soon is a warning; over, or not yet, is a failure. Both with what to do."""
    tls = certificates_of(configured(*dated(tmp_path, "20200101000000Z", "20210101000000Z")))
    assert tls is not None
    assert tls.validity is not None
    for now, status in (
        (tls.validity.begins - 1, "fail"),
        (tls.validity.ends - 60, "warn"),
        (tls.validity.ends, "fail"),
    ):
        row = certificate_row(tls, now)
        assert row is not None
        assert row.status == status
        assert row.remedy
