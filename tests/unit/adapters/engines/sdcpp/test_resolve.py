"""What configuration leaves open for sd-server."""

from typing import Any

import pytest

from blazar.adapters.engines.sdcpp.flags import SDCPP_FLAGS
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Weights
from blazar.domain.launch import Compiled, compile_launch
from blazar.domain.manifest import Manifest
from blazar.domain.records import Gpu, Machine
from tests.support.lane_briefs import PLAIN, brief, build, card, machine

SET = {"diffusion_model": "/m/dit.gguf", "vae": "/m/vae.gguf", "llm": "/m/llm.gguf"}
SPELLINGS = {"--clip-l", "--clip-g", "--llm-vision", "--clip-vision", "--qwen2vl", "--qwen2vl_vision"}
NEWEST = Manifest.spelled({flag.name for flag in SDCPP_FLAGS} - SPELLINGS)
"""Every flag that the setup document names, which no build that could be recorded has."""
RECORDED = build("sd-server-0.4.7")


def compiled(
    manifest: Manifest | None = None,
    *,
    parts: dict[str, str] | None = None,
    at: Machine = PLAIN,
    **said: Any,
) -> Compiled:
    whole = SET if parts is None else parts
    return compile_launch(SDCPP, brief(Weights.DIFFUSION, ("/m/dit.gguf",), said, manifest, parts=whole, at=at))


def words(*rest: Any, **named: Any) -> str:
    return " ".join(compiled(*rest, **named).words)


class TestComponents:
    """The parts of the model."""

    def test_a_set_is_said_by_role(self) -> None:
        """Each part by its flag, nothing else."""
        assert words() == "--diffusion-model /m/dit.gguf --vae /m/vae.gguf --llm /m/llm.gguf --fa"

    def test_a_checkpoint_without_parts_is_the_model(self) -> None:
        """One file holds everything."""
        assert words(parts={}) == "--model /m/dit.gguf --fa"

    def test_weights_without_a_role_are_the_diffusion_model_of_the_parts(self) -> None:
        """A set that names only what stands beside the main file."""
        assert words(parts={"t5xxl": "/t", "vae": "/v"}) == "--diffusion-model /m/dit.gguf --vae /v --t5xxl /t --fa"

    def test_without_text_encoders_the_file_brings_its_own(self) -> None:
        """Then it is a checkpoint, whose decoder is replaced: a bare diffusion model would die at the first request."""
        assert words(parts={"vae": "/v"}) == "--model /m/dit.gguf --vae /v --fa"

    def test_a_model_with_a_part_of_its_own_stays_the_model(self) -> None:
        """A checkpoint whose decoder is replaced."""
        assert words(parts={"model": "/c", "vae": "/v"}) == "--model /c --vae /v --fa"

    @pytest.mark.parametrize(
        ("role", "said"),
        [
            ("clip_l", "--clip_l"),
            ("clip-l", "--clip_l"),
            ("clip_g", "--clip_g"),
            ("t5xxl", "--t5xxl"),
            ("llm_vision", "--llm_vision"),
            ("qwen2vl", "--llm"),
            ("qwen2vl_vision", "--llm_vision"),
            ("clip_vision", "--clip_vision"),
            ("tae", "--tae"),
            ("taesd", "--tae"),
            ("high_noise", "--high-noise-diffusion-model"),
            ("control_net", "--control-net"),
        ],
    )
    def test_roles_are_said_as_the_recorded_build_prints_them(self, role: str, said: str) -> None:
        """Underscores where it has underscores."""
        assert f"{said} /p" in words(RECORDED, parts={"diffusion_model": "/d", role: "/p"})

    def test_another_spelling_of_a_build_is_taken(self) -> None:
        """Only the old name, or only dashes: what it prints is what it is told."""
        old = Manifest.spelled(["--diffusion-model", "--qwen2vl", "--clip-l", "--taesd", "--diffusion-fa"])
        parts = {"diffusion_model": "/d", "llm": "/l", "clip_l": "/c", "tae": "/t"}
        assert words(old, parts=parts) == "--diffusion-model /d --taesd /t --clip-l /c --qwen2vl /l --diffusion-fa"

    def test_a_part_that_the_build_cannot_be_told_of_is_refused(self) -> None:
        """It would draw something else."""
        with pytest.raises(Malformed, match="--audio-vae"):
            compiled(RECORDED, parts=SET | {"audio_vae": "/a"})

    @pytest.mark.parametrize("role", ["sound", "backend", "model_args"])
    def test_a_role_that_nobody_knows_is_refused(self, role: str) -> None:
        """Nor does a set reach settings that are no files."""
        with pytest.raises(Malformed, match=f"'{role}'"):
            compiled(parts=SET | {role: "/s"})

    def test_a_configured_file_replaces_the_sets_own(self) -> None:
        """The person's choice, once."""
        parts = SET | {"tae": "/own"}
        assert "--tae /mine" in words(parts=parts, sdcpp_tae="/mine")
        assert "/own" not in words(parts=parts, sdcpp_tae="/mine")

    def test_each_part_explains_itself(self) -> None:
        """`explain` says which part a flag stands for."""
        reasons = {choice.words[0]: choice.reason for choice in compiled().decisions}
        assert reasons["--vae"] == teaching.component_of_model("vae")


