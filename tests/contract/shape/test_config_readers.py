"""Every configuration key has its readers, and no reader asks for a key that nobody declares.

A key is read by a row of an engine's flag table, or by the modules named here: looked for in their syntax trees, so that a key
which is declared and forgotten, or read under a name that does not exist, is found. Keys whose feature is not built yet stand in
`application/config/waiting.py`, each with what it waits for; that list only ever becomes shorter.
"""

import ast
import importlib
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.application.config.knob import table_in
from blazar.application.config.model import TABLES, Config, Override
from blazar.application.config.tables import ApiKey
from blazar.application.config.tuning import TUNINGS
from blazar.application.config.waiting import WAITING
from blazar.application.supervise import fit_settings, launch_plan
from blazar.domain.argv import FLOOR, Flag
from blazar.domain.kinds import EngineKind

BLAZAR = Path(launch_plan.__file__).parents[2]
SETTINGS = frozenset(Config().settings_for("any"))
ROWS = frozenset(flag.key for flag in LLAMACPP_FLAGS) - {FLOOR}
STILL_UNREAD = 29
"""Rows of WAITING. May only be lowered: whoever builds a feature takes its keys out."""

READERS: dict[str, tuple[str, ...]] = {
    "adaptive_slots": ("composition/daemon.py",),
    "allowed_hosts": ("composition/foundation.py",),
    "audit_log": ("composition/foundation.py",),
    "cache_type": ("application/config/model.py",),
    # Also: its host may lie in this network.
    "capability_registry_url": (
        "composition/forks.py",
        "composition/local.py",
        "composition/local_lanes.py",
        "composition/releasing.py",
    ),
    "child_auth": ("application/supervise/endpoint.py",),
    "child_header_timeout_secs": ("composition/answering.py",),
    "child_transport": ("application/supervise/endpoint.py",),
    "cors_origins": ("composition/foundation.py",),
    "decode_policy": ("composition/raw_lanes.py",),
    "default_ctx": ("adapters/engines/reasons.py", "application/supervise/fit_settings.py"),
    "download_connections": ("composition/releasing.py",),
    "download_speed_limit_mb": ("composition/foundation.py", "composition/local.py"),
    # Also: which words a model's engine will not take, as far as `config validate` can tell.
    "engine": (
        "application/config/model.py",
        "application/ops/preview_fit.py",
        "application/supervise/launch_plan.py",
        "composition/cautions.py",
    ),
    "engine_asset": ("composition/releasing.py",),
    "engine_check_secs": ("composition/currency.py", "composition/local.py"),
    # Children get it with their plan; whoever asks a build what it can do must ask in the same environment.
    "engine_env": (
        "application/supervise/belongings.py",
        "application/supervise/launch_plan.py",
        "application/supervise/tools_gate.py",
        "composition/daemon.py",
        "composition/local_engines.py",
        "composition/local_lanes.py",
        "composition/preview.py",
    ),
    "engine_routing": ("composition/daemon.py", "composition/local_engines.py", "composition/preview.py"),
    # Judged before they are passed on; read for what they change of a plan, also where an imagined load takes some of them out.
    "extra_args": (
        "adapters/engines/llamacpp/batches.py",
        "adapters/engines/llamacpp/resolve.py",
        "adapters/engines/llamacpp/speculation.py",
        "adapters/engines/mistralrs/resolve.py",
        "adapters/engines/sdcpp/flags.py",
        "adapters/engines/sglang/resolve.py",
        "application/ops/preview_fit.py",
        "application/supervise/belongings.py",
        "application/supervise/extra_words.py",
        "application/supervise/sizing.py",
        "application/supervise/tools_gate.py",
        "composition/cautions.py",
    ),
    "fork_retire_days": ("composition/forks.py", "composition/local.py"),
    "host": ("composition/cautions.py", "composition/serve.py"),
    "idle_timeout_secs": ("composition/daemon.py",),
    # The doors ask for them; the start and `config validate` warn when there are none and others can reach us, a reload when the
    # last one goes.
    "image_fetch": ("composition/answering.py",),
    "keep_tags": ("composition/local_engines.py",),
    # The owner of a batch is judged by them again, line by line.
    "keys": (
        "application/ops/reload_config.py",
        "composition/cautions.py",
        "composition/foundation.py",
        "composition/keys.py",
        "composition/serve.py",
    ),
    "keys.daily_tokens": ("composition/foundation.py",),
    "keys.key": ("composition/foundation.py",),
    "keys.max_concurrent": ("composition/foundation.py",),
    "keys.models": ("composition/foundation.py",),
    "keys.name": ("composition/foundation.py",),
    "keys.rpm": ("composition/foundation.py",),
    "keys.tpm": ("composition/foundation.py",),
    "keys.weight": ("composition/foundation.py",),
    "late_chunking": ("adapters/engines/llamacpp/resolve.py", "application/supervise/launch_plan.py"),
    "late_chunking_max_tokens": ("composition/answering.py",),
    # Read when it starts, and again when the configuration was changed.
    "log_level": ("composition/foundation.py", "composition/serve.py"),
    "max_loaded_models": ("composition/daemon.py",),
    "mcp_servers_json": ("adapters/engines/llamacpp/resolve.py",),
    "mistralrs.chat_template": ("adapters/engines/mistralrs/resolve.py",),
    "mistralrs_paged_attn": ("adapters/engines/mistralrs/resolve.py",),
    "mmproj": ("application/supervise/belongings.py",),
    "mmproj_auto": ("application/supervise/belongings.py",),
    "mmproj_policy": ("application/supervise/belongings.py",),
    "model_load_timeout_secs": ("composition/daemon.py",),
    # Settings of a model and who set them; what differs after a reload; which models are pinned; which names no model has.
    "model_overrides": (
        "application/config/model.py",
        "composition/cautions.py",
        "composition/daemon.py",
        "composition/local.py",
        "composition/raw_lanes.py",
        "composition/samplers.py",
    ),
    "model_registries": ("composition/registries.py",),
    "models_autoload": ("application/config/model.py",),
    "ollama_compat": (
        "application/supervise/launch_plan.py",
        "application/supervise/tools_gate.py",
        "composition/raw_lanes.py",
        "composition/showing.py",
    ),
    # Where to, and whether another place is meant after a reload.
    "otlp_endpoint": ("composition/exporting.py",),
    "otlp_service": ("composition/exporting.py",),
    "pii_scrub": ("composition/exporting.py",),
    "pin": ("composition/daemon.py",),
    "port": ("composition/serve.py",),
    "preload": ("application/config/model.py",),
    "prompt_preflight": ("composition/answering.py",),
    "raw_lane_max_tokens": ("composition/raw_lanes.py",),
    "reasoning_effort": ("adapters/engines/llamacpp/resolve.py",),
    "sampler_defaults": ("composition/samplers.py",),
    "sdcpp_child_header_timeout_secs": ("composition/answering.py",),
    "sdcpp_extra_args": ("adapters/engines/sdcpp/flags.py",),
    "sdcpp_qwen_prefix_cache_type": ("adapters/engines/sdcpp/resolve.py",),
    "sglang.spec_algorithm": ("adapters/engines/sglang/speculation.py",),
    "singleflight": ("composition/answering.py",),
    # The guard refuses a load, and the dry run says beforehand whether it will.
    "spawn_mem_guard": ("application/ops/explain.py", "application/ops/fit_rows.py", "composition/daemon.py"),
    # Also: what a doctor says of one that finds nothing.
    "semantic_cache": ("composition/answering.py", "composition/cautions.py"),
    "sentinel": ("composition/answering.py",),
    "sentinel_enforce": ("composition/answering.py",),
    "sentinel_stall_secs": ("composition/answering.py",),
    "spec_auto_ngram": ("adapters/engines/llamacpp/speculation.py",),
    "spec_cache": ("adapters/engines/llamacpp/speculation.py",),
    "tls_cert": ("composition/securing.py",),
    "tls_key": ("composition/securing.py",),
    "update_channel": ("composition/local_lanes.py", "composition/releasing.py"),
}
"""Keys without a row in any flag table."""

