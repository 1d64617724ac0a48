"""Release archives for tests, honest and hostile, as tar or zip."""

import hashlib
import io
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """One member: `kind` is file, folder, link, hard or device; `data` is a link's target."""

    name: str
    data: bytes = b""
    kind: str = "file"
    mode: int = 0o644


TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
    "pipe": tarfile.FIFOTYPE,
}


def write_tar(path: Path, entries: list[Entry], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.type, info.mode = TYPES[entry.kind], entry.mode
            if entry.kind in ("link", "hard"):
                info.linkname = entry.data.decode()
            else:
                info.size = len(entry.data)
            tar.addfile(info, io.BytesIO(entry.data))
    return path


def write_zip(path: Path, entries: list[Entry]) -> Path:
    kinds = {
        "file": stat.S_IFREG,
        "folder": stat.S_IFDIR,
        "link": stat.S_IFLNK,
        "device": stat.S_IFCHR,
        "pipe": stat.S_IFIFO,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.name + ("/" if entry.kind == "folder" else ""))
            info.external_attr = (kinds[entry.kind] | entry.mode) << 16
            archive.writestr(info, entry.data)
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
