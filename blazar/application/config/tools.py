"""Keys of tools that llama.cpp itself runs for a model. Root-only (D26); the gateway's own tools are `[[mcp]]` tables."""

import json
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from blazar.application.config.knob import PATH, Keys, also, refused, shaped


def _object_text(text: str) -> str:
    """What is no object would end the child as it starts."""
    try:
        good = isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        good = False
    if not good:
        raise refused("object_text")
    return text


class ToolKeys(Keys):
    """Experimental: tools that an engine runs with the rights of the daemon. Leave them off where clients are not trusted."""

    title: ClassVar[str] = "Tools that engines run"

    agent: bool = False
    """Start engines with their own defaults for agents, all their built-in tools included."""
    server_tools: Annotated[str, shaped(r"[A-Za-z0-9_-]+(,[A-Za-z0-9_-]+)*", "tools")] | None = None
    """Built-in tools of the engine that models may use, with commas between them; `all`: every one."""
    server_tools_runtime: (
        Annotated[str, shaped(r"(docker|podman|docker-container|podman-container|ssh):\S+", "runtime")] | None
    ) = None
    """Where these tools run, such as `docker:IMAGE`, `podman:IMAGE` or `ssh:TARGET`; unset: on this machine."""
    mcp_servers_config: Annotated[str | None, PATH] = None
    """JSON file with MCP servers that the engine asks; excludes mcp_servers_json."""
    # Its variables carry tokens.
    mcp_servers_json: Annotated[
        Annotated[str, AfterValidator(_object_text), also(pattern=r"^\s*\{[\s\S]*\}\s*$")] | None, Field(repr=False)
    ] = None
    """The same as JSON text; excludes mcp_servers_config."""
