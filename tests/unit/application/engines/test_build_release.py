"""Building a release of its own source: what is asked of whom, in which order, and what is left."""

import pytest

from blazar.application.engines.build_engine import BuildEngine
from blazar.application.engines.build_release import BuildRelease, Wish
from blazar.application.engines.install_engine import InstallEngine
from blazar.application.ports.engines import Program
from blazar.domain import teaching
from blazar.domain.building import Backend, Compiler
from blazar.domain.errors import (
    BlazarError,
    Busy,
    Conflict,
    Forbidden,
    Malformed,
    NotFound,
    RegistryTrouble,
    StoreTrouble,
)
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.forks import FakeSources
from tests.fakes.toolchain import FakeToolchain, MemoryWorkshop
from tests.support.releasing import LLAMACPP, Rig, build, stable

DIGEST = "a" * 64
CPU = Wish(Backend.CPU)
GCC = Compiler("/bin/gcc-13", "/bin/g++-13", "gcc", (13, 2))


class Yard:
    """A feed with two builds and a stable release, their sources, and a machine that builds them."""

    def __init__(self, channel: str = "latest") -> None:
        self.feed = Rig([build(11435), stable("v0.6.0", 11434, day=2), build(11434, day=1)], channel)
        self.sources, self.catalog = FakeSources(), MemoryEngineCatalog()
        self.tools = FakeToolchain({"cmake": "cmake version 3.25.1", "ninja": "1.11.1"}, [GCC])
        self.workshop = MemoryWorkshop({f"/downloads/{tag}.tar.gz": DIGEST for tag in ("b11434", "b11435")})
        self.told: list[tuple[str, int, int]] = []

    def __call__(self, wish: Wish = CPU) -> Engine:
        programs = {EngineKind.LLAMACPP: Program("llama-server")}
        install = InstallEngine(self.catalog, MemoryEngineBuilds(), FakeEngineTrial("11434"), FakeClock(), programs)
        make = BuildRelease(self.feed.pick, self.sources, BuildEngine(self.tools, self.workshop, install))
        return make(wish, self.tell, self.tell)

    def tell(self, name: str, done: int, whole: int) -> None:
        self.told.append((name, done, whole))


def test_the_newest_release_is_fetched_and_built() -> None:
    """Its row says what it was made of, with the digest that no feed tells; what was fetched is gone."""
    yard = Yard()
    row = yard()
    assert (row.tag, row.release, row.provenance) == ("b11435-cpu", "b11435", Provenance.BUILT)
    assert row.source == f"{LLAMACPP}@b11435 sha256:{DIGEST}"
    assert yard.sources.fetched == [(f"{LLAMACPP}@b11435", "")]
    assert yard.sources.dropped == ["/downloads/b11435.tar.gz"]
    assert yard.told[0] == (f"{LLAMACPP}@b11435", 10, 10)
    assert yard.told[1:] == [("b11435-cpu", 1, 2), ("b11435-cpu", 2, 2)] * 2


@pytest.mark.parametrize(
    ("channel", "named"), [("stable", ""), ("latest", "b11434"), ("latest", "b11434-cpu"), ("latest", "v0.6.0")]
)
def test_which_release(channel: str, named: str) -> None:
    """The stable one where the channel says so; a named one by its tag, by its build's, or by the one that stamps it."""
    assert Yard(channel)(Wish(Backend.CPU, named)).tag == "b11434-cpu"


def test_a_digest_that_a_person_has() -> None:
    """Is compared, in whichever spelling."""
    yard = Yard()
    yard(Wish(Backend.CPU, sha256=f"sha256:{DIGEST.upper()}", jobs=3))
    assert yard.sources.fetched == [(f"{LLAMACPP}@b11435", DIGEST)]
    assert yard.tools.ran[1][3:5] == ("-j", "3")


@pytest.mark.parametrize("wish", [CPU._replace(release="../up"), CPU._replace(sha256="abc")])
def test_what_cannot_be_meant(wish: Wish) -> None:
    """Is refused before anything is asked."""
    yard = Yard()
    with pytest.raises(Malformed):
        yard(wish)
    assert yard.feed.feed.asked == []


def test_what_is_missing_here_is_said_before_anything_is_fetched() -> None:
    """A compiler, room, or a name that is free."""
    bare, full, there = Yard(), Yard(), Yard()
    bare.tools.found.clear()
    full.workshop.room = 2**20
    there.catalog.add_engine(an_engine("b11435-cpu"))
    for yard, kind, asked in ((bare, Malformed, 0), (full, StoreTrouble, 0), (there, Conflict, 1)):
        with pytest.raises(kind):
            yard()
        assert (len(yard.feed.feed.asked), yard.sources.fetched) == (asked, [])


@pytest.mark.parametrize(
    "trouble", [NotFound("gone"), Busy("later", 30.0), RegistryTrouble("no network"), Forbidden("not for you")]
)
@pytest.mark.parametrize("at", ["feed", "source"])
def test_without_a_network_there_is_another_way(trouble: BlazarError, at: str) -> None:
    """Whoever refuses, and whatever for: the sentence ends with how to build of sources at hand."""
    yard = Yard()
    if at == "feed":
        yard.feed.feed.trouble = trouble
    else:
        yard.sources.refused = trouble
    with pytest.raises(type(trouble), match=r"^no source to build of: .*--source ARCHIVE --sha256 HEX") as refused:
        yard()
    assert str(trouble) in str(refused.value)
    assert getattr(refused.value, "retry_after", 0.0) == getattr(trouble, "retry_after", 0.0)


def test_what_is_no_source_is_fetched_anew_the_next_time() -> None:
    """A whole archive of something else would be taken for what a failed build left, for ever."""
    yard = Yard()
    yard.workshop.refused = Malformed("no sources of llama.cpp", "source")
    with pytest.raises(Malformed, match="no sources"):
        yard()
    assert yard.sources.dropped == ["/downloads/b11435.tar.gz"]
    yard.workshop.refused = None
    assert yard().tag == "b11435-cpu"


def test_what_was_fetched_stays_for_the_next_try() -> None:
    """A build that failed is no reason to fetch it anew."""
    yard = Yard()
    yard.tools.fails = "-C"
    with pytest.raises(Malformed, match="could not be built"):
        yard()
    assert yard.sources.dropped == []


@pytest.mark.parametrize("backend", [*Backend])
def test_remedies_are_those_of_a_build(backend: Backend) -> None:
    """What a download's sentence says of installing would not bring a source; one way is named, once."""
    yard = Yard()
    yard.feed.feed.trouble = NotFound(teaching.download_gone("llama.cpp@b1", "host"))
    yard.tools.programs |= {"nvcc": "release 12.4, V12.4.131", "nvidia-smi": "8.9"}
    with pytest.raises(NotFound) as refused:
        yard(Wish(backend))
    assert str(refused.value).endswith(f"take another release (blazar engine build {backend} --release T)")
    yard.feed.feed.trouble = RegistryTrouble(teaching.release_feed_offline("host", "refused", "V"))
    with pytest.raises(RegistryTrouble) as refused_too:
        yard(Wish(backend))
    assert str(refused_too.value).count("blazar engine") == 1
    assert f"elsewhere (blazar engine build {backend} --source ARCHIVE --sha256 HEX)" in str(refused_too.value)
