"""What a named check is, and the list of all of them. A check drives one stock client against one gateway; it decides nothing else.

A module of `tests/matrix/clients` makes one `Client` for each client it drives and hangs its checks there:

    OPENAI = Client("openai (PyPI)", needs=("module:openai",))

    @OPENAI.check("/v1/chat/completions", stream=True)
    def text_comes_in_pieces(target: Target) -> None: ...

Importing such a module must work where the client is not installed: clients are imported inside the functions.
"""

import importlib
import importlib.util
import pkgutil
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict, Unpack

ROLES = ("chat", "scripted", "embed", "rank", "played", "agents")
"""What a gateway's model is good for: real text, answers known in advance (tests/support/scripted_gguf.py), vectors, scores
of documents, recorded streams of engines played back (tests/matrix/gateway.py), the scripted answers in a window that holds what an
agent says of itself."""


class Lacking(Exception):
    """This check cannot be made here; the reason is its text."""


@dataclass(frozen=True)
class Target:
    """The gateway that is checked: its root, a key ("none" where it wants none), and a model's name for each role it has."""

    url: str
    key: str
    models: dict[str, str] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    """Why a model that was named for a role is none for it."""

    def model(self, role: str) -> str:
        """The name of this role's model; a check that needs a role the gateway lacks is skipped with the reason."""
        if role in self.lacks:
            raise Lacking(self.lacks[role])
        if not (name := self.models.get(role, "")):
            raise Lacking(f"the gateway has no model for the role {role!r}: name one with --{role}")
        return name

    @property
    def v1(self) -> str:
        """The base URL for clients of the OpenAI API."""
        return f"{self.url}/v1"


Run = Callable[[Target], None]


class Facets(TypedDict, total=False):
    """Where a check stands in the matrix. `error` names what the client has to raise, "" where it has to succeed."""

    stream: bool
    tools: bool
    schema: bool
    error: str


class Check(NamedTuple):
    """One named check of one client on one route."""

    client: "Client"
    name: str
    route: str
    facets: Facets
    run: Run

    @property
    def title(self) -> str:
        return f"{self.client.name}: {self.name.replace('_', ' ')}"


@dataclass
class Client:
    """One stock client. `needs` are `module:NAME` (PyPI), `program:NAME` (on the PATH), `npm:NAME` or `agent:NAME`.

    Those of npm are in tests/matrix/npm, agents in tests/matrix/agents.py. A heavy one is driven by `make clients` only.
    """

    name: str
    needs: tuple[str, ...] = ()
    heavy: bool = False
    checks: list[Check] = field(default_factory=list, repr=False, compare=False)

    def __post_init__(self) -> None:
        CLIENTS.append(self)

    def check(self, route: str, **facets: Unpack[Facets]) -> Callable[[Run], Run]:
        """A decorator: the function's name is the check's."""

        def hang(run: Run) -> Run:
            self.add(getattr(run, "__name__", "check"), route, run, **facets)
            return run

        return hang

    def add(self, name: str, route: str, run: Run, **facets: Unpack[Facets]) -> None:
        """Hang a check that is made in a loop; names are unique within a client."""
        assert all(name != known.name for known in self.checks), f"{self.name}: two checks are named {name}"
        self.checks.append(Check(self, name, route, facets, run))

    def missing(self) -> str:
        """Why this client cannot be driven here, or ""."""
        return next((reason for need in self.needs if (reason := _lack(need))), "")


CLIENTS: list[Client] = []


def _lack(need: str) -> str:
    kind, _, name = need.partition(":")
    if kind == "module":
        try:
            return "" if importlib.util.find_spec(name) else f"the package {name} is not installed"
        except ModuleNotFoundError:
            return f"the package {name} is not installed"
    if kind == "agent":
        from tests.matrix.agents import lack as lack_of_agent

        return lack_of_agent(name)
    if kind == "npm":
        from tests.matrix.npm_packages import lack

        return lack(name)
    return "" if shutil.which(name) else f"the program {name} is not on the PATH"


def load() -> list[Client]:
    """Every client with its checks, in the order of the modules' names."""
    from tests.matrix import clients

    for found in sorted(pkgutil.iter_modules(clients.__path__), key=lambda one: one.name):
        importlib.import_module(f"{clients.__name__}.{found.name}")
    return [client for client in CLIENTS if client.checks]
