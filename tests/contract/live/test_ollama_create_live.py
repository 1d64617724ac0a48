"""Created models on the real engine: what was said on top of the weights holds in every dialect, and nothing was copied."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ollama
import pytest

from tests.contract.live.conftest import Gateway
from tests.matrix.gateway import smollm2
from tests.support.daemon import Daemon

pytest.importorskip("xllamacpp", reason="needs the embedded engine: pip install -e '.[embedded]'")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, gateway: Gateway) -> Iterator[Daemon]:
    """One of its own: these tests write configuration."""
    file = smollm2()
    if file is None or not gateway.scripted:
        pytest.skip("needs the model package, and a daemon of its own")
    made = Daemon(tmp_path_factory.mktemp("create"))
    made.must("import", str(file), "--name", "base")
    with made:
        yield made


@pytest.fixture
def client(daemon: Daemon) -> Iterator[ollama.Client]:
    with ollama.Client(host=daemon.url, timeout=120) as made:
        yield made


def prompt_of(daemon: Daemon, model: str, *messages: dict[str, str]) -> str:
    """What the engine makes of a conversation."""
    got = daemon.ask("POST", "/apply-template", {"model": model, "messages": list(messages)})
    assert got.status == 200, got.body
    prompt: str = got.json()["prompt"]
    return prompt


ASKED = {"role": "user", "content": "Hello?"}
SYSTEM = "Answer like a 'pirate'.\nSay \"Arr\" – always: {% end %} {{ x }} \\ ü."


def test_a_system_prompt_and_messages_stand_before_every_conversation(client: ollama.Client, daemon: Daemon) -> None:
    """In the order of ollama: system, the messages of the overlay, the caller's; a caller's system prompt wins. Any text survives."""
    client.create(
        "pirate",
        from_="base",
        system=SYSTEM,
        messages=[{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Me."}],
    )
    prompt = prompt_of(daemon, "pirate", ASKED)
    at = [prompt.index(text) for text in (SYSTEM, "Who?", "Me.", "Hello?")]
    assert at == sorted(at)
    plain = prompt_of(daemon, "pirate", {"role": "system", "content": "Mine."}, ASKED)
    assert "Mine." in plain
    assert SYSTEM not in plain
    assert plain.index("Mine.") < plain.index("Who?") < plain.index("Hello?")


def test_a_go_template_of_the_simple_kind_is_said_in_jinja(client: ollama.Client, daemon: Daemon) -> None:
    """As Modelfiles have it; with a system prompt on top, over a whole conversation."""
    template = "{{ if .System }}<s>{{ .System }}</s>\n{{ end }}[{{ .Prompt }}] {{ .Response }}<end>\n"
    client.create("go", from_="base", template=template, system="S")
    prompt = prompt_of(
        daemon, "go", ASKED, {"role": "assistant", "content": "It's me."}, {"role": "user", "content": "?"}
    )
    assert prompt == "<s>S</s>\n[Hello?] It's me.<end>\n[?] "
    assert client.show("go").template == template
    assert client.chat("go", [ASKED], options={"num_predict": 1}).eval_count == 1


def test_tokens_of_the_system_prompt_count_in_every_dialect(client: ollama.Client, daemon: Daemon) -> None:
    """ollama, OpenAI and Anthropic say the same count, and more than the base does."""
    client.create("counted", from_="base", system="word " * 50)
    counts = []
    for model in ("base", "counted"):
        said = client.chat(model, [ASKED], options={"num_predict": 1})
        body = {"model": model, "messages": [ASKED], "max_tokens": 1}
        openai = daemon.ask("POST", "/v1/chat/completions", body).json()["usage"]["prompt_tokens"]
        anthropic = daemon.ask("POST", "/v1/messages/count_tokens", body).json()["input_tokens"]
        assert said.prompt_eval_count == openai == anthropic
        counts.append(openai)
    # SmolLM2's template has a system prompt of its own, which falls away.
    assert counts[1] > counts[0] + 20


def test_parameters_hold_where_a_request_says_nothing(client: ollama.Client, daemon: Daemon) -> None:
    """num_predict, stop and the window; a request's own option wins."""
    client.create("short", from_="base", parameters={"num_predict": 3, "temperature": 0, "num_ctx": 512})
    assert client.chat("short", [ASKED]).eval_count == 3
    assert client.chat("short", [ASKED], options={"num_predict": 2}).eval_count == 2
    body = {"model": "short", "messages": [ASKED]}
    assert daemon.ask("POST", "/v1/chat/completions", body).json()["usage"]["completion_tokens"] == 3
    assert {row.model: row.context_length for row in client.ps().models}["short"] == 512
    whole = client.generate("base", "Count: one, two, three,", raw=True, options={"num_predict": 12, "temperature": 0})
    word = whole.response.split()[1]
    client.create("stops", from_="base", parameters={"stop": [word], "temperature": 0, "seed": 7})
    cut = client.generate("stops", "Count: one, two, three,", raw=True, options={"num_predict": 12})
    assert word in whole.response
    assert word not in cut.response