ALSO: dict[str, tuple[str, ...]] = {
    # Also: whether tools have a place in it.
    "chat_template": (
        "adapters/engines/mistralrs/resolve.py",
        "adapters/engines/mlx/resolve.py",
        "application/supervise/tools_gate.py",
    ),
    "chat_template_file": ("adapters/engines/mlx/resolve.py", "application/supervise/tools_gate.py"),
    # Whose word the window is.
    "ctx": ("adapters/engines/reasons.py", "application/ops/preview_fit.py"),
    "deterministic": (
        "adapters/engines/llamacpp/resolve.py",
        "adapters/engines/llamacpp/speculation.py",
        "adapters/engines/mistralrs/resolve.py",
        "adapters/engines/mlx/resolve.py",
    ),
    "devices": ("adapters/engines/mistralrs/resolve.py", "adapters/engines/sglang/resolve.py"),
    # Taken away from kinds that cannot stretch a window.
    "ctx_extend": ("application/supervise/sizing.py",),
    # Which models a semantic cache can look by.
    "embeddings": ("composition/cautions.py",),
    # Whose devices are listed for an imagined load.
    "rpc_servers": ("application/ops/preview_fit.py",),
    # A question about an imagined load is put in the configuration's own words.
    "slots": ("adapters/engines/mlx/resolve.py", "application/ops/preview_fit.py"),
    "spec": ("adapters/engines/llamacpp/speculation.py",),
    # Our own keep-alive comments follow the engine's switch (case D5).
    "sse_ping_interval": ("composition/answering.py",),
    "tensor_split": ("adapters/engines/mistralrs/resolve.py", "adapters/engines/sglang/resolve.py"),
    # Both builds of a comparison are told what a child would be.
    "threads": ("composition/making.py",),
}
"""Rows whose key has a second reader."""

