"""Command lines for sd-server and mlx-lm, compiled as a launch compiles them, taken by the real engines.

Needs no gateway. sd-server comes from the archive beside the checkout; mlx-lm runs where it is installed.
"""

import asyncio
import base64
import json
import signal
import tarfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.mlx.spec import MLX
from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.adapters.engines.spec import EngineSpec
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.children import Child, LaunchPlan
from blazar.application.ports.upstream import ChildCall
from blazar.domain.kinds import Weights
from blazar.domain.launch import Brief, compile_launch
from tests.fakes.engines import an_engine
from tests.support.engine import LoopClock, RealEntropy
from tests.support.lane_briefs import brief
from tests.support.other_engines import mlx_words
from tests.support.shared import shared

WATCHDOG = 120
KILLED = -signal.SIGTERM
SD_ALIAS = "sd-cpp-local"
PICTURE = 'a cat <sd_cpp_extra_args>{"sample_params":{"sample_steps":2}}</sd_cpp_extra_args>'
SAID: dict[str, dict[str, Any]] = {
    "defaults": {"threads": 1},
    "speed": {
        "threads": 1,
        "sdcpp_cache_mode": "easycache",
        "sdcpp_cache_option": "threshold=0.25,reset=0",
        "sdcpp_flash_attention": False,
        "sdcpp_sage_attn": True,
        "sdcpp_max_vram": "8",
        "sdcpp_tensor_type_rules": "vae.=f16",
        "sdcpp_conditioning_cache_size": 0,
    },
    "folders and extra words": {
        "threads": 1,
        "sdcpp_vae_tiling": True,
        "sdcpp_lora_model_dir": "HERE",
        "sdcpp_embd_dir": "HERE",
        "sdcpp_hires_upscalers_dir": "HERE",
        "sdcpp_max_vram": "cuda0=8",
        "sdcpp_extra_args": ["--seed", "1", "--mmap"],
        "extra_args": ["--seed", "2", "--diffusion-fa"],
    },
}


@pytest.fixture(scope="module")
def sd_server(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The real one, unpacked once."""
    folder = tmp_path_factory.mktemp("sd")
    with tarfile.open(shared("engines/sd-bin-linux-x64.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    return str(next(folder.rglob("sd-server")))


class Server(NamedTuple):
    """A kind, the words that start it, and the name under which it lists what it serves."""

    spec: EngineSpec
    command: tuple[str, ...]
    alias: str


def serve(server: Server, asked: Brief, run_dir: Path, use: Callable[[Child], Awaitable[None]]) -> int:
    """Spawn it as a launch does, wait until it lists what it serves, use it, end it by its pid: its exit status."""
    spec, compiled = server.spec, compile_launch(server.spec, asked)
    words = (*server.command, *compiled.words)
    plan = LaunchPlan("m", server.alias, spec.kind, "b", words, tuple(compiled.env.items()))

    async def life() -> int:
        children = SubprocessChildren(
            run_dir,
            LoopClock(),
            RealEntropy(),
            lambda port, key, model: ChildPool("127.0.0.1", port, key, model),
            {spec.kind: spec},
            processes=SystemProcesses(),
        )
        child = await children.spawn(plan)
        ended = asyncio.ensure_future(child.wait())
        try:
            while not await child.is_ready():
                assert not ended.done(), "\n".join(child.last_lines(20))
                await asyncio.sleep(0.01)
            await use(child)
        finally:
            child.signal(signal.SIGTERM)
            status = await ended
            await child.aclose()
        return status

    return asyncio.run(asyncio.wait_for(life(), WATCHDOG))


async def ask(child: Child, path: bytes, body: dict[str, Any]) -> Any:
    """One POST, whole."""
    call = ChildCall(b"POST", path, json.dumps(body).encode(), ((b"content-type", b"application/json"),))
    answer = await child.upstream.fetch(call, WATCHDOG)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("name", SAID)
def test_sd_server_takes_a_compiled_command_line(sd_server: str, tmp_path: Path, name: str) -> None:
    """It starts, lists its model, draws a picture; ready is its list of models, for it has no /health (contract)."""
    folder = shared("models/tiny-sd")
    files = {"diffusion_model": "ovis", "llm": "qwen3", "tae": "tae"}
    parts = {role: str(folder / f"tiny-{file}.safetensors") for role, file in files.items()}
    here = {key: str(tmp_path) if text == "HERE" else text for key, text in SAID[name].items()}
    manifest = HelpProbe(SDCPP.scrubbed).manifest(an_engine(server_path=sd_server))
    asked = brief(Weights.DIFFUSION, (parts["diffusion_model"],), here, manifest, parts=parts)

    async def draw(child: Child) -> None:
        answer = await ask(child, b"/v1/images/generations", {"prompt": PICTURE, "size": "64x64"})
        assert base64.b64decode(answer["data"][0]["b64_json"]).startswith(b"\x89PNG")
        assert (await child.upstream.fetch(ChildCall(b"GET", b"/health"), WATCHDOG)).status == 404

    assert manifest
    assert serve(Server(SDCPP, (sd_server,), SD_ALIAS), asked, tmp_path, draw) == KILLED


MLX_SAID: dict[str, dict[str, Any]] = {
    "defaults": {},
    "batches and caches": {
        "slots": 2,
        "mlx__prefill_step_size": 64,
        "mlx__prompt_cache_size": 0,
        "mlx__prompt_cache_bytes": 1_000_000,
        "mlx__chat_template_args": {"enable_thinking": False},
        "mlx__use_default_chat_template": True,
        "mlx__trust_remote_code": True,
    },
    "a small cache": {"deterministic": True, "mlx__kv_bits": 4, "mlx__kv_group_size": 32, "mlx__quantized_kv_start": 0},
    "a draft": {"mlx__draft_model": "MODEL", "mlx__num_draft_tokens": 2, "extra_args": ["--temp", "0.5"]},
}


@pytest.mark.parametrize("name", MLX_SAID)
def test_mlx_takes_a_compiled_command_line(tmp_path: Path, name: str) -> None:
    """It starts offline, lists the model's folder and nothing else, and answers."""
    folder = shared("models/tiny-mlx").resolve()
    command = mlx_words()
    engine = replace(an_engine(server_path=command[0]), command=command)
    manifest = HelpProbe(MLX.scrubbed).manifest(engine)
    told = {key: str(folder) if text == "MODEL" else text for key, text in MLX_SAID[name].items()}
    asked = brief(Weights.MLX_QUANT, (str(folder / "model.safetensors"),), told, manifest)

    async def chat(child: Child) -> None:
        models = await child.upstream.fetch(ChildCall(b"GET", MLX.models), WATCHDOG)
        assert [row["id"] for row in json.loads(models.body)["data"]] == [str(folder)]
        body = {"model": "default_model", "max_tokens": 4, "messages": [{"role": "user", "content": "hi"}]}
        answer = await ask(child, b"/v1/chat/completions", body)
        assert answer["usage"]["completion_tokens"] > 0

    assert "--model" in manifest
    assert serve(Server(MLX, command, str(folder)), asked, tmp_path, chat) == KILLED
