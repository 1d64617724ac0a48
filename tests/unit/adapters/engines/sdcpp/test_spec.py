"""sd-server's record, and what it makes of any settings."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.adapters.engines.sdcpp.flags import SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind, Task, Weights
from blazar.domain.launch import compile_launch, flags_of
from blazar.domain.manifest import Manifest
from tests.support.lane_briefs import PLAIN, brief, build, card, machine

RECORDED = build("sd-server-0.4.7")
NEWEST = Manifest.spelled(
    {flag.name for flag in SDCPP_FLAGS} - {"--clip-l", "--clip-g", "--llm-vision", "--clip-vision"}
)
PATHS = "control_net ip_adapter clip_vision motion_module photo_maker pulid_weights upscale_model lora_model_dir tae"
SAID: dict[str, st.SearchStrategy[Any]] = {f"sdcpp_{name}": st.sampled_from([None, "/f"]) for name in PATHS.split()} | {
    "threads": st.integers(0, 8),
    "sdcpp_flash_attention": st.booleans(),
    "sdcpp_sage_attn": st.booleans(),
    "sdcpp_vae_tiling": st.booleans(),
    "sdcpp_cache_mode": st.sampled_from([None, "easycache", "spectrum"]),
    "sdcpp_cache_option": st.sampled_from([None, "threshold=0.25"]),
    "sdcpp_backend": st.sampled_from([None, "cpu", "te=cpu,vae=cuda0"]),
    "sdcpp_params_backend": st.sampled_from([None, "disk"]),
    "sdcpp_max_vram": st.sampled_from([None, "8", "cuda0=8"]),
    "sdcpp_split_mode": st.sampled_from([None, "row"]),
    "sdcpp_rpc_servers": st.sampled_from([(), ("a:1",)]),
    "sdcpp_conditioning_cache_size": st.none() | st.integers(0, 9),
    "sdcpp_model_args": st.sampled_from([None, "a=b"]),
    "sdcpp_qwen_prefix_cache_type": st.sampled_from([None, "auto"]),
    "sdcpp_tensor_type_rules": st.sampled_from([None, "vae.=f16"]),
    "sdcpp_extra_args": st.sampled_from([(), ("--control-net", "/x"), ("--diffusion-fa",)]),
    "extra_args": st.sampled_from([(), ("--lora-model-dir", "/x"), ("--taesd", "/y")]),
}
ROLES = ["diffusion_model", "vae", "llm", "clip_l", "t5xxl", "tae", "clip_vision", "high_noise"]


def test_the_record_says_what_is_special() -> None:
    """No key (D21); a precompiled engine (D34)."""
    assert (SDCPP.kind, SDCPP.load_cap_secs, SDCPP.key_file_flag) == (EngineKind.SDCPP, 180.0, "")
    assert {SDCPP.host_flag, SDCPP.port_flag} <= set(RECORDED)
    assert {SDCPP.host_flag, SDCPP.port_flag} <= SDCPP.reserved
    assert SDCPP.extra_keys == ("sdcpp_extra_args", "extra_args")


def test_odd_health_is_404() -> None:
    """Ready when the list of models answers (contract)."""
    assert SDCPP.health == SDCPP.models == b"/v1/models"


def test_odd_sd_server_knows_no_alias() -> None:
    """Whatever the model is called, the words are the same; and nothing that it prints tells of a port that is taken."""
    given = brief(Weights.DIFFUSION, ("/m.gguf",), {}, RECORDED)
    renamed = replace(given, model=replace(given.model, name="alias"))
    assert compile_launch(SDCPP, renamed).words == compile_launch(SDCPP, given).words
    assert not [flag.name for flag in SDCPP.flags if flag.key == "alias"]
    assert SDCPP.port_taken == ""


@settings(deadline=None)
@given(
    st.fixed_dictionaries({}, optional=SAID),
    st.sets(st.sampled_from(ROLES)),
    st.sampled_from([RECORDED, NEWEST]),
    st.sampled_from([PLAIN, machine(card()), machine(card("vulkan"))]),
)
def test_every_word_with_dashes_is_one_that_the_build_prints(
    said: dict[str, Any], roles: set[str], known: Manifest, at: Any
) -> None:
    """Or the load is refused; and ours stands there once."""
    parts = {role: f"/{role}" for role in sorted(roles)}
    try:
        compiled = compile_launch(SDCPP, brief(Weights.DIFFUSION, ("/m.gguf",), said, known, parts=parts, at=at))
    except Malformed:
        return
    assert set(flags_of(compiled.words)) <= set(known)
    ours = [choice.words[0] for choice in compiled.decisions if choice.words and choice.key not in SDCPP.extra_keys]
    assert len(ours) == len(set(ours))
    assert tuple(word for choice in compiled.decisions for word in choice.words) == compiled.words
    assert all(choice.reason for choice in compiled.decisions)


def test_the_recorded_build_is_told_everything_that_it_knows() -> None:
    """No row of the table is a spelling that merely looks like one of its flags."""
    known = {flag.name for flag in SDCPP_FLAGS} & set(RECORDED)
    assert {"--clip_l", "--clip_g", "--clip_vision", "--llm_vision", "--tae", "--fa", "--vae-tiling"} <= known
    assert {flag.name for flag in SDCPP_FLAGS} - known == {
        *("--uncond-diffusion-model", "--audio-vae", "--clip-l", "--clip-g", "--llm-vision", "--embeddings-connectors"),
        *("--audio-encoder", "--ip-adapter", "--clip-vision", "--motion-module", "--pulid-weights", "--model-args"),
        *("--sage-attn", "--conditioning-cache-size", "--rpc-servers", "--backend", "--params-backend", "--auto-fit"),
        *("--split-mode",),
    }


def test_odd_it_listens_with_so_reuseport() -> None:
    """It is looked at who listens; what it lists is the same for every one of them, so that its name proves nothing (G17)."""
    manners = SDCPP.manners
    assert SDCPP.alone
    assert (manners.listed_as, manners.asked_as) == ("sd-cpp-local", "sd-cpp-local")
    assert (manners.tasks, manners.draws, manners.tagged) == ({Task.IMAGE}, True, "sd_cpp_extra_args")