PLANNER = frozenset(
    f"application/supervise/{name}.py"
    for name in ("launch_plan", "preparation", "fit_settings", "verdict_flags", "belongings", "endpoint", "extra_words")
) | {"application/config/model.py"}
"""What resolves a key before the row says it."""


@cache
def read_in(module: Path) -> frozenset[str]:
    """Keys that the module takes from a configuration: `config.key`, `override.key`, `settings["key"]`, `settings.get("key")`."""
    # The declaration itself reads its own fields.
    holders = {"config", "override"} | ({"self"} if module.name == "model.py" else set())
    of_a_kind = module.parent.name in set(EngineKind)
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            # An engine kind's rules name keys by constants and in lists, and nothing else in such words.
            case ast.Constant(value=str(key)) if of_a_kind and ("_" in key or "." in key):
                found.add(key)
            case ast.Attribute(value=holder, attr=key) if _holder(holder) in holders:
                found.add(key)
            case ast.Subscript(value=holder, slice=ast.Constant(value=str(key))) if _is_settings(holder):
                found.add(key)
            case ast.Call(func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=str(key)), *_]):
                if _is_settings(holder):
                    found.add(key)
    return frozenset(found)


def _holder(node: ast.expr) -> str:
    """The last name of `config`, `ground.config`, `self.config`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_settings(node: ast.expr) -> bool:
    """`settings`, or what `settings_for(…)` returned."""
    return _holder(node.func if isinstance(node, ast.Call) else node) in {"settings", "settings_for"}


@cache
def names() -> frozenset[str]:
    """Every key: flat, those of tuning tables as `table.key`; a list of tables is one, but for API keys, which are read already."""
    flat = {*Config.model_fields, *Override.model_fields} - TUNINGS.keys()
    tuned = {f"{table}.{key}" for table, keys in TUNINGS.items() for key in keys.model_fields}
    return frozenset(flat | tuned | {f"keys.{field}" for field in ApiKey.model_fields})


@cache
def readers() -> dict[str, tuple[str, ...]]:
    """Key to the modules that take it. The declaration, but for what it resolves, and what shows or judges keys act on none."""
    found = defaultdict(list)
    for module in sorted(BLAZAR.rglob("*.py")):
        name = module.relative_to(BLAZAR).as_posix()
        declares = name.startswith("application/config/") and name != "application/config/model.py"
        if declares or not name.startswith(("application/", "composition/", "adapters/engines/")):
            continue
        for key in read_in(module) & names():
            found[key].append(name)
    doors = (BLAZAR / "composition" / "foundation.py").read_text(encoding="utf-8")
    for field in ApiKey.model_fields:
        if re.search(rf"\bkey\.{field}\b", doors):
            found[f"keys.{field}"].append("composition/foundation.py")
    return {key: tuple(modules) for key, modules in found.items()}


@cache
def rows() -> dict[str, frozenset[str]]:
    """Keys in the flag tables of every engine kind."""
    found = {}
    for kind in EngineKind:
        tables = vars(importlib.import_module(f"blazar.adapters.engines.{kind}.flags")).values()
        flags = [flag for table in tables if isinstance(table, tuple) for flag in table if isinstance(flag, Flag)]
        found[kind.value] = frozenset(flag.key for flag in flags) - {FLOOR}
    return found


def test_no_row_names_a_setting_that_nobody_supplies():
    """A flag behind an undeclared key could never be said."""
    assert ROWS <= SETTINGS | launch_plan.SUPPLIED
    assert not launch_plan.SUPPLIED & SETTINGS
    assert launch_plan.SUPPLIED <= ROWS


def test_every_key_has_a_reader_or_waits_for_one():
    """A key without one would be an option without effect, and a named one that is gone is a stale list."""
    in_rows = frozenset().union(*rows().values()) & names()
    assert names() == in_rows | set(READERS) | set(WAITING)
    assert not in_rows & set(READERS)
    assert not in_rows & set(WAITING)
    assert not set(READERS) & set(WAITING)


def test_keys_that_wait_are_read_by_nothing():
    """Who builds the feature takes the key out of the list, names its reader here, and lowers the number."""
    assert {key: readers()[key] for key in WAITING if key in readers()} == {}


def test_the_list_of_keys_that_wait_only_becomes_shorter():
    """Each line a key and what it waits for, in order."""
    assert list(WAITING) == sorted(WAITING)
    assert all(len(feature) > 3 for feature in WAITING.values())
    assert len(WAITING) == STILL_UNREAD <= 62


@pytest.mark.parametrize("key", sorted(READERS))
def test_a_key_without_a_row_is_read_where_it_is_said_to_be(key):
    """By the named modules and by nothing else."""
    assert readers().get(key, ()) == READERS[key]


def test_a_key_with_a_row_is_read_by_nothing_else():
    """But for its kind's own rules, the planner, which resolves it before the row says it, and second readers that are named."""
    for key in frozenset().union(*rows().values()) & names():
        owners = {f"adapters/engines/{kind}/" for kind, keys in rows().items() if key in keys}
        others = {name for name in readers().get(key, ()) if not name.startswith(tuple(owners))}
        assert others - PLANNER == set(ALSO.get(key, ())), key


def test_the_planner_reads_declared_keys_only():
    """And by index: what is not declared is an error at once."""
    for planner in (Path(launch_plan.__file__), Path(fit_settings.__file__)):
        read = {key for key in read_in(planner) if key != "get"}
        assert read <= SETTINGS
        assert "settings.get(" not in planner.read_text(encoding="utf-8")


def test_tables_are_read_as_a_whole():
    """Each list of tables is one key here; its fields belong to whoever reads it."""
    assert {name for name in TABLES if name != "model_overrides"} <= names()
    assert all(table_in(Config.model_fields[name].annotation) for name in TABLES)
