"""Which bytes a model is made of, whatever hosts say of their files: nobody gets another's, and what went bad does not spread."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Conflict, Malformed
from blazar.domain.references import kept_address
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry, digest_of
from tests.support.registry_faults import Stored

GOOD = tiny(extra={"general.name": "Good"}).build()
EVIL = tiny(extra={"general.name": "Evil"}).build()
REF = "hf:good/Model-GGUF:F16"


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    assert len(GOOD) == len(EVIL)
    with closing(ModelRegistry()) as registry:
        registry.publish_hub("good/Model-GGUF", {"Model-F16.gguf": GOOD})
        yield registry


@pytest.fixture
def local(tmp_path: Path, registry: ModelRegistry) -> Iterator[Local]:
    folders = Folders(tmp_path / "config.toml", tmp_path / "data")
    with closing(Local(folders, {"BLAZAR_REGISTRY_BASE": registry.url}, lambda _: ())) as local:
        yield local


def _pull(local: Local, reference: str, name: str = "") -> tuple[Pulled, list[Step]]:
    steps: list[Step] = []
    return pull_here(local)(Wish(reference, name), steps.append), steps


def _bytes(pulled: Pulled) -> bytes:
    assert pulled.model is not None
    return Path(pulled.model.files[0]).read_bytes()


@pytest.mark.parametrize("quote", ['"{}"', "{}", '"sha256:{}"'])
def test_an_entity_tag_is_no_digest(local: Local, registry: ModelRegistry, quote: str) -> None:
    """A host that sends the digest of somebody else's model as its tag gets its own bytes under no other name."""
    registry.network.given["/evil.gguf"] = Stored(EVIL, quote.format(digest_of(GOOD)))
    assert _bytes(_pull(local, f"{registry.network.url}/evil.gguf")[0]) == EVIL
    assert _bytes(_pull(local, REF)[0]) == GOOD


def test_a_file_of_the_same_length_is_another_file(local: Local, registry: ModelRegistry) -> None:
    """Of two addresses that say nothing of their files, or the same."""
    for tag in (None, '"v1"'):
        for name, data in (("foo", GOOD), ("bar", EVIL)):
            registry.network.given[f"/{bool(tag)}/{name}.gguf"] = Stored(data, tag)
            pulled, _ = _pull(local, f"{registry.network.url}/{bool(tag)}/{name}.gguf", f"{name}{bool(tag)}")
            assert _bytes(pulled) == data


@pytest.mark.parametrize("tag", [None, 'W/"v1"'])
def test_what_nobody_vouches_for_is_fetched_anew(local: Local, registry: ModelRegistry, tag: str | None) -> None:
    """Another file of the same length takes the place of the one before; the same one is there already."""
    stored = registry.network.given["/m.gguf"] = Stored(GOOD, tag)
    reference = f"{registry.network.url}/m.gguf"
    first, _ = _pull(local, reference)
    assert first.fresh
    assert _pull(local, reference)[0].fresh is False
    assert stored.sent >= 2 * len(GOOD)
    registry.network.given["/m.gguf"] = Stored(EVIL, tag)
    second, _ = _pull(local, reference)
    assert second.fresh
    assert _bytes(second) == EVIL
    assert [row.name for row in local.catalog.list_models()] == ["m"]
    assert len([path for path in local.folders.models.rglob("*.gguf") if path.is_file()]) == 1
    assert list(local.folders.downloads.iterdir()) == []


def test_a_strong_tag_tells_that_nothing_is_new(local: Local, registry: ModelRegistry) -> None:
    """Whatever the signature in the address; another tag is another version."""
    stored = registry.network.given["/m.gguf"] = Stored(GOOD, '"v1"')
    _pull(local, f"{registry.network.url}/m.gguf?sig=1")
    sent = stored.sent
    assert _pull(local, f"{registry.network.url}/m.gguf?sig=2")[0].fresh is False
    assert stored.sent - sent < 10
    registry.network.given["/m.gguf"] = Stored(EVIL, '"v2"')
    assert _bytes(_pull(local, f"{registry.network.url}/m.gguf?sig=1")[0]) == EVIL


def test_addresses_in_other_letters_are_two_files(local: Local, registry: ModelRegistry) -> None:
    """Case counts in them: the second is refused under the name of the first, and does not take its place."""
    registry.network.given["/m.gguf"] = Stored(GOOD, '"v1"')
    registry.network.given["/M.gguf"] = Stored(EVIL, '"v1"')
    pulled, _ = _pull(local, f"{registry.network.url}/m.gguf")
    with pytest.raises(Conflict, match="'m' exists already"):
        _pull(local, f"{registry.network.url}/M.gguf")
    assert _bytes(pulled) == GOOD


def test_what_one_host_left_half_done_is_no_other_s(local: Local, registry: ModelRegistry) -> None:
    """A download that turned out to be no model stays in a folder of its own address; nor is it believed the next time."""
    junk = bytes(len(GOOD))
    registry.network.given["/a/m.gguf"] = Stored(junk, None)
    registry.network.given["/b/m.gguf"] = Stored(GOOD, None)
    with pytest.raises(BlazarError):
        _pull(local, f"{registry.network.url}/a/m.gguf")
    assert _bytes(_pull(local, f"{registry.network.url}/b/m.gguf", "b")[0]) == GOOD
    registry.network.given["/a/m.gguf"] = Stored(EVIL, None)
    assert _bytes(_pull(local, f"{registry.network.url}/a/m.gguf", "a")[0]) == EVIL


