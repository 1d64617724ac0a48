"""A whole pull over loopback: registries as they speak, the real transfer, the real catalog and disk."""

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import pytest

from blazar.adapters.files.configfile import change_config
from blazar.adapters.files.folders import Folders
from blazar.adapters.net.throttle import Throttle
from blazar.application.config.edit import set_value
from blazar.application.config.model import Config
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.composition.local import Local
from blazar.composition.pulling import Pulling, Shelf, pull_here
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, BlazarError, ChoiceOpen, Malformed, RegistryTrouble, StoreTrouble
from blazar.domain.overlay import Overlay
from tests.support.gguf_files import Gguf, tiny
from tests.support.model_registry import ModelRegistry, digest_of
from tests.support.registry_faults import Fault
from tests.support.safetensors_files import model_folder

if TYPE_CHECKING:
    from blazar.adapters.net.downloads import HttpDownloads

GGUF = tiny().build()


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as registry:
        yield registry


@pytest.fixture
def local(tmp_path: Path, registry: ModelRegistry) -> Iterator[Local]:
    host = registry.url.removeprefix("http://")
    (tmp_path / "config.toml").write_text(f'model_registries = ["{host}"]\n')
    folders = Folders(tmp_path / "config.toml", tmp_path / "data")
    with closing(Local(folders, {"BLAZAR_REGISTRY_BASE": registry.url}, lambda _: ())) as local:
        yield local


def _pull(local: Local, reference: str, **more: str) -> tuple[Pulled, list[Step]]:
    steps: list[Step] = []
    return pull_here(local)(Wish(reference, **more), steps.append), steps  # type: ignore[arg-type]


def test_a_model_of_ollama_s_protocol(local: Local, registry: ModelRegistry) -> None:
    """Its template, parameters and licence come along; the second pull asks for no weights."""
    layers = [
        ("model", GGUF),
        ("template", b"{{ .System }}|{{ .Prompt }}|"),
        ("params", json.dumps({"temperature": 0.5, "stop": ["<end>"]}).encode()),
        ("license", b"MIT"),
    ]
    registry.publish("library/tiny", "1b", layers)
    reference = registry.url.removeprefix("http://") + "/library/tiny:1b"
    pulled, steps = _pull(local, reference)
    assert pulled.model is not None
    assert steps[-1].status == "success"
    assert {step.digest for step in steps if step.digest} == {f"sha256:{digest_of(GGUF)}"}
    assert local.catalog.find_model(pulled.model.name) == pulled.model
    assert Path(pulled.model.files[0]).read_bytes() == GGUF
    assert pulled.model.origin is not None
    assert pulled.model.origin.licence == "MIT"
    assert "<end>" in local.folders.config_file.read_text()
    registry.network.asked.clear()
    assert _pull(local, reference)[0].fresh is False
    assert not any(digest_of(GGUF) in asked.path for asked in registry.network.asked)
    assert list(local.folders.downloads.iterdir()) == []


def test_models_of_hugging_face_s_protocol(local: Local, registry: ModelRegistry) -> None:
    """A file with its quantisation, and a folder of safetensors."""
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"x", "Tiny-F16.gguf": GGUF})
    pulled, _ = _pull(local, "hf:owner/Tiny-GGUF:f16")
    assert pulled.model is not None
    assert pulled.model.name == "tiny-f16"
    assert pulled.model.origin is not None
    assert pulled.model.origin.licence == "apache-2.0"
    made = model_folder(local.folders.data.parent / "made")
    registry.publish_hub("owner/Folder", {path.name: path.read_bytes() for path in made.iterdir()})
    folder, _ = _pull(local, "owner/Folder")
    assert folder.model is not None
    assert folder.model.folder == str(local.folders.models / "folder")


def test_h11_a_readme_that_changes_is_no_update(local: Local, registry: ModelRegistry) -> None:
    """Nor is a commit: what counts is what is pulled (case H11)."""
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"x", "Tiny-F16.gguf": GGUF})
    _pull(local, "hf:owner/Tiny-GGUF:F16")
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"another text", "Tiny-F16.gguf": GGUF})
    assert _pull(local, "hf:owner/Tiny-GGUF:F16")[0].fresh is False
    newer = tiny(blocks=3).build()
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"another text", "Tiny-F16.gguf": newer})
    assert _pull(local, "hf:owner/Tiny-GGUF:F16")[0].fresh


