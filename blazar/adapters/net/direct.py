"""A GGUF file at a plain address: how long it is, its other shards, and its digest where the host tells one.

No registry stands behind it: there is nothing to choose, to search, or to be told about it. No token is sent anywhere.
"""

from urllib.parse import quote, unquote, urlsplit, urlunsplit

from blazar.adapters.net.asking import AskedByWeb
from blazar.adapters.net.patience import LONG
from blazar.adapters.net.probes import told_of
from blazar.adapters.net.web import Web
from blazar.application.ports.downloads import Wanted
from blazar.application.ports.remote import Listing, Offer, Parcel, Part, RemoteFile
from blazar.domain import repository, teaching
from blazar.domain.addresses import is_loopback
from blazar.domain.errors import Malformed
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from blazar.domain.weight_names import SUFFIX, is_projector, quant_of, shard_name, shard_of

MOST_SHARDS = 256
"""Each is asked for its length; published models have fewer than a hundred."""


class DirectFile(AskedByWeb):
    """The host of one address."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
            raise Malformed(teaching.reference_insecure(parts.netloc.rpartition("@")[2]), "model")
        super().__init__(Web(f"{parts.scheme}://{parts.netloc}"))

    def listing(self, ref: RemoteRef) -> Listing:
        files = tuple(self._files(ref.file))
        offer = Offer(quant_of(files[0].name) or files[0].name.removesuffix(SUFFIX), ref.repo, files)
        return Listing(ref, (offer,), offer)

    def parcel(self, ref: RemoteRef) -> Parcel:
        self._web.patience = LONG
        files = tuple(self._files(ref.file))
        role = Role.WEIGHTS
        if is_projector(files[0].name):
            role = Role.PROJECTOR
        elif repository.is_adapter(files[0].name):
            role = Role.ADAPTER
        return Parcel(ref, tuple(Part(role, file) for file in files))

    def wanted(self, file: RemoteFile, path: str) -> Wanted:
        """A shard of another version than its siblings would be no part of them."""
        return super().wanted(file, path)._replace(etag=file.mark if shard_of(file.name) and not file.sha256 else "")

    def _files(self, address: str) -> list[RemoteFile]:
        """The file, or all shards of its set, which lie beside each other."""
        parts = urlsplit(address)
        folder, _, name = parts.path.rpartition("/")
        name = unquote(name)
        shard = shard_of(name)
        if shard is None or not 1 <= shard.number <= shard.total <= MOST_SHARDS:
            return [self._file(address, name)]
        names = [shard_name(shard.stem, number, shard.total) for number in range(1, shard.total + 1)]
        return [self._file(urlunsplit(parts._replace(path=f"{folder}/{quote(one)}")), one) for one in names]

    def _file(self, address: str, name: str) -> RemoteFile:
        told = told_of(self._web, address, name)
        if told.size <= 0:
            why = teaching.remote_no_length(name) if told.size < 0 else teaching.download_empty(name, self._web.host)
            raise self._web.garbled(why)
        return RemoteFile(name, told.size, address, told.sha256, told.sha256 or told.etag)
