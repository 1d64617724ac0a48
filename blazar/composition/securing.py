"""Whether HTTPS is spoken and with what, and how that is told. Imports TLS only where a certificate is configured."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from blazar.domain import teaching
from blazar.domain.certificate import Validity
from blazar.domain.errors import Malformed
from blazar.domain.wire.stamps import to_the_second

if TYPE_CHECKING:
    from blazar.adapters.http.server.certificates import Certificates
    from blazar.application.config.model import Config
    from blazar.application.ops.diagnose import Row

SOON: Final = 14 * 86400.0
"""Seconds before the end from which on it is told: automatic renewal begins earlier, so it has failed by then."""


def certificates_of(config: "Config") -> "Certificates | None":
    """What `tls_cert` and `tls_key` name; None where they name nothing. Raises `Malformed` for what cannot be used."""
    if not config.tls_cert:
        return None
    from blazar.adapters.http.server.certificates import Certificates

    return Certificates(Path(config.tls_cert), Path(config.tls_key))


def tls_cautions(config: "Config") -> Iterator[str]:
    """What keeps a daemon with this configuration from starting, or its clients from trusting it."""
    try:
        tls = certificates_of(config)
    except Malformed as unusable:
        yield str(unusable)
        return
    if tls is not None and (told := trouble(str(tls.cert), tls.validity, time.time())):
        yield told


def certificate_row(tls: "Certificates | None", now: float) -> "Row | None":
    """The doctor's line about it; None where plain HTTP is spoken."""
    from blazar.application.ops.diagnose import FAIL, OK, WARN, Row  # at a start nobody asks

    if tls is None:
        return None
    if told := trouble(str(tls.cert), tls.validity, now):
        holds = tls.validity is not None and tls.validity.begins <= now < tls.validity.ends
        return Row("certificate", WARN if holds else FAIL, told, teaching.doctor_tls_remedy())
    return Row("certificate", OK, teaching.tls_holds(str(tls.cert), until(tls.validity)))


def trouble(path: str, validity: Validity | None, now: float) -> str:
    """What clients have against a certificate, or soon will; "" for a good one."""
    if validity is None:
        return ""
    if validity.ends <= now:
        return teaching.tls_expired(path, to_the_second(validity.ends))
    if validity.begins > now:
        return teaching.tls_not_yet(path, to_the_second(validity.begins))
    return teaching.tls_expires(path, to_the_second(validity.ends)) if validity.ends - now < SOON else ""


def until(validity: Validity | None) -> str:
    """Its end, as people read it."""
    return "?" if validity is None else to_the_second(validity.ends)
