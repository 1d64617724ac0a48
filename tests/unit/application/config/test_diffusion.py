"""The forms of lists that sd-server takes as one text."""

import pytest

from blazar.domain import teaching
from tests.support.configuration import held, refusal

GOOD = {
    "sdcpp_cache_option": ["threshold=0.25", "threshold=0.25,reset=0"],
    "sdcpp_model_args": ["qwen_image_2_1_prefix_cache=true"],
    "sdcpp_backend": ["cpu", "clip=cpu,vae=cuda0,diffusion=vulkan0"],
    "sdcpp_params_backend": ["disk", "diffusion=disk,clip=cpu"],
    "sdcpp_max_vram": ["8", "7.5", "cuda0=8,cuda1=6"],
    "sdcpp_split_mode": ["row", "layer", "diffusion=row,te=layer"],
    "sdcpp_tensor_type_rules": ["model.=q6_k,vae.=f16", r"^vae\.=f16"],
    "sdcpp_qwen_prefix_cache_type": ["auto", "q8_0"],
}
BAD = {
    "sdcpp_cache_option": ("pairs", ["0.25", "a=1,", "a=1, b=2", "=1"]),
    "sdcpp_model_args": ("pairs", ["a", "a=b=c"]),
    "sdcpp_backend": ("modules", ["clip=cpu,vae", "a b", "clip="]),
    "sdcpp_params_backend": ("modules", ["disk,cpu"]),
    "sdcpp_max_vram": ("budget", ["8 GiB", "cuda0", "-1", "cuda0=x"]),
    "sdcpp_split_mode": ("split", ["column", "diffusion=none"]),
    "sdcpp_tensor_type_rules": ("type_rules", ["q6_k", "model.=", "a=b c"]),
    "sdcpp_qwen_prefix_cache_type": ("word", ["q8 0"]),
}


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, texts in GOOD.items() for text in texts])
def test_a_form_of_the_document_is_kept(key, text):
    """As it was written."""
    assert getattr(held(f"sdcpp_cache_mode = 'ucache'\n{key} = '{text}'"), key) == text


@pytest.mark.parametrize(("key", "wants", "text"), [(k, w, t) for k, (w, texts) in BAD.items() for t in texts])
def test_another_form_is_refused_here(key, wants, text):
    """sd-server would end as it starts, or read something else."""
    assert refusal(f"{key} = '{text}'") == f"config.toml line 1: '{key}' {teaching.config_wants(wants)}"


def test_what_is_unset_says_nothing():
    """Every file and folder key is absent by default."""
    config = held("")
    files = [key for key in type(config).model_fields if key.startswith("sdcpp_") and getattr(config, key) is None]
    assert len(files) == 24
    assert held("sdcpp_conditioning_cache_size = 0").sdcpp_conditioning_cache_size == 0


def test_workers_are_single_addresses():
    """A list of them, none empty, because they are joined by commas."""
    assert held("sdcpp_rpc_servers = ['a:1', '10.0.0.2:50052']").sdcpp_rpc_servers == ("a:1", "10.0.0.2:50052")
    assert teaching.config_wants("worker") in refusal("sdcpp_rpc_servers = ['a:1,b:2']")
    assert "must not be empty" in refusal("sdcpp_rpc_servers = ['']")
    assert refusal("sdcpp_rpc_servers = ['a:0']").endswith("must have ports from 1 to 65535")
    assert "IPv4" in refusal("sdcpp_rpc_servers = ['[::1]:1']")


def test_a_family_of_step_caching_is_one_of_six():
    """By the engine's names."""
    assert held("sdcpp_cache_mode = 'cache-dit'").sdcpp_cache_mode == "cache-dit"
    assert "must be one of 'easycache', 'ucache'" in refusal("sdcpp_cache_mode = 'fast'")
