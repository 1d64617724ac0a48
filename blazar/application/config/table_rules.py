"""What the entries of tables must have to do with each other, told with the key that is wrong. Reads nothing but the configuration."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from blazar.application.config.mcp import STDIO_ONLY, McpServer
from blazar.application.config.tuning import tuning_settings
from blazar.domain import teaching
from blazar.domain.remote_url import judge

if TYPE_CHECKING:
    from blazar.application.config.failover import FailoverChain
    from blazar.application.config.model import Config

SHORT_SECRET = 8
"""Characters below which a secret is found by trying: shorter ones are mostly a slip of a list of them."""

Where = tuple[str | int, ...]


class Broken(NamedTuple):
    """A rule that does not hold: the key it is told at, and the end of the sentence."""

    where: Where
    why: str


def table_problems(config: "Config") -> Iterator[Broken]:
    """Every rule of every table."""
    yield from _twice("keys", "name", (key.name for key in config.keys))
    yield from _same_secret(config)
    for index, remote in enumerate(config.remotes):
        if refusal := judge(remote.name, remote.url, remote.allow_insecure_http).refusal:
            yield Broken(("remotes", index, "url"), refusal)
    yield from _chains(config)
    for index, server in enumerate(config.mcp):
        yield from _server(("mcp", index), server)
    yield from _twice("mcp", "name", (server.name for server in config.mcp))
    servers = [server.name for server in config.mcp]
    if config.mcp_default not in ("", "all", "none", *servers):
        yield Broken(("mcp_default",), teaching.mcp_default_unknown(config.mcp_default, servers))
    yield from _tunings(config)


def table_warnings(config: "Config") -> Iterator[str]:
    """What is accepted and should be known all the same."""
    for remote in config.remotes:
        if warning := judge(remote.name, remote.url, remote.allow_insecure_http).warning:
            yield warning
    for key in config.keys:
        if len(key.key) < SHORT_SECRET:
            yield teaching.secret_short(key.name)


def of_a_remote(config: "Config", model: str) -> bool:
    """Whether a name means a model of another server, as REMOTE:MODEL."""
    return model.partition(":")[0] in {remote.name for remote in config.remotes} and ":" in model


def local_scopes(config: "Config") -> dict[str, list[str]]:
    """Of each key the models of this server that it is limited to: what a remote has is not ours to know."""
    return {key.name: [name for name in key.models if not of_a_remote(config, name)] for key in config.keys}


def _twice(table: str, key: str, values: Iterable[str]) -> Iterator[Broken]:
    seen = set[str]()
    for index, value in enumerate(values):
        if value in seen:
            yield Broken((table, index, key), teaching.config_wants("unique", value))
        seen.add(value)


def _same_secret(config: "Config") -> Iterator[Broken]:
    """Who sends it could be either. The secret itself is not repeated: the names are enough to find it."""
    owners = dict[str, str]()
    for index, key in enumerate(config.keys):
        owner = owners.setdefault(key.key, key.name)
        if owner != key.name:
            yield Broken(("keys", index, "key"), teaching.config_wants("secret_twice", f"{owner} and {key.name}"))


def _chains(config: "Config") -> Iterator[Broken]:
    remotes = {remote.name for remote in config.remotes}
    aliases = {chain.alias for chain in config.failover}
    for index, chain in enumerate(config.failover):
        yield from _targets(("failover", index, "targets"), chain, remotes, aliases)
    yield from _twice("failover", "name", (chain.name for chain in config.failover))
    yield from _twice("failover", "alias", (chain.alias for chain in config.failover))


def _targets(where: Where, chain: "FailoverChain", remotes: set[str], aliases: set[str]) -> Iterator[Broken]:
    for number, target in enumerate(chain.targets):
        if target.remote is None and target.model in aliases:
            # A chain that leads to a chain could lead to itself.
            yield Broken((*where, number, "model"), teaching.failover_target_is_alias(target.model))
        if target.remote is not None and target.remote not in remotes:
            yield Broken((*where, number, "remote"), teaching.failover_unknown_remote(target.remote, sorted(remotes)))


def _server(where: Where, server: McpServer) -> Iterator[Broken]:
    if server.name in ("all", "none"):
        yield Broken((*where, "name"), teaching.config_wants("mcp_reserved"))
    if server.command is None and server.url is None:
        yield Broken(where, teaching.config_wants("mcp_one"))
    elif server.command is not None and server.url is not None:
        yield Broken((*where, "url"), teaching.config_wants("exclusive", "command"))
    elif server.url is not None:
        for key in STDIO_ONLY:
            if key in server.model_fields_set:
                yield Broken((*where, key), teaching.config_wants("mcp_stdio"))
    elif server.allowed_env and not server.env_clear:
        # Who lists what may be inherited believes that nothing else is.
        yield Broken((*where, "allowed_env"), teaching.config_wants("needs", "env_clear = true"))


def _tunings(config: "Config") -> Iterator[Broken]:
    roots = {"sglang": config.sglang, "mistralrs": config.mistralrs}
    yield from _tuning((), tuning_settings(roots, {}))
    for model, override in config.model_overrides.items():
        own = {"sglang": override.sglang, "mistralrs": override.mistralrs}
        if any(table is not None for table in own.values()):
            yield from _tuning(("model_overrides", model), tuning_settings(roots, own))


def _tuning(where: Where, said: dict[str, object]) -> Iterator[Broken]:
    if said["sglang.retraction_policy"] == "priority" and not said["sglang.enable_priority_scheduling"]:
        why = teaching.config_wants("needs", "enable_priority_scheduling = true")
        yield Broken((*where, "sglang", "retraction_policy"), why)
    if said["mistralrs.imatrix"] and said["mistralrs.calibration_file"]:
        # The engine refuses both.
        yield Broken((*where, "mistralrs", "calibration_file"), teaching.config_wants("exclusive", "imatrix"))
