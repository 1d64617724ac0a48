"""One rule of names: whatever spelling of a model one verb or dialect finds, all of them find, and none finds another's."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry

HELLO = [{"role": "user", "content": "hi"}]
REPO = "acme/Tiny-GGUF"
ROW = "tiny-f16"
OTHERS = ["many-f16", "many-q8_0", "team/mine"]
HUB, HOST = "HUB", "HOST"
SPELLINGS = {
    ROW: (
        "tiny-f16",
        "Tiny-F16",
        "tiny-f16:latest",
        REPO,
        "ACME/tiny-gguf",
        f"{REPO}:latest",
        f"{REPO}/",
        f"{REPO}:f16",
        f"{REPO}:f16:latest",
        f"{REPO}:Tiny-F16",
        f"{REPO}/Tiny-F16.gguf",
        f"hf:{REPO}",
        f"hf:{REPO}:F16/",
        f"hf://{REPO}",
        f"hf.co/{REPO}:F16:latest",
        f"https://hf.co/{REPO}",
        f"https://huggingface.co/{REPO}/tree/main",
        f"https://huggingface.co/{REPO}/blob/main/Tiny-F16.gguf",
        f"https://huggingface.co/{REPO}/resolve/main/Tiny-F16.gguf?download=true",
        f"{HUB}/{REPO}",
        f"{HUB}/{REPO}/",
        f"{HUB}/{REPO}/resolve/main/Tiny-F16.gguf",
    ),
    "team/mine": (
        "team/mine",
        "TEAM/mine:latest",
        f"{HOST}/team/mine",
        f"{HOST}/team/Mine:latest",
        f"http://{HOST}/team/mine",
    ),
    "many-q8_0": ("acme/Many-GGUF:q8_0", "acme/Many-GGUF/Many-Q8_0.gguf", "hf.co/acme/Many-GGUF:Many-Q8_0"),
}
CASES = [(row, spelling) for row, spellings in SPELLINGS.items() for spelling in spellings]
NOBODY = ("acme/Tiny-GGUF:Q4_0", "acme/Tiny-GGUF/Other-F16.gguf", "acme/Tiny", "ollama:team/mine", "mine")


class Rig:
    """A hub, a registry of layers at another address, and a daemon that has four models of them."""

    def __init__(self, home: Path, hub: ModelRegistry, registry: ModelRegistry) -> None:
        self.home, self.hub, self.host = home, hub, registry.url.partition("://")[2]
        hub.publish_hub(REPO, {"Tiny-F16.gguf": tiny(extra={"general.name": "tiny"}).build()})
        many = {f"Many-{quant}.gguf": tiny(extra={"general.name": quant}).build() for quant in ("F16", "Q8_0")}
        hub.publish_hub("acme/Many-GGUF", many)
        registry.publish("team/mine", "latest", [("model", tiny(extra={"general.name": "mine"}).build())])
        env = {"BLAZAR_REGISTRY_BASE": hub.url, "BLAZAR_ENGINE_PATH": str(stub_server(home / "bin"))}
        config = f'spawn_mem_guard = false\nmodel_registries = ["{self.host}"]\n{ONE_THREAD}'
        self.daemon = Daemon(home, config, env)

    def __getitem__(self, spelling: str) -> str:
        return spelling.replace(HUB, self.hub.url).replace(HOST, self.host)

    def fill(self) -> None:
        for reference in (REPO, "acme/Many-GGUF:F16", "acme/Many-GGUF:Q8_0", f"{self.host}/team/mine"):
            answer = self.daemon.ask("POST", "/api/pull", {"model": reference, "as": "", "stream": False})
            assert answer.status == 200, answer.body

    def names(self) -> list[str]:
        return sorted(row["name"] for row in self.daemon.ask("GET", "/api/tags").json()["models"])

    def status(self, dialect: str, word: str) -> int:
        ask, chat = self.daemon.ask, {"model": word, "messages": HELLO}
        ways = {
            "show": lambda: ask("POST", "/api/show", {"model": word}),
            "ollama": lambda: ask("POST", "/api/chat", {**chat, "stream": False}),
            "openai": lambda: ask("POST", "/v1/chat/completions", chat),
            "anthropic": lambda: ask("POST", "/v1/messages", {**chat, "max_tokens": 5}),
        }
        return ways[dialect]().status


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with closing(ModelRegistry()) as hub, closing(ModelRegistry()) as registry:
        made = Rig(tmp_path_factory.mktemp("names"), hub, registry)
        with made.daemon:
            made.fill()
            yield made


DIALECTS = ("show", "ollama", "openai", "anthropic")


@pytest.mark.parametrize(("row", "spelling"), CASES)
def test_every_spelling_is_that_row_for_show_and_each_dialect(rig: Rig, row: str, spelling: str) -> None:
    """What it is called in the catalog is what `explain` says of it."""
    word = rig[spelling]
    assert {dialect: rig.status(dialect, word) for dialect in DIALECTS} == dict.fromkeys(DIALECTS, 200)
    answer = rig.daemon.ask("GET", f"/api/explain?model={quote(word, safe='')}")
    assert answer.status == 200
    assert answer.json()["model"] == row


@pytest.mark.parametrize(("row", "spelling"), CASES)
def test_every_spelling_is_that_row_for_a_pull(rig: Rig, row: str, spelling: str) -> None:
    """As ollama's clients ask for it: it is there already, and no second row comes of it."""
    before = rig.names()
    answer = rig.daemon.ask("POST", "/api/pull", {"model": rig[spelling], "stream": False})
    assert answer.status == 200, answer.body
    last = answer.json()
    assert (last["model"], last["fresh"]) == (row, False)
    assert rig.names() == before