def test_a_file_that_went_bad_here_is_not_linked(local: Local, registry: ModelRegistry) -> None:
    """It is fetched, and said which one is bad; a model that is there is not read again."""
    pulled, _ = _pull(local, REF)
    assert pulled.model is not None
    path = Path(pulled.model.files[0])
    path.write_bytes(EVIL)
    assert _pull(local, REF)[0].fresh is False
    registry.publish_hub("good/Copy-GGUF", {"Copy-F16.gguf": GOOD})
    copy, _ = _pull(local, "hf:good/Copy-GGUF:F16")
    assert _bytes(copy) == GOOD
    assert teaching.pull_damaged_here(str(path)) in copy.notes


def test_a_file_that_is_sound_is_linked_once_it_was_read(local: Local, registry: ModelRegistry) -> None:
    """No byte of it is stored twice; that it is read is told."""
    pulled, _ = _pull(local, REF)
    registry.publish_hub("good/Copy-GGUF", {"Copy-F16.gguf": GOOD})
    copy, steps = _pull(local, "hf:good/Copy-GGUF:F16")
    assert pulled.model is not None
    assert copy.model is not None
    assert Path(copy.model.files[0]).samefile(pulled.model.files[0])
    statuses = [step.status.partition(" ")[0] for step in steps]
    assert statuses == ["pulling", "verifying", "pulling", "verifying", "writing", "success"]


def test_a_finished_file_that_went_bad_before_its_model_was_there_is_fetched(
    local: Local, registry: ModelRegistry
) -> None:
    """What lies in a download folder is compared, too."""
    registry.publish_hub("good/Model-GGUF", {"Model-F16.gguf": GOOD, "mmproj-F16.gguf": b"x" * 64})
    registry.spoil(digest_of(b"x" * 64), *())
    registry.network.given.pop(f"/lfs/{digest_of(b'x' * 64)}")
    with pytest.raises(BlazarError):
        _pull(local, REF)
    (lies,) = local.folders.downloads.rglob("Model-F16.gguf")
    lies.write_bytes(EVIL)
    registry.publish_hub("good/Model-GGUF", {"Model-F16.gguf": GOOD, "mmproj-F16.gguf": b"x" * 64})
    assert _bytes(_pull(local, REF)[0]) == GOOD


def test_a_pull_that_failed_before_a_byte_leaves_no_folder(local: Local, registry: ModelRegistry) -> None:
    """Its lock goes with it."""
    registry.network.given.pop(f"/lfs/{digest_of(GOOD)}")
    with pytest.raises(BlazarError):
        _pull(local, REF)
    assert list(local.folders.downloads.iterdir()) == []


def test_a_name_in_other_letters_is_the_same_model_or_taken(local: Local, registry: ModelRegistry) -> None:
    """`as: ZED:LATEST` beside `zed`: where case is ignored both would have one file."""
    registry.publish_hub("good/Other-GGUF", {"Other-F16.gguf": EVIL})
    _pull(local, REF, "zed")
    again, _ = _pull(local, REF, "ZED:LATEST")
    assert again.fresh is False
    with pytest.raises(Conflict, match="'zed' exists already"):
        _pull(local, "hf:good/Other-GGUF:F16", "ZED")
    assert [row.name for row in local.catalog.list_models()] == ["zed"]


def test_a_part_that_there_is_not_asks_nobody(local: Local, registry: ModelRegistry) -> None:
    """Its role is judged first."""
    with pytest.raises(Malformed, match="is no part"):
        pull_here(local)(Wish(REF, parts=(("nope", REF),)), lambda _: None)
    assert registry.asked == []


SECRET = "https://me:s3cret@files.example/m.gguf?X-Amz-Signature=s3cret"


@pytest.mark.parametrize(
    "reference",
    [
        SECRET,
        "http://files.example/m.gguf?k=s3cret",
        "https://files.example/m.bin?k=s3cret",
        "me:s3cret@files.example/m.gguf",
        "me:s3cret@files.example/m?k=s3cret",
        "hf:me/repo?k=s3cret",
        "ollama:me:s3cret@x",
        "file://me:s3cret@host/m.gguf",
    ],
)
def test_no_sentence_repeats_a_secret(local: Local, reference: str) -> None:
    """Of a reference that is refused, as little as of one that fails."""
    with pytest.raises(BlazarError) as told:
        _pull(local, reference)
    assert "s3cret" not in str(told.value)


def test_a_signature_is_told_again_and_shown_to_nobody(local: Local, registry: ModelRegistry) -> None:
    """`show --json` says where it came from without it; the row has its hash, by which the same address is known."""
    registry.network.given["/m.gguf"] = Stored(GOOD, '"v1"')
    reference = f"{registry.network.url}/m.gguf?sig=s3cret"
    pulled, _ = _pull(local, reference)
    assert pulled.model is not None
    assert pulled.model.origin is not None
    assert pulled.model.origin.reference == kept_address(reference)
    assert "s3cret" not in str(pulled.model)
    registry.network.given["/m.gguf"] = Stored(EVIL, '"v2"')
    assert _pull(local, reference)[0].fresh is True
    shown = local.models().show("m", verbose=False)
    assert shown["pulled_from"] == f"{registry.network.url}/m.gguf"
    assert "s3cret" not in str(shown)
    registry.network.given["/n.gguf"] = Stored(EVIL, '"v1"')
    with pytest.raises(Conflict) as told:
        _pull(local, f"{registry.network.url}/n.gguf?sig=s3cret", "m")
    assert "s3cret" not in str(told.value)
