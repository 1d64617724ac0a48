"""Connects to what a name stands for: resolved once, each address judged, and one that passed is dialled. Asks nothing.

A name out in public that resolves to this machine or its network would let whoever may pull, or whom a registry sends us to, ask
services in here. What is judged is what is dialled: a resolver that says something else a moment later changes nothing. TLS and `Host`
keep the name. Where a proxy of the environment is asked, it resolves, and nothing is judged here.
"""

from collections.abc import Callable, Mapping
from ssl import SSLContext
from typing import Any

import httpcore
import httpx

from blazar.adapters.net.dialling import Dial, Dialler, Time
from blazar.adapters.net.pictures import resolved
from blazar.domain.addresses import Ours, is_inside, leads_out
from blazar.domain.errors import BlazarError

Refused = Callable[[str, str], BlazarError]
"""What is raised for a name, and an address inside that it resolves to."""


class Judged(Dialler):
    """What `ours` names is dialled as it is; so is what is spelled as inside, which was judged where it was read."""

    def __init__(self, ours: Callable[[], Ours], refused: Refused, check: Callable[[], None]) -> None:
        super().__init__(check)
        self._ours, self._refused = ours, refused

    def dialled(self, host: str, port: int, dial: Dial, span: Time) -> httpcore.NetworkStream:
        if is_inside(host) or self._ours().has(host, port):
            return dial(host, port, span.left)
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        addresses = self._judged(host, port)
        for others, address in zip(range(len(addresses) - 1, -1, -1), addresses, strict=True):
            if span.is_over:
                break
            try:
                return dial(address, port, span.share(others))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    def _judged(self, host: str, port: int) -> list[str]:
        """Those that lead out, in the resolver's order."""
        try:
            found = resolved(host, port)
        except (OSError, UnicodeError) as error:  # no such name; a label that is too long for one
            raise httpcore.ConnectError(str(error)) from error
        out = [address for address in found if leads_out(address)]
        if found and not out:
            raise self._refused(host, found[0])
        return out


class _Direct(httpx.HTTPTransport):
    """The library's own, which offers no other way to say how it connects. Bounds are the library's."""

    def __init__(self, context: SSLContext, backend: Judged) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=backend,
        )


class _Proxied(httpx.HTTPTransport):
    """The library's own for a proxy, whose dial a stop reaches too."""

    def __init__(self, proxy: httpx.Proxy, context: SSLContext, backend: httpcore.NetworkBackend) -> None:
        super().__init__(verify=context, proxy=proxy)
        self._pool._network_backend = backend  # noqa: SLF001 - it takes none, and building the pool would repeat all it does


class JudgedClient(httpx.Client):
    """Proxies of the environment are chosen by the library, and dialled as they are; all that is asked without one goes by `backend`."""

    def __init__(
        self,
        backend: Judged,
        proxied: Dialler,
        timeout: httpx.Timeout,
        headers: Mapping[str, str],
        mounts: Mapping[str, httpx.BaseTransport | None],
    ) -> None:
        self._context, self._proxied = httpx.create_ssl_context(), proxied
        super().__init__(verify=self._context, timeout=timeout, headers=headers, follow_redirects=False, mounts=mounts)
        # Not by `transport`: the library would ask no proxy then.
        self._transport = _Direct(self._context, backend)

    def _init_proxy_transport(self, proxy: httpx.Proxy, *given: Any, **named: Any) -> httpx.BaseTransport:
        del given, named  # what was said above, and the library's own bounds
        return _Proxied(proxy, self._context, self._proxied)
