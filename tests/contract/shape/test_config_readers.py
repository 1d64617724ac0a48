"""Every configuration key has its one reader, and no reader asks for a key that nobody declares.

A key is read by a row of an engine's flag table, or by the modules named here: looked for in their syntax trees, so that a key
which is declared and forgotten, or read under a name that does not exist, is found.
"""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.domain.argv import FLOOR
from blazar.application.config.model import Config, Override
from blazar.application.config.tables import ApiKey
from blazar.application.supervise import fit_settings, launch_plan

BLAZAR = Path(launch_plan.__file__).parents[2]
SETTINGS = frozenset(Config().settings_for("any"))
ROWS = frozenset(flag.key for flag in LLAMACPP_FLAGS) - {FLOOR}

READERS: dict[str, tuple[str, ...]] = {
    "host": ("composition/serve.py",),
    "port": ("composition/serve.py",),
    "log_level": ("composition/serve.py",),
    "cors_origins": ("composition/foundation.py",),
    "allowed_hosts": ("composition/foundation.py",),
    # The doors ask for them; the start warns when there are none and others can reach us.
    "keys": ("composition/foundation.py", "composition/serve.py"),
    "audit_log": ("composition/foundation.py",),
    "child_header_timeout_secs": ("composition/daemon.py",),
    "model_load_timeout_secs": ("composition/daemon.py",),
    "max_loaded_models": ("composition/daemon.py",),
    "idle_timeout_secs": ("composition/daemon.py",),
    "pin": ("composition/daemon.py",),
    # Settings of a model; which models are pinned; for the doctor, which names no model has.
    "model_overrides": ("application/config/model.py", "composition/daemon.py", "composition/local.py"),
    "preload": ("application/config/model.py",),
    "models_autoload": ("application/config/model.py",),
    "cache_type": ("application/config/model.py",),
    "default_ctx": ("application/supervise/fit_settings.py",),
    "ctx": ("application/ops/preview_fit.py", "application/supervise/fit_settings.py"),
    "deterministic": ("application/supervise/fit_settings.py",),
    "engine": ("application/ops/preview_fit.py", "application/supervise/launch_plan.py"),
    # Judged before they are passed on; read for what they change of a plan, also where an imagined load takes some of them out.
    "extra_args": (
        "application/ops/preview_fit.py",
        "application/supervise/launch_plan.py",
        "application/supervise/sizing.py",
    ),
    # The guard refuses a load, and the dry run says beforehand whether it will.
    "spawn_mem_guard": ("application/ops/explain.py", "application/ops/fit_rows.py", "composition/daemon.py"),
    # Children get it with their plan; whoever asks a build what it can do must ask in the same environment.
    "engine_env": (
        "application/supervise/launch_plan.py",
        "composition/daemon.py",
        "composition/local.py",
        "composition/preview.py",
    ),
}
ALSO: dict[str, tuple[str, ...]] = {
    # Our own keep-alive comments follow the engine's switch (case D5).
    "sse_ping_interval": ("composition/daemon.py",),
    # A question about an imagined load is put in the configuration's own words.
    "slots": ("application/ops/preview_fit.py",),
    # Whose devices are listed for an imagined load.
    "rpc_servers": ("application/ops/preview_fit.py",),
}
"""Rows whose key has a second reader."""

_SKIPPED = {"application/config/render.py", "application/config/page.py"}
"""They show all keys and act on none."""


@cache
def read_in(module: Path) -> frozenset[str]:
    """Keys that the module takes from a configuration: `config.key`, `override.key`, `settings["key"]`, `settings.get("key")`."""
    # The declaration itself reads its own fields.
    holders = {"config", "override"} | ({"self"} if module.name == "model.py" else set())
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
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
def readers() -> dict[str, tuple[str, ...]]:
    """Key to the modules that take it."""
    known = {*Config.model_fields, *Override.model_fields}
    found = defaultdict(list)
    for module in sorted(BLAZAR.rglob("*.py")):
        name = module.relative_to(BLAZAR).as_posix()
        if name in _SKIPPED or not name.startswith(("application/", "composition/")):
            continue
        for key in read_in(module) & known:
            found[key].append(name)
    return {key: tuple(names) for key, names in found.items()}


def test_no_row_names_a_setting_that_nobody_supplies():
    """A flag behind an undeclared key could never be said."""
    assert ROWS <= SETTINGS | launch_plan.SUPPLIED
    assert not launch_plan.SUPPLIED & SETTINGS
    assert launch_plan.SUPPLIED <= ROWS


def test_every_key_has_a_reader():
    """A key without one would be an option without effect, and a named one that is gone is a stale list."""
    keys = {*Config.model_fields, *Override.model_fields}
    assert keys == (ROWS - launch_plan.SUPPLIED) | set(READERS)
    assert not ROWS & set(READERS)


@pytest.mark.parametrize("key", sorted(READERS))
def test_a_key_without_a_row_is_read_where_it_is_said_to_be(key):
    """By the named modules and by nothing else."""
    assert readers().get(key, ()) == READERS[key]


def test_a_key_with_a_row_is_read_by_nothing_else():
    """But for the planner, which resolves it before the row says it, and the second readers that are named."""
    planner = ("launch_plan", "preparation", "fit_settings", "verdict_flags")
    ours = {"application/config/model.py"} | {f"application/supervise/{name}.py" for name in planner}
    for key in ROWS - launch_plan.SUPPLIED:
        assert set(readers().get(key, ())) - ours == set(ALSO.get(key, ())), key


def test_the_planner_reads_declared_keys_only():
    """And by index: what is not declared is an error at once."""
    for planner in (Path(launch_plan.__file__), Path(fit_settings.__file__)):
        read = {key for key in read_in(planner) if key != "get"}
        assert read <= SETTINGS
        assert "settings.get(" not in planner.read_text(encoding="utf-8")


def test_every_field_of_a_key_is_read():
    """Name, secret and scope of `[[keys]]` reach the doors."""
    text = (BLAZAR / "composition" / "foundation.py").read_text(encoding="utf-8")
    assert all(f"key.{field}" in text for field in ApiKey.model_fields)
