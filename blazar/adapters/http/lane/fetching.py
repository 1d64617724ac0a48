"""Pictures that a request names by their address are put into it, before anybody reads it: no child ever fetches (D14, J10).

Decides how many at once; where from is the fetcher's business. Must not hold the loop nor its threads: those parse requests.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.application.ports.pictures import Pictures
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.remote_pictures import Remote, base64_of, may_name_addresses, remote_pictures

MOST: Final = 20
"""Pictures of one request; each may have 20 MB."""
AT_ONCE: Final = 8
PATIENCE: Final = 15.0
"""Seconds for one of them, beyond what the fetcher allows itself: a resolver may hang, and knows no deadline."""


class Fetching:
    """One per lane."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        self._threads = ThreadPoolExecutor(AT_ONCE, "pictures")

    def close(self) -> None:
        """Wait for nobody: what is fetched now is wanted no more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def bring(self, body: bytes) -> bytes:
        """The body with all its pictures in it, the same object where it names none. Raises `Malformed`, naming the first that failed."""
        if not may_name_addresses(body):
            return body
        decoded = await asyncio.to_thread(codec.body_object, body)
        found = remote_pictures(decoded)
        if not found:
            return body
        if len(found) > MOST:
            raise Malformed(teaching.too_many_pictures(MOST), found[MOST].field)
        await asyncio.gather(*[self._put(remote) for remote in found])
        return await asyncio.to_thread(codec.encode, decoded)

    async def _put(self, remote: Remote) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                fetched = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._pictures.fetch, remote.url
                )
        except Malformed as error:
            raise Malformed(str(error), remote.field) from None
        except TimeoutError:
            raise Malformed(teaching.picture_not_fetched("slow"), remote.field) from None
        remote.put(fetched.mime, base64_of(fetched.data))