class TestFiles:
    """What a person provides."""

    @pytest.mark.parametrize("key", ["sdcpp_ip_adapter", "sdcpp_pulid_weights", "sdcpp_motion_module"])
    def test_a_file_that_the_build_cannot_take_is_refused(self, key: str) -> None:
        """Better than pictures without it."""
        with pytest.raises(Malformed, match="does not know"):
            compiled(RECORDED, **{key: "/f"})

    def test_a_matter_of_speed_is_left_out_with_a_warning(self) -> None:
        """The picture is the same."""
        result = compiled(RECORDED, sdcpp_conditioning_cache_size=0)
        assert result.notes == (teaching.flag_unknown_to_engine("--conditioning-cache-size", "build"),)

    def test_an_adapter_and_its_encoder_are_said_together(self) -> None:
        """The pair that configuration demands."""
        said = words(NEWEST, sdcpp_ip_adapter="/i", sdcpp_clip_vision="/c")
        assert "--ip-adapter /i --clip_vision /c" in said


class TestModelArgs:
    """--model-args, and what joins it."""

    KIND = "qwen_image_2_1_prefix_cache_type"

    def test_the_prefix_cache_joins_the_arguments(self) -> None:
        """And the reason names both keys."""
        result = compiled(NEWEST, sdcpp_model_args="a=b", sdcpp_qwen_prefix_cache_type="auto")
        choice = next(one for one in result.decisions if "--model-args" in one.words)
        assert choice.words == ("--model-args", f"a=b,{self.KIND}=auto")
        assert "sdcpp_model_args (" in choice.reason
        assert "sdcpp_qwen_prefix_cache_type (" in choice.reason

    def test_the_prefix_cache_alone(self) -> None:
        """Nothing else is in the list."""
        assert f"--model-args {self.KIND}=q8_0" in words(NEWEST, sdcpp_qwen_prefix_cache_type="q8_0")

    def test_a_persons_own_entry_wins(self) -> None:
        """In the key as in extra words."""
        mine = f"{self.KIND}=f16"
        assert f"--model-args {mine}" in words(NEWEST, sdcpp_model_args=mine, sdcpp_qwen_prefix_cache_type="auto")
        extra = words(NEWEST, extra_args=["--model-args", mine], sdcpp_qwen_prefix_cache_type="auto")
        assert extra.count("--model-args") == 1

    def test_odd_what_a_person_says_again_is_left_out_of_ours(self) -> None:
        """The engine joins several --model-args, and for a switch the first true one stays."""
        said = words(NEWEST, sdcpp_model_args="a=1,b=2", extra_args=["--model-args", "b=3"])
        assert "--model-args a=1 " in said
        assert said.endswith("--model-args b=3")

    def test_only_arguments_that_were_asked_for_are_refused(self) -> None:
        """A faster way to the same picture is left out on an old build."""
        assert compiled(RECORDED, sdcpp_qwen_prefix_cache_type="auto").notes == (
            teaching.flag_unknown_to_engine("--model-args", "build"),
        )
        with pytest.raises(Malformed, match="--model-args"):
            compiled(RECORDED, sdcpp_model_args="qwen_image_zero_cond_t=true")


class TestSage:
    """SageAttention's kernels."""

    @pytest.mark.parametrize(
        ("at", "said"),
        [
            (machine(card()), {}),
            (machine(card(capability="")), {}),
            (machine(card("vulkan"), card(), cuda_version="12.4"), {}),
            (machine(card()), {"sdcpp_backend": "te=cpu,diffusion=cuda0"}),
            (machine(card()), {"sdcpp_backend": "te=cpu"}),
        ],
    )
    def test_it_is_said_on_cuda(self, at: Machine, said: dict[str, Any]) -> None:
        """Also beside other devices, as long as the diffusion model runs there."""
        assert "--sage-attn" in words(NEWEST, at=at, sdcpp_sage_attn=True, **said)

    @pytest.mark.parametrize(
        ("at", "said"),
        [
            (PLAIN, {}),
            (machine(card("vulkan")), {}),
            (machine(card(capability="7.5")), {}),
            (machine(card(), cuda_version="11.8"), {}),
            (machine(card()), {"sdcpp_backend": "cpu"}),
            (machine(card()), {"sdcpp_backend": "all=cuda0,diffusion=vulkan0"}),
            (machine(card()), {"extra_args": ["--backend", "vulkan0"]}),
        ],
    )
    def test_elsewhere_it_is_left_out_with_a_warning(self, at: Machine, said: dict[str, Any]) -> None:
        """The child would die at load."""
        result = compiled(NEWEST, at=at, sdcpp_sage_attn=True, **said)
        assert "--sage-attn" not in result.words
        assert result.notes == (teaching.sage_attn_needs_cuda(),)
        assert [choice.key for choice in result.decisions if choice.reason == result.notes[0]] == ["sdcpp_sage_attn"]

    @pytest.mark.parametrize("tier", ["extra_args", "sdcpp_extra_args"])
    def test_a_persons_own_word_is_believed(self, tier: str) -> None:
        """Custom builds, custom devices."""
        result = compiled(NEWEST, sdcpp_sage_attn=True, **{tier: ["--sage-attn"]})
        assert result.words.count("--sage-attn") == 1
        assert teaching.sage_attn_needs_cuda() not in result.notes


