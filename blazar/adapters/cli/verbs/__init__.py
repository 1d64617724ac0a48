"""Which function does what a verb says. A row is imported when it is needed: `ps` must not pay for the others."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from blazar.adapters.cli.root import Verb

VERBS: Final = {
    "serve": "daemon:serve",
    "stop": "daemon:stop",
    "restart": "daemon:restart",
    "status": "daemon:status",
    "logs": "logs:logs",
    "run": "run:run",
    "import": "models:add",
    "list": "models:listing",
    "show": "models:show",
    "rm": "models:remove",
    "cp": "models:copy",
    "create": "create:create",
    "pull": "pulls:pull",
    "search": "search:search",
    "ps": "children:ps",
    "load": "children:load",
    "evict": "children:evict",
    "explain": "children:explain",
    "why": "why:why",
    "watch": "watch:watch",
    "fit": "fit:fit",
    "engine-list": "engines:listing",
    "engine-install": "engines:install",
    "engine-build": "engine_build:build",
    "engine-update": "engine_releases:update",
    "engine-check": "engine_releases:check",
    "engine-use": "engines:use",
    "engine-rollback": "engines:rollback",
    "engine-pin": "engines:pin",
    "engine-unpin": "engines:unpin",
    "engine-rm": "engines:remove",
    "keys-add": "keys:add",
    "keys-list": "keys:listing",
    "keys-rm": "keys:remove",
    "keys-rotate": "keys:rotate",
    "keys-usage": "keys:usage",
    "config-get": "config:get",
    "config-list": "config:listing",
    "config-defaults": "config:defaults",
    "config-path": "config:path",
    "config-validate": "config:validate",
    "config-schema": "config:schema",
    "config-set": "config:set_value",
    "config-unset": "config:unset",
    "config-edit": "config_edit:edit",
    "migrate": "migrate:migrate",
    "doctor": "doctor:doctor",
    "completion": "installation:completion",
    "version": "installation:version",
    "help": "installation:help_on",
    "accounts": "installation:accounts",
}
"""By the `action` that the parser sets."""


def find_verb(action: str) -> "Verb":
    """The function behind an action."""
    module, _, name = VERBS[action].partition(":")
    verb: Verb = getattr(import_module(f"{__name__}.{module}"), name)
    return verb
