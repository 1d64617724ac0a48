"""Other servers behind this gateway: `[[remotes]]`. Whether a key may travel to a URL is judged by `domain/remote_url.py`."""

from typing import Annotated

from pydantic import Field

from blazar.application.config.knob import Keys, also, shaped


class Remote(Keys):
    """Another OpenAI-compatible server. Entries with the same name are one pool."""

    # The name stands before a colon in front of a model's name, which may have colons of its own.
    name: Annotated[str, Field(min_length=1), shaped(r"[A-Za-z0-9][A-Za-z0-9._-]*", "remote_name")]
    """What goes before the colon of `<remote>:<model>`."""
    url: Annotated[str, Field(min_length=1), also(pattern="^[Hh][Tt][Tt][Pp][Ss]?://")]
    """Base URL. In clear only to this machine or, with a warning, to an address of the local network."""
    key: Annotated[str, Field(repr=False)] = ""
    """The secret that is sent there as bearer token."""
    allow_insecure_http: bool = False
    """Accept a URL that sends the key unencrypted to a public host; a loud warning remains."""