def test_a_limit_of_the_model_can_be_lifted(client: ollama.Client) -> None:
    """`num_predict: -1` of a request, over that of the creation."""
    client.create("terse", from_="base", parameters={"num_predict": 3, "temperature": 0})
    count = ("count from one to thirty in words", {"num_ctx": 512})
    assert client.generate("terse", count[0], options=count[1]).eval_count == 3
    lifted = client.generate("terse", count[0], options=count[1] | {"num_predict": -1})
    assert (lifted.eval_count or 0) > 3
    assert client.generate("terse", count[0], options=count[1] | {"num_predict": 5}).eval_count == 5


def test_a_second_creation_replaces_the_first(client: ollama.Client, daemon: Daemon) -> None:
    """The next answer is the new model's; a model created from a created one inherits."""
    client.create("again", from_="base", system="First.", parameters={"num_predict": 2})
    assert "First." in prompt_of(daemon, "again", ASKED)
    client.create("again", from_="base", system="Second.")
    prompt = prompt_of(daemon, "again", ASKED)
    assert "Second." in prompt
    assert "First." not in prompt
    client.create("child", from_="again", parameters={"num_predict": 1})
    assert "Second." in prompt_of(daemon, "child", ASKED)
    assert client.chat("child", [ASKED]).eval_count == 1


def test_nothing_is_copied_and_nothing_stays(client: ollama.Client, daemon: Daemon) -> None:
    """A hardlink; deleting it takes the overlay and its part of the configuration along, the base stays."""
    before = daemon.config_file.read_text()
    client.create("gone", from_="base", system="S", parameters={"temperature": 0.1})
    rows = {name: (daemon.data / "models" / f"{name}.gguf").stat() for name in ("base", "gone")}
    assert rows["base"].st_ino == rows["gone"].st_ino
    assert "gone" in daemon.config_file.read_text()
    client.copy("gone", "kept")
    client.delete("gone")
    client.delete("kept")
    assert daemon.config_file.read_text().strip() == before.strip()
    assert client.show("base").modelinfo
    assert {row.model for row in client.list().models} & {"gone", "kept"} == set()


def test_show_tells_it_all_again(client: ollama.Client) -> None:
    """What `ollama show` prints, and a Modelfile that creates the same."""
    client.create("told", from_="base", system="S", parameters={"top_k": 5, "stop": ["a", "b"]}, license="MIT")
    shown = client.show("told")
    assert shown.parameters is not None
    assert sorted(line.split() for line in shown.parameters.splitlines()) == [
        ["stop", '"a"'],
        ["stop", '"b"'],
        ["top_k", "5"],
    ]
    assert shown.license == "MIT"
    assert shown.details is not None
    assert shown.details.parent_model == "base"
    assert "SYSTEM S" in (shown.modelfile or "")


def test_from_a_blob(client: ollama.Client, daemon: Daemon, tmp_path: Path) -> None:
    """The bytes are sent once, checked, and become the model's file; statuses come in ollama's order."""
    file = smollm2()
    assert file is not None
    digest = client.create_blob(file)
    assert digest == f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    assert daemon.ask("HEAD", f"/api/blobs/{digest}").status == 200
    steps = [
        step.status for step in client.create("blobby", files={"smol.gguf": digest}, system="From a blob.", stream=True)
    ]
    assert steps[0] == "parsing GGUF"
    assert steps[-2:] == ["writing manifest", "success"]
    assert "From a blob." in prompt_of(daemon, "blobby", ASKED)
    blob = daemon.data / "blobs" / digest.replace(":", "-")
    assert blob.samefile(daemon.data / "models" / "blobby.gguf")
    assert not [*(daemon.data / "blobs" / ".laid").glob("*")]
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF" + bytes(100))
    wrong = daemon.ask("POST", f"/api/blobs/sha256:{'0' * 64}", other.read_bytes())
    assert wrong.status == 400
    assert not [*(daemon.data / "blobs" / ".parts").glob("*")]
    bad = client.create_blob(other)
    with pytest.raises(ollama.ResponseError) as refused:
        client.create("bad", files={"bad.gguf": bad})
    assert refused.value.status_code == 400