class TestPlacement:
    """Who places the parts on devices."""

    GPUS: tuple[Gpu, ...] = (card(), card())

    def test_the_engine_places_them_where_nobody_says_otherwise(self) -> None:
        """On a build that can, and a machine with something to place on."""
        assert "--auto-fit" in words(NEWEST, at=machine(*self.GPUS))
        assert "--auto-fit" in words(NEWEST, sdcpp_rpc_servers=("a:1",))
        assert "--auto-fit" not in words(NEWEST)
        assert "--auto-fit" not in words(at=machine(*self.GPUS))
        assert not compiled(RECORDED, at=machine(*self.GPUS)).notes

    @pytest.mark.parametrize(
        ("said", "key"),
        [
            ({"sdcpp_backend": "cuda1"}, "sdcpp_backend"),
            ({"sdcpp_params_backend": "disk"}, "sdcpp_params_backend"),
            ({"extra_args": ["--backend", "te=cpu"]}, "extra_args"),
            ({"sdcpp_extra_args": ["--params-backend", "cpu"]}, "sdcpp_extra_args"),
        ],
    )
    def test_odd_whoever_places_anything_ends_the_automatic_choice(self, said: dict[str, Any], key: str) -> None:
        """With --auto-fit the engine would ignore every placement."""
        result = compiled(NEWEST, at=machine(*self.GPUS), **said)
        assert "--auto-fit" not in result.words
        assert teaching.auto_fit_off(key) in [choice.reason for choice in result.decisions]

    def test_a_budget_and_a_split_do_not_end_it(self) -> None:
        """The engine reads them while it chooses."""
        said = words(NEWEST, at=machine(*self.GPUS), sdcpp_max_vram="8", sdcpp_split_mode="row")
        assert "--auto-fit --split-mode row --max-vram 8" in said

    def test_odd_a_budget_by_device_is_left_out_where_one_number_is_read(self) -> None:
        """The recorded build reads a number and dies of anything else."""
        result = compiled(RECORDED, sdcpp_max_vram="cuda0=8")
        assert "--max-vram" not in result.words
        assert result.notes == (teaching.max_vram_one_number("cuda0=8", "build"),)
        assert "--max-vram 8" in words(RECORDED, sdcpp_max_vram="8")
        assert "--max-vram cuda0=8" in words(NEWEST, sdcpp_max_vram="cuda0=8")


class TestExtraWords:
    """Two tiers, the model's own last."""

    def test_the_models_own_stand_last_and_duplicates_are_named(self) -> None:
        """The engine takes the last one."""
        result = compiled(
            RECORDED, sdcpp_extra_args=["--control-net", "/a", "--mmap"], extra_args=["--control-net", "/b"]
        )
        assert result.words[-5:] == ("--control-net", "/a", "--mmap", "--control-net", "/b")
        assert result.notes == (teaching.extra_arg_twice("--control-net", "sdcpp_extra_args", "extra_args"),)

    @pytest.mark.parametrize("tier", ["sdcpp_extra_args", "extra_args"])
    @pytest.mark.parametrize("word", ["--model", "--vae", "-t", "--threads", "--clip-l", "--listen-port", "--verbose"])
    def test_pins_are_refused_in_both(self, tier: str, word: str) -> None:
        """Also where the build could not be asked."""
        with pytest.raises(Malformed, match=f"cannot stand in {tier}"):
            compiled(**{tier: [word, "x"]})

    def test_what_the_build_lacks_is_refused_in_both(self) -> None:
        """Exactly as for a model's own words."""
        for tier in ("sdcpp_extra_args", "extra_args"):
            with pytest.raises(Malformed, match="--nonsense"):
                compiled(RECORDED, **{tier: ["--nonsense"]})

    def test_a_persons_spelling_takes_the_place_of_ours(self) -> None:
        """--taesd is --tae, --diffusion-fa is flash attention."""
        result = compiled(RECORDED, sdcpp_tae="/ours", extra_args=["--taesd", "/theirs", "--diffusion-fa"])
        assert "/ours" not in result.words
        assert "--fa" not in result.words
        assert teaching.flag_given_way("--tae", "extra_args") in result.notes

    def test_a_control_net_in_the_key_gives_way(self) -> None:
        """One control net, the person's last word."""
        result = compiled(RECORDED, sdcpp_control_net="/a", extra_args=["--control-net", "/b"])
        assert "/a" not in result.words
        assert teaching.flag_given_way("--control-net", "extra_args") in result.notes
