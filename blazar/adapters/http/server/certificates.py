"""The certificate and the key that HTTPS is spoken with: read, judged in sentences, and read again when they were renewed.

A pair that cannot be used never takes the place of one that can. What other machines think of the certificate is not known here.
"""

import re
import ssl
from pathlib import Path
from typing import Final

from blazar.domain import teaching
from blazar.domain.certificate import Validity, validity_of
from blazar.domain.errors import Malformed

PROTOCOLS: Final = ("h2", "http/1.1")
"""What is offered to a client, the best first."""
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_PRIVATE: Final = re.compile(r"-----BEGIN (ENCRYPTED |[A-Z]+ )?PRIVATE KEY-----(\s+Proc-Type: 4,ENCRYPTED)?")
_LARGEST: Final = 2**20
"""Bytes of a file: a chain has some thousand."""


class Certificates:
    """One pair of files and what is made of them. Raises `Malformed` for a pair that cannot be used."""

    def __init__(self, cert: Path, key: Path) -> None:
        self.cert, self._key = cert, key
        self._stamp = self.stamp()
        self.validity = judge(cert, key)
        """When the certificate holds; None where that cannot be read out of it."""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION  # a client could have us compute keys as often as it likes
        self.context.set_alpn_protocols([*PROTOCOLS])
        self.context.load_cert_chain(cert, key)

    def stamp(self) -> object:
        """Equal as long as nobody wrote to the files. Looks at them, which may block."""
        return tuple(_stamp(path) for path in (self.cert, self._key))

    def renew(self) -> bool:
        """Use what is in the files now; whether that is anything new. Connections that are open keep what they have."""
        stamp = self.stamp()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        # Judged first: a context that has taken a certificate in and not its key would serve nobody any more.
        self.validity = judge(self.cert, self._key)
        self.context.load_cert_chain(self.cert, self._key)
        return True


def judge(cert: Path, key: Path) -> Validity | None:
    """When the pair holds. Raises `Malformed` with the setting that is wrong."""
    chain = _CERTIFICATE.findall(_text("tls_cert", cert))
    if not chain:
        raise Malformed(teaching.tls_no_pem("tls_cert", str(cert), "certificate"), "tls_cert")
    private = _PRIVATE.search(_text("tls_key", key))
    if private is None:
        raise Malformed(teaching.tls_no_pem("tls_key", str(key), "private key"), "tls_key")
    if private[1] == "ENCRYPTED " or private[2]:
        raise Malformed(teaching.tls_key_encrypted(str(key)), "tls_key")
    trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        trial.load_cert_chain(cert, key, password=lambda: "")
        return validity_of(ssl.PEM_cert_to_DER_cert(chain[0]))
    except ssl.SSLError as refused:
        if refused.reason == "KEY_VALUES_MISMATCH":
            raise Malformed(teaching.tls_pair_mismatched(str(cert), str(key)), "tls_key") from refused
        why = (refused.reason or str(refused)).replace("_", " ").lower()
        raise Malformed(teaching.tls_unusable(str(cert), str(key), why), "tls_cert") from refused
    except (OSError, ValueError) as refused:  # exchanged while it was looked at, or no base64
        raise Malformed(teaching.tls_unusable(str(cert), str(key), str(refused)), "tls_cert") from refused


def _text(setting: str, path: Path) -> str:
    try:
        if not path.is_file():  # a pipe would never end
            raise Malformed(teaching.tls_file_missing(setting, str(path)), setting)
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("ascii", "replace")
    except OSError as refused:
        raise Malformed(
            teaching.tls_unreadable(setting, str(path), refused.strerror or str(refused)), setting
        ) from refused


def _stamp(path: Path) -> object:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino, facts.st_dev