@pytest.mark.parametrize(
    ("wish", "word"),
    [
        ({"from": "base", "quantize": "q4_K_M"}, "quantize"),
        ({"from": "base", "template": "{{ range .Messages }}{{ .Content }}{{ end }}"}, "Jinja"),
        ({"from": "base", "parameters": {"temperatur": 1}}, "temperatur"),
        ({"files": {"a.gguf": f"sha256:{'1' * 64}"}}, "blob"),
        ({"files": {"../a.gguf": f"sha256:{'1' * 64}"}}, "name"),
        ({"from": "nobody"}, "nobody"),
        ({}, "from"),
    ],
)
def test_what_cannot_be_created_says_why(
    client: ollama.Client, daemon: Daemon, wish: dict[str, Any], word: str
) -> None:
    """A real status and one sentence; nothing is listed afterwards."""
    got = daemon.ask("POST", "/api/create", {"model": "never", **wish})
    assert got.status in (400, 404)
    assert word in got.json()["error"]
    assert "never" not in {row.model for row in client.list().models}


def test_the_command_line_creates_from_a_modelfile(client: ollama.Client, daemon: Daemon, tmp_path: Path) -> None:
    """From a model and from a file; with the daemon running, and its configuration holds at once."""
    file = smollm2()
    assert file is not None
    path = tmp_path / "Modelfile"
    path.write_text('FROM base\nSYSTEM """Two\nlines."""\nPARAMETER num_predict 1\nPARAMETER num_gpu 1\n')
    done = daemon.cli("create", "mine", "-f", str(path))
    assert done.returncode == 0, done.stderr
    assert "num_gpu" in done.stderr
    assert "Two\nlines." in prompt_of(daemon, "mine", ASKED)
    assert client.chat("mine", [ASKED]).eval_count == 1
    path.write_text(f"FROM {file}\nMESSAGE user Knock.\nMESSAGE assistant Who is there?\n")
    daemon.must("create", "filed", "-f", str(path))
    assert "Knock." in prompt_of(daemon, "filed", ASKED)
    path.write_text(f"FROM {file}\nSYSTEM Other.\n")
    daemon.must("create", "filed", "-f", str(path))
    prompt = prompt_of(daemon, "filed", ASKED)
    assert "Other." in prompt
    assert "Knock." not in prompt


def test_without_streaming_there_is_one_object(daemon: Daemon) -> None:
    """And the lines of a stream are ollama's."""
    whole = daemon.ask("POST", "/api/create", {"model": "one", "from": "base", "stream": False, "system": "x"})
    assert whole.json() == {"status": "success"}
    lines = daemon.ask("POST", "/api/create", {"model": "one", "from": "base", "system": "x"})
    assert lines.headers["content-type"] == "application/x-ndjson"
    steps = [json.loads(line)["status"] for line in lines.body.splitlines()]
    assert [step.partition(" sha256:")[0] for step in steps] == [
        "using existing layer",
        "creating new layer",
        "writing manifest",
        "success",
    ]


def lora(path: Path) -> Path:
    """An adapter for SmolLM2's first block: 576 wide, 4 ranks."""
    gguf, numpy = pytest.importorskip("gguf"), pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", 8.0)
    for part, size in (("a", (4, 576)), ("b", (576, 4))):
        writer.add_tensor(f"blk.0.attn_q.weight.lora_{part}", numpy.full(size, 0.05, numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_an_adapter_changes_the_answers(client: ollama.Client, daemon: Daemon, tmp_path: Path) -> None:
    """Sent as a blob, or named in a Modelfile; the engine applies it. One for another model is refused."""
    file = lora(tmp_path / "lora.gguf")
    digest = client.create_blob(file)
    client.create("tuned", from_="base", adapters={"lora.gguf": digest})
    (tmp_path / "Modelfile").write_text("FROM base\nADAPTER lora.gguf\n")
    daemon.must("create", "tuned-too", "-f", str(tmp_path / "Modelfile"))
    options = {"num_predict": 1, "temperature": 0}
    asked = {"options": options, "logprobs": True, "raw": True}
    odds = [client.generate(name, "Once upon", **asked).logprobs for name in ("base", "tuned")]  # type: ignore[call-overload]
    assert odds[0][0].logprob != odds[1][0].logprob
    assert "--lora" in daemon.must("explain", "tuned-too")
    with pytest.raises(ollama.ResponseError) as refused:
        client.create("bad", from_="base", adapters={"m.gguf": client.create_blob(smollm2())})  # type: ignore[arg-type]
    assert refused.value.status_code == 400
