"""Keys of the listener: where it binds, who may talk to it, how long it waits."""

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from blazar.application.config.knob import Keys, Knob, Positive, shaped

# A path is no part of what browsers send; pages of web views have a scheme of their own, and some no host.
_ORIGIN = r"\*|(?i:https?)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?/?|(?!(?i:https?):)[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#*]*/?"
_HOST = r"[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*"
Origins = Annotated[tuple[Annotated[str, Field(min_length=1), shaped(_ORIGIN, "origin")], ...], Strict(strict=False)]
Hosts = Annotated[tuple[Annotated[str, Field(min_length=1), shaped(_HOST, "host")], ...], Strict(strict=False)]


class GatewayKeys(Keys):
    """Bind address, TLS, browsers, hosts and timeouts."""

    title: ClassVar[str] = "Gateway"
    group: ClassVar[str] = "gateway"

    host: Annotated[str, Field(min_length=1), Knob(daemon=True)] = "127.0.0.1"
    """Address to bind. Widening it never widens which hosts or browser origins are accepted."""
    port: Annotated[int, Field(ge=0, le=65535), Knob(daemon=True)] = 11435
    """Port to bind; 0 takes a free one, 11434 makes Blazar stand in for ollama."""
    tls_cert: Annotated[str, Knob(daemon=True, path=bool)] = ""
    """PEM file with the certificate chain of the gateway; together with tls_key it turns HTTPS on."""
    tls_key: Annotated[str, Knob(daemon=True, path=bool)] = ""
    """PEM file with the private key that belongs to tls_cert."""
    cors_origins: Annotated[Origins, Knob(daemon=True)] = ()
    """Browser origins that are allowed beside the local ones; `"*"` allows any."""
    allowed_hosts: Annotated[Hosts, Knob(daemon=True)] = ()
    """Host names that clients may use beside localhost, this machine's name and its addresses."""
    child_header_timeout_secs: Annotated[float, Field(ge=0), Knob(daemon=True)] = 120.0
    """Seconds an engine may take before it begins to answer; a buffered answer begins when it is complete. 0 waits forever."""
    model_load_timeout_secs: Annotated[Annotated[float, Field(gt=0)] | None, Knob(daemon=True)] = None
    """Seconds a model may take to load, for every engine kind; unset: 180 for prebuilt engines, 600 for those that compile first."""
    server_timeout_secs: Positive | None = None
    """Seconds after which an engine gives up on a silent connection of ours; unset: 3600."""
