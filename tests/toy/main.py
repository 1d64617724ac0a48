"""`blazar` with the toy kind in it: what a sixth kind adds outside its folder is a value, a preference in routing, and its entry.

Run as `python -m tests.toy.main FOLDER serve …`: rows for the build and a model are entered first, then it is `python -m blazar`.
"""

import sys
from pathlib import Path

from blazar.adapters.engines.drivers import SPECS
from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.routing import LANES, Lane
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.toy.spec import toy


def a_kind(value: str) -> EngineKind:
    """A value of the closed vocabulary that is not there."""
    kind = str.__new__(EngineKind, value)
    kind._name_, kind._value_ = value.upper(), value
    EngineKind._member_map_[value.upper()] = EngineKind._value2member_map_[value] = kind
    EngineKind._member_names_.append(value.upper())
    return kind


def enter(data: Path, kind: EngineKind) -> None:
    """As an installation and an import would."""
    data.mkdir(parents=True, exist_ok=True)
    weights = data.parent / "toy.gguf"
    weights.write_bytes(b"GGUF")
    server = Path(__file__).with_name("server.py")
    database = Database(data / "blazar.db")
    words = (sys.executable, "-S", str(server))
    SqliteEngineCatalog(database).add_engine(
        an_engine("toy-1", kind=kind, server_path=str(server), command=words, active=True)
    )
    SqliteModelCatalog(database).add_model(a_model("m", files=(str(weights),), sizes=(4,), owned=False))
    database.close()


if __name__ == "__main__":
    kind = a_kind("toy")
    SPECS[kind] = toy(kind)
    LANES[Weights.GGUF] = Lane((kind,), "the toy is the home of the format here")
    enter(Path(sys.argv.pop(1)), kind)
    from blazar.__main__ import main

    sys.exit(main())
