"""Certificates made when a test needs them, by the openssl command; without it the tests that need one are skipped."""

import shutil
import subprocess
from pathlib import Path

import pytest


def _openssl(*words: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("needs openssl to make certificates")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def pair(folder: Path, name: str = "tls", *, names: str = "DNS:localhost,IP:127.0.0.1") -> tuple[Path, Path]:
    """A certificate that signs itself for a month, and its key."""
    folder.mkdir(parents=True, exist_ok=True)
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={names}"]
    _openssl(
        *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", *subject),
        *("-days", "30", "-keyout", str(key), "-out", str(cert)),
    )
    return cert, key


_AUTHORITY = """
[ca]
default_ca = one
[one]
database = {folder}/index.txt
new_certs_dir = {folder}
default_md = sha256
rand_serial = yes
policy = any
[any]
commonName = supplied
"""


def dated(folder: Path, begins: str, ends: str, name: str = "dated") -> tuple[Path, Path]:
    """One that holds between two moments, as `20200101000000Z`; only `openssl ca` lets them be chosen."""
    _, key = pair(folder, name)
    cert, request, rules = folder / f"{name}.crt", folder / f"{name}.csr", folder / f"{name}.cnf"
    (folder / "index.txt").write_text("")
    rules.write_text(_AUTHORITY.format(folder=folder))
    _openssl("req", "-new", "-key", str(key), "-subj", f"/CN={name}", "-out", str(request))
    _openssl(
        *("ca", "-batch", "-selfsign", "-notext", "-config", str(rules), "-keyfile", str(key), "-in", str(request)),
        *("-startdate", begins, "-enddate", ends, "-out", str(cert)),
    )
    return cert, key


def encrypted(key: Path, target: Path, *, older: bool = False) -> Path:
    """The same key behind a passphrase, in today's form or the older one."""
    form = ("ec", "-aes128") if older else ("pkcs8", "-topk8")
    _openssl(*form, "-in", str(key), "-out", str(target), "-passout", "pass:secret")
    return target
