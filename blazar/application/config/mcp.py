"""MCP servers whose tools a request may ask for: `[[mcp]]`. Starts nothing; what fits together is judged in `table_rules.py`."""

from typing import Annotated

from pydantic import Field, Strict

from blazar.application.config.children import EnvironmentName
from blazar.application.config.knob import PATH, Keys, also, shaped

# Becomes mcp__<server>__<tool>: a double underscore inside, or one at an end, would leave open where the server's name ends.
# 32 of the 64 characters that clients accept in a function's name leave as many for the tool.
LONGEST_NAME = 32
_NAME = rf"(?=.{{1,{LONGEST_NAME}}}$)[A-Za-z0-9-]+(_[A-Za-z0-9-]+)*"

Command = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Strict(strict=False), Field(min_length=1)]
EnvironmentNames = Annotated[tuple[EnvironmentName, ...], Strict(strict=False)]

STDIO_ONLY = ("env", "env_clear", "allowed_env", "cwd", "max_output_bytes")
"""Options of a process; a URL has none."""


class McpServer(Keys):
    """A program that the gateway starts and lets models call, or a URL where one listens."""

    name: Annotated[str, Field(min_length=1), shaped(_NAME, "mcp_name"), also(**{"not": {"enum": ["all", "none"]}})]
    """What the server is called in requests and in its tools' names."""
    command: Command | None = None
    """Program and words of a server that talks over its standard input and output. Exactly one of command and url."""
    url: (
        Annotated[
            str, Field(min_length=1), shaped(r"https?://[^\s\x00-\x1f\x7f/?#@]+([/?#][^\s\x00-\x1f\x7f]*)?", "http_url")
        ]
        | None
    ) = None
    """Address of a server that talks Streamable HTTP."""
    timeout_secs: Annotated[float, Field(gt=0, le=600)] = 30.0
    """Seconds that one tool call may take."""
    env: Annotated[dict[EnvironmentName, str], Field(repr=False)] = {}  # noqa: RUF012 - pydantic copies a default
    """Environment variables for the process; they win over inherited ones."""
    env_clear: bool = False
    """Start the process with an empty environment instead of the daemon's."""
    allowed_env: EnvironmentNames = ()
    """Variables that the process inherits all the same; with env_clear."""
    cwd: Annotated[Annotated[str, Field(min_length=1)] | None, PATH] = None
    """Working directory of the process."""
    max_output_bytes: Annotated[int, Field(ge=1024)] | None = None
    """Longest protocol message that is accepted from the process."""