def test_spoilt_bytes_are_never_a_model(local: Local, registry: ModelRegistry) -> None:
    """Bytes that differ every time: a sentence, no row, no link (case H1)."""
    registry.publish_hub("owner/Tiny-GGUF", {"Tiny-F16.gguf": GGUF})
    registry.spoil(digest_of(GGUF), Fault(flip=len(GGUF) // 2, times=-1))
    with pytest.raises(RegistryTrouble):
        _pull(local, "hf:owner/Tiny-GGUF:F16")
    assert local.catalog.list_models() == []
    assert not any(local.folders.models.iterdir())


DYING = """
import os, sys
from pathlib import Path
from blazar.adapters.files.folders import Folders
from blazar.adapters.net.throttle import Throttle
from blazar.application.models.pulling import Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here

def die(*_, **__):
    os._exit(9)

folders = Folders(Path(sys.argv[1]), Path(sys.argv[2]))
local = Local(folders, {"BLAZAR_REGISTRY_BASE": sys.argv[3]}, lambda _: ())
pull = pull_here(local)
owner, step = {"add_model": (pull.place.catalog, sys.argv[5]), "renew": (pull.place.overlays, sys.argv[5])}.get(
    sys.argv[5], (pull.place.weights, sys.argv[5])
)
setattr(owner, step, die)
pull(Wish(sys.argv[4]), lambda _: None)
"""


@pytest.mark.parametrize("step", ["inspect", "take", "renew", "add_model"])
def test_a_process_that_dies_leaves_no_half_model(local: Local, registry: ModelRegistry, step: str) -> None:
    """Wherever it is: no row, and the next pull fetches no weights again and leaves nothing beside them."""
    registry.publish("library/tiny", "1b", [("model", GGUF), ("params", b'{"temperature": 0.5}')])
    reference = registry.url.removeprefix("http://") + "/library/tiny:1b"
    folders = local.folders
    words = [str(folders.config_file), str(folders.data), registry.url, reference, step]
    assert subprocess.run([sys.executable, "-c", DYING, *words], check=False).returncode == 9
    assert local.catalog.list_models() == []
    registry.network.asked.clear()
    pulled, _ = _pull(local, reference)
    assert not any(digest_of(GGUF) in asked.path for asked in registry.network.asked)
    assert pulled.model is not None
    assert local.catalog.list_models() == [pulled.model]
    assert [str(file) for file in folders.models.iterdir()] == list(pulled.model.files)
    assert list(folders.downloads.iterdir()) == []


def test_a_registry_that_was_not_configured_is_not_asked(local: Local) -> None:
    """Names of hosts in a reference are anybody's to choose."""
    with pytest.raises(Malformed, match="model_registries"):
        _pull(local, "127.0.0.1:9/library/x:y")


def test_nothing_of_http_is_imported_before_a_pull() -> None:
    """A daemon that only serves has no HTTP client."""
    code = "import sys, blazar.composition.pulling; print({'httpx', 'sqlmodel', 'sqlalchemy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def _folder(local: Local, registry: ModelRegistry, more: Mapping[str, bytes] = {}) -> None:
    made = model_folder(local.folders.data.parent / "made")
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    registry.publish_hub("owner/Folder", files | dict(more))


def test_a_folder_with_an_empty_file(local: Local, registry: ModelRegistry) -> None:
    """Repositories hold `__init__.py` and `added_tokens.json` of no bytes; nobody is asked for those."""
    _folder(local, registry, {"__init__.py": b"", "added_tokens.json": b""})
    folder = _pull(local, "owner/Folder")[0].model
    assert folder is not None
    assert (Path(folder.folder) / "added_tokens.json").read_bytes() == b""
    assert not any("added_tokens" in path or "__init__" in path for path in registry.paths())
    assert _pull(local, "owner/Folder")[0].fresh is False


def test_h1_a_spoilt_small_file_is_no_part_of_a_model(local: Local, registry: ModelRegistry) -> None:
    """No SHA-256 is told of it; git's id is, and a tokenizer of other bytes answers nonsense (case H1)."""
    _folder(local, registry)
    registry.faults.set("/owner/Folder/resolve/main/tokenizer.json", Fault(flip=1, times=-1))
    with pytest.raises(RegistryTrouble, match=r"tokenizer\.json arrived twice with other bytes"):
        _pull(local, "owner/Folder")
    assert local.catalog.list_models() == []
    registry.faults.set("/owner/Folder/resolve/main/tokenizer.json", Fault(flip=1, times=1))
    assert _pull(local, "owner/Folder")[0].model is not None


LORA = Gguf([("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")], tiny().rows)


def test_an_adapter_of_ollama_s_protocol(local: Local, registry: ModelRegistry) -> None:
    """Its layer has no file's name; without weights beside it, it gets a place and a sentence that says how it is set."""
    registry.publish("library/ad", "1b", [("adapter", LORA.build())])
    reference = registry.url.removeprefix("http://") + "/library/ad:1b"
    pulled, _ = _pull(local, reference)
    assert (pulled.model, Path(pulled.path).read_bytes()) == (None, LORA.build())
    assert any("loras" in note for note in pulled.notes)
    assert _pull(local, reference)[0].fresh is False


def test_an_adapter_beside_weights_lies_over_them(local: Local, registry: ModelRegistry) -> None:
    """As `create` sets one; a newer one takes its place, and it goes with the model."""
    newer = LORA.having(general__name="newer").build()
    reference = registry.url.removeprefix("http://") + "/library/ad:1b"
    for adapter in (LORA.build(), newer):
        registry.publish("library/ad", "1b", [("model", GGUF), ("adapter", adapter)])
        pulled, _ = _pull(local, reference)
        assert pulled.model is not None
        assert pulled.fresh
        (laid,) = tomllib.loads(local.folders.config_file.read_text())["model_overrides"][pulled.model.name]["loras"]
        assert Path(laid).read_bytes() == adapter
        assert (local.overlays.find(pulled.model.name) or Overlay()).adapters == (laid,)
        assert set(local.folders.models.iterdir()) == {Path(laid), *map(Path, pulled.model.files)}
        assert _pull(local, reference)[0].fresh is False
    Path(laid).unlink()
    pulled, _ = _pull(local, reference)  # it is fetched again
    assert pulled.model is not None
    assert set(local.folders.models.iterdir()) == {Path(laid), *map(Path, pulled.model.files)}
    local.models().remove(pulled.model.name)
    assert list(local.folders.models.rglob("*.gguf")) == []


@pytest.mark.parametrize("says", [False, True])
def test_an_adapter_that_an_update_drops_goes(local: Local, registry: ModelRegistry, *, says: bool) -> None:
    """Whether it has words left or none; what a person wrote into the override stays."""
    reference = registry.url.removeprefix("http://") + "/library/ad:1b"
    system = ("system", b"Be brief.")
    registry.publish("library/ad", "1b", [("model", GGUF), ("adapter", LORA.build()), system])
    pulled, _ = _pull(local, reference)
    assert pulled.model is not None
    name, file = pulled.model.name, local.folders.config_file
    change_config(file, lambda text: set_value(text, ("model_overrides", name, "slots"), 2))
    registry.publish("library/ad", "1b", [("model", GGUF), *([system] if says else [])])
    assert _pull(local, reference)[0].fresh
    override = tomllib.loads(file.read_text())["model_overrides"][name]
    assert ("loras" in override, override["slots"]) == (False, 2)
    assert "Be brief." in override["chat_template"]
    row = local.catalog.find_model(name)
    assert row is not None
    assert set(local.folders.models.iterdir()) == set(map(Path, row.files))
    assert _pull(local, reference)[0].fresh is False


@pytest.mark.parametrize("when", ["before", "meanwhile"])
@pytest.mark.parametrize("update", [False, True])
def test_a_configuration_that_a_person_is_editing_costs_a_pulled_model_no_word(
    local: Local, registry: ModelRegistry, when: str, *, update: bool
) -> None:
    """Told before the first byte where it breaks off by then; after two such tries all that the registry says comes, and nobody is said to have set it."""
    file, reference = local.folders.config_file, registry.url.removeprefix("http://") + "/library/d:1"
    if update:
        registry.publish("library/d", "1", [("model", GGUF), ("system", b"Be old."), ("params", b'{"top_k": 3}')])
        _pull(local, reference)
    newer = tiny(extra={"general.name": "newer"}).build()
    registry.publish("library/d", "1", [("model", newer), ("system", b"Be brief."), ("params", b'{"top_k": 5}')])
    good, rows = file.read_text(), local.catalog.list_models()
    for _ in range(2):
        if when == "before":
            file.write_text(good + "a = [\n")

        def told(step: Step) -> None:
            assert when == "meanwhile" or not step.digest
            if step.digest or step.status == "verifying sha256 digest":
                file.write_text(good + "a = [\n")

        with pytest.raises(BadConfig, match="not valid TOML"):
            pull_here(local)(Wish(reference), told)
        file.write_text(good)
        assert local.catalog.list_models() == rows
    pulled, _ = _pull(local, reference)
    assert (pulled.fresh, pulled.notes) == (True, ())
    assert pulled.model is not None
    override = tomllib.loads(file.read_text())["model_overrides"][pulled.model.name]
    assert override["extra_args"] == ["--top-k", "5"]
    assert "Be brief." in override["chat_template"]


def test_what_is_no_adapter_lies_over_nothing(local: Local, registry: ModelRegistry) -> None:
    """Engines end themselves over it: a sentence, and no row."""
    registry.publish("library/ad", "1b", [("model", GGUF), ("adapter", tiny(blocks=3).build())])
    with pytest.raises(BlazarError):
        _pull(local, registry.url.removeprefix("http://") + "/library/ad:1b")
    assert local.catalog.list_models() == []
    assert list(local.folders.models.rglob("*.gguf")) == []


SHM = Path("/dev/shm")


@pytest.mark.skipif(not os.access(SHM, os.W_OK), reason="no second file system to write to")
@pytest.mark.parametrize("moved", ["models", "downloads"])
def test_models_may_lie_on_another_file_system(local: Local, registry: ModelRegistry, moved: str) -> None:
    """Through a link of either folder: downloads arrive where the models are, and leave nothing on the way."""
    folders = local.folders.ensure()
    with TemporaryDirectory(dir=SHM) as elsewhere:
        if Path(elsewhere).stat().st_dev == folders.data.stat().st_dev:
            pytest.skip("the second file system is the first")
        if moved == "models":
            folders.models.rmdir()
        (folders.data / moved).symlink_to(elsewhere)
        registry.publish_hub("owner/Tiny-GGUF", {"Tiny-F16.gguf": GGUF})
        pulled, _ = _pull(local, "hf:owner/Tiny-GGUF:F16")
        assert pulled.model is not None
        assert Path(pulled.model.files[0]).read_bytes() == GGUF
        assert not Path(pulled.model.files[0]).is_symlink()
        left = [path for root in (folders.downloads, folders.models) for path in root.rglob("*") if path.is_file()]
        assert left == [Path(pulled.model.files[0])]


@pytest.mark.parametrize("folder", ["downloads", "overlays", "placing"])
def test_a_folder_that_cannot_be_written_is_called_what_it_is(
    local: Local, registry: ModelRegistry, folder: str
) -> None:
    """None of them holds files that clients sent; and nothing is entered by halves."""
    (local.folders.ensure().data / folder).write_text("in the way")
    registry.publish("library/tiny", "1b", [("model", GGUF), ("params", b'{"temperature": 0.5}')])
    with pytest.raises(StoreTrouble) as refused:
        _pull(local, registry.url.removeprefix("http://") + "/library/tiny:1b")
    assert "clients sent" not in str(refused.value)
    assert str(local.folders.data / folder) in str(refused.value)
    assert local.catalog.list_models() == []
    assert not any(local.folders.models.iterdir())


def _configured(local: Local, line: str) -> None:
    with local.folders.config_file.open("a") as file:
        file.write(line + "\n")


@pytest.mark.parametrize(("key", "mebibytes", "connections"), [(3, 33, 3), (1, 33, 1), (3, 31, 1)])
def test_the_key_says_by_how_many_connections(
    local: Local, registry: ModelRegistry, key: int, mebibytes: int, connections: int
) -> None:
    """For files that are worth it; a smaller one, and one where the key says 1, is asked for once and whole."""
    _configured(local, f"download_connections = {key}")
    data = GGUF + bytes((mebibytes << 20) - len(GGUF))
    stored = registry.publish_hub("owner/Large-GGUF", {"Large-F16.gguf": data}).files["Large-F16.gguf"].stored
    assert _pull(local, "hf:owner/Large-GGUF:F16")[0].fresh
    if connections == 1:
        assert (stored.asked, stored.sent) == (["bytes=0-"], len(data))
    else:
        firsts = {asked.partition("-")[0] for asked in stored.asked}
        assert len(firsts) == len(stored.asked) >= connections


def test_all_pulls_of_a_process_keep_to_one_limit(local: Local) -> None:
    """What the second brings waits for what the first did; the key that counts is the one of now."""
    limit, shelf = [1], Shelf(local.catalog, local.weights, local.overlays, local.clock)
    throttle = Throttle(lambda: limit[0], time.monotonic)
    pulling = Pulling(local.folders, {}, Config, shelf, throttle)
    waits = list[float]()

    def wait(secs: float) -> None:
        waits.append(secs)
        limit[0] = 0  # somebody takes the limit away meanwhile: nobody sleeps here

    first, second = (cast("HttpDownloads", pulling().transport.downloads) for _ in range(2))
    first.rules.pay(1_000_000, wait)  # a second's worth is there at the beginning
    assert waits == []
    second.rules.pay(500_000, wait)
    assert len(waits) == 1
    assert 0 < waits[0] <= 0.5
    second.rules.pay(1 << 40, wait)
    assert len(waits) == 1


def test_several_quantisations_are_a_question_that_says_what_fits(local: Local, registry: ModelRegistry) -> None:
    """As the verb asks it, without a daemon: each with its size and what this machine makes of it."""
    files = {"Two-Q4_0.gguf": GGUF, "Two-F16.gguf": tiny(blocks=3).build()}
    registry.publish_hub("owner/Two-GGUF", files)
    with pytest.raises(ChoiceOpen) as asked:
        local.models().pull("owner/Two-GGUF", "", (), "", told=lambda _: None)
    assert {choice[:2] for choice in asked.value.choices} == {("Q4_0", len(GGUF)), ("F16", len(files["Two-F16.gguf"]))}
    assert str(asked.value).count("fits, about") == 2
    assert local.catalog.list_models() == []
    pulled = local.models().pull("owner/Two-GGUF:F16", "two", (), "", told=lambda _: None)
    assert pulled.model is not None
    assert Path(pulled.model.files[0]).read_bytes() == files["Two-F16.gguf"]


def test_words_that_are_no_text_are_left_out_before_the_weights_come(local: Local, registry: ModelRegistry) -> None:
    """Half of a surrogate pair cannot be written anywhere; the model comes without it, and says so first."""
    said = json.dumps([{"role": "user", "content": "a\ud800"}]).encode()
    params = json.dumps({"stop": ["<end>\udfff"], "seed": 1}).encode()
    registry.publish("library/tiny", "1b", [("model", GGUF), ("messages", said), ("params", params)])
    pulled, steps = _pull(local, registry.url.removeprefix("http://") + "/library/tiny:1b")
    note = teaching.pull_words_unwritable(("stop", "messages"))
    assert note in pulled.notes
    told = [step.note or step.status for step in steps]
    assert told.index(note) < next(number for number, step in enumerate(steps) if step.digest)
    assert pulled.model is not None
    overlay = local.overlays.find(pulled.model.name)
    assert overlay is not None
    assert (overlay.parameters, overlay.messages) == ({"seed": 1}, ())