@pytest.mark.parametrize(("row", "spelling"), CASES)
def test_every_spelling_is_that_row_for_a_removal(rig: Rig, row: str, spelling: str) -> None:
    """Which says what the row was called."""
    answer = rig.daemon.ask("DELETE", "/api/delete", {"model": rig[spelling]})
    assert (answer.status, answer.body, answer.headers["x-blazar-model"]) == (200, b"", row)
    assert rig.names() == sorted({ROW, *OTHERS} - {row})
    rig.fill()


def test_rm_says_which_row_went(rig: Rig) -> None:
    """Not what was typed."""
    said = rig.daemon.must("rm", "--json", rig[f"{HUB}/{REPO}"])
    assert json.loads(said)["removed"] == [ROW]
    rig.fill()


@pytest.mark.parametrize("spelling", NOBODY)
def test_what_means_no_row_means_none_for_all(rig: Rig, spelling: str) -> None:
    """Another quantisation, another file, another registry's."""
    assert {dialect: rig.status(dialect, rig[spelling]) for dialect in DIALECTS} == dict.fromkeys(DIALECTS, 404)
    assert rig.daemon.ask("DELETE", "/api/delete", {"model": rig[spelling]}).status == 404


@pytest.mark.parametrize("spelling", ["acme/Many-GGUF", "hf.co/acme/Many-GGUF:latest", f"{HUB}/acme/Many-GGUF"])
def test_what_leaves_several_open_is_refused_with_their_names(rig: Rig, spelling: str) -> None:
    """By all of them alike; `run` asks no registry what is here."""
    word, asked = rig[spelling], len(rig.hub.asked)
    assert {dialect: rig.status(dialect, word) for dialect in DIALECTS} == dict.fromkeys(DIALECTS, 400)
    for verb in (["run", word, "hi"], ["rm", word], ["show", word]):
        said = rig.daemon.cli(*verb)
        assert said.returncode != 0
        assert "many-f16, many-q8_0" in said.stderr
    assert len(rig.hub.asked) == asked


def test_z_every_spelling_is_that_row_for_run_with_no_registry_to_ask(rig: Rig) -> None:
    """The last of this module: the hub is gone behind it."""
    rig.hub.close()
    for row, spelling in CASES:
        said = rig.daemon.cli("run", rig[spelling], "hi")
        assert (said.returncode, said.stderr) == (0, ""), (row, spelling)
