"""Environment variables that are no configuration keys: what each is for. A table for the documentation; reads none of them."""

from typing import NamedTuple


class Variable(NamedTuple):
    """One variable and what it is for, in a sentence."""

    name: str
    purpose: str


VARIABLES = (
    Variable(
        "BLAZAR_HOST",
        "The daemon that the command line talks to, as `HOST`, `HOST:PORT` or a URL; it does not change where a daemon listens.",
    ),
    Variable(
        "BLAZAR_KEYS", "API keys that are appended to the file when the daemon starts, once; see [API keys](#api-keys)."
    ),
    Variable(
        "BLAZAR_API_KEY",
        "The key that the command line sends; unset: the first of the file, preferably one that may do everything.",
    ),
    Variable("BLAZAR_DEBUG", "Shows where in the program an unexpected error came up."),
    Variable(
        "BLAZAR_REGISTRY_BASE", "Base address of the registry that models are pulled from, instead of the usual one."
    ),
    Variable("BLAZAR_REGISTRY_TOKEN", "Access token for private models of that registry."),
    Variable(
        "BLAZAR_GH_BASE",
        "Base address of the host that releases of engines are looked up at, instead of GitHub's: its API answers under "
        "`/repos/OWNER/NAME/releases`, its files lie under `/OWNER/NAME/releases/download/TAG/NAME`.",
    ),
    Variable(
        "BLAZAR_REPO",
        "Repository, as `OWNER/NAME`, that releases of llama.cpp are downloaded from, instead of the usual one.",
    ),
    Variable(
        "BLAZAR_INSTALL_BASE_URL",
        "Base address that engine builds are downloaded from, as `TAG/NAME` under it, instead of the release's own.",
    ),
    Variable(
        "BLAZAR_ENGINE_PATH",
        "A llama-server of your own, the program or the folder it is in; it is offered as a local build.",
    ),
    Variable(
        "BLAZAR_SYSTEMCTL", "The systemctl program that manages the service, instead of the one on the search path."
    ),
    Variable(
        "BLAZAR_ENGINE_GATE",
        "The comparison that a newer engine build must pass before `engine update` makes it the active one: `on` (also when "
        "unset: it may decode a tenth more slowly, and no more), `off`, or the percentage of speed that it may lose (`15`).",
    ),
)
