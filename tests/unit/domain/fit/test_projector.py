"""What an image or audio encoder beside a model takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import BadShape
from blazar.domain.fit.projector import MAX_PATCHES, shape_from_projector
from blazar.domain.fit.shape import Tensor
from blazar.domain.fit.towers import AUDIO, VISION

MIB, GIB = 2**20, 2**30
ROW = Tensor("v.blk.0.attn_q.weight", (1024, 1024), "F16", 2**21)
GATE = Tensor("v.blk.0.ffn_gate.weight", (1024, 4096), "F16", 2**23)


NAMES = ("image_size", "patch_size", "embedding_length", "feed_forward_length", "attention.head_count")


def vision(kind, *sizes, **more):
    """Metadata of a picture encoder: side, patch, width, feed-forward, heads."""
    keys = dict(zip(NAMES, sizes, strict=True)) | {"projection_dim": 64, **more}
    named = {"clip.projector_type": kind} if kind else {}
    return {"clip.has_vision_encoder": True, **named, **{f"clip.vision.{key}": value for key, value in keys.items()}}


MEASURED = [
    ("mlp", 336, 14, 512, 512, 8, 5.80),
    ("mlp", 336, 14, 1024, 4096, 16, 19.32),
    ("mlp", 672, 14, 1024, 4096, 16, 77.21),
    ("mlp", 448, 14, 512, 8192, 8, 36.34),
    ("mlp", 448, 14, 1024, 512, 8, 26.32),
    ("mlp", 896, 28, 512, 512, 8, 13.79),
    ("gemma3", 896, 14, 512, 512, 8, 40.0),
    ("gemma3", 896, 14, 1152, 4304, 16, 121.25),
    ("gemma3", 896, 28, 512, 512, 8, 13.78),
    ("idefics3", 448, 14, 1280, 5120, 16, 35.0),
]
"""Compute buffers of llama-server b11434 (CPU) for generated encoders: type, side, patch, width, feed-forward, heads, MiB."""


@pytest.mark.parametrize("row", MEASURED)
def test_the_engines_scratch_is_bounded_closely(row):
    """Never less than the engine allocates, and at most 1.6 times that."""
    kind, *sizes, mib = row
    projector = shape_from_projector(vision(kind, *sizes), [ROW])
    assert mib * MIB <= projector.compute_bytes + 8192 <= 1.6 * mib * MIB
    assert (projector.weights_bytes, projector.type, projector.upper_bound) == (2**21, kind, False)


DYNAMIC = [
    ("qwen2vl_merger", {}, False, 1280, 5120, 267.08),
    ("qwen2vl_merger", {}, False, 1152, 4304, 288.26),
    ("qwen2.5vl_merger", {"n_wa_pattern": 8}, True, 1280, 3420, 594.37),
    ("qwen2.5vl_merger", {"n_wa_pattern": 8}, True, 1280, 5120, 924.99),
]
"""The same at the warm-up's 92 × 92 patches; pictures may have `MAX_PATCHES`."""


@pytest.mark.parametrize("row", DYNAMIC)
def test_a_free_picture_size_is_charged_at_its_cap(row):
    """The engine warms up with a small one and grows for the first large one: linear in patches, quadratic where it has a mask."""
    kind, more, gated, width, ff, mib = row
    projector = shape_from_projector(vision(kind, 560, 14, width, ff, 16, **more), [ROW, GATE] if gated else [ROW])
    scale = MAX_PATCHES / 92**2
    assert scale * mib * MIB <= projector.compute_bytes <= scale * scale * 1.6 * mib * MIB
    assert projector.compute_bytes < 4 * GIB
    bigger = shape_from_projector(vision(kind, 1120, 14, width, ff, 16, **more), [ROW, GATE] if gated else [ROW])
    assert bigger == projector


def test_an_unknown_type_is_bounded_and_said_to_be():
    """A 1 GB encoder of an unheard-of type and 110 × 110 patches: hundreds of MiB, not the 8.7 GiB of spelled-out scores."""
    projector = shape_from_projector(vision("", 1540, 14, 1024, 4096, 16), [ROW._replace(bytes=10**9)])
    assert projector.upper_bound
    assert 200 * MIB < projector.compute_bytes < GIB
    bare = {"clip.has_vision_encoder": True, "clip.vision.image_size": 1540, "clip.vision.patch_size": 14}
    assert 200 * MIB < shape_from_projector(bare, [ROW]).compute_bytes < GIB


def test_an_encoder_that_declares_nothing_is_not_free():
    """Tensors without keys are an encoder of the commonest size; no tensors and no keys are none."""
    silent = shape_from_projector({}, [ROW])
    assert silent.upper_bound
    assert 50 * MIB < silent.compute_bytes < GIB
    assert shape_from_projector({}, [])._replace(widths=()) == ("", 0, 0, False, ())


@pytest.mark.parametrize(
    ("width", "ff", "mib"), [(512, 512, 15.38), (512, 4096, 32.23), (1024, 4096, 41.02), (1280, 5120, 51.27)]
)
def test_the_engines_scratch_for_sound_is_bounded(width, ff, mib):
    """Whisper's kind, 30 s: compute buffers of llama-server b11434 for generated encoders."""
    keys = {"embedding_length": width, "feed_forward_length": ff, "attention.head_count": width // 64}
    metadata = {"clip.has_audio_encoder": True, "clip.projector_type": "qwen2a"}
    metadata |= {f"clip.audio.{key}": value for key, value in keys.items()}
    assert mib * MIB <= shape_from_projector(metadata, [ROW]).compute_bytes <= 1.6 * mib * MIB


def test_sound_is_bounded():
    """Whisper's kind by its 30 s; a conformer by its convolutions; never gigabytes (one tool says 8.5 GiB)."""
    keys = {
        "clip.audio.embedding_length": 1280,
        "clip.audio.feed_forward_length": 5120,
        "clip.audio.attention.head_count": 20,
    }
    whisper = shape_from_projector({"clip.has_audio_encoder": True, "clip.projector_type": "qwen2a", **keys}, [ROW])
    other = shape_from_projector({"clip.has_audio_encoder": True, "clip.projector_type": "lfm2a", **keys}, [ROW])
    assert 50 * MIB < whisper.compute_bytes < 300 * MIB
    assert not whisper.upper_bound
    assert 256 * MIB < other.compute_bytes < GIB
    assert other.upper_bound


def test_a_convolution_tower_is_bounded():
    """No patches to count: MobileNet's first layers (one tool says 130 GiB)."""
    keys = {"clip.has_vision_encoder": True, "clip.projector_type": "gemma3nv", "clip.vision.image_size": 768}
    tower = shape_from_projector(keys, [ROW])
    assert 100 * MIB < tower.compute_bytes < GIB
    assert tower.upper_bound


def test_an_omni_file_has_two_encoders():
    """Each with its own type and scratch; one file of weights."""
    keys = vision("", 560, 14, 1280, 3420, 16, projector_type="qwen2vl_merger")
    keys |= {"clip.has_audio_encoder": True, "clip.audio.projector_type": "qwen2a", "clip.audio.embedding_length": 1280}
    both = shape_from_projector(keys, [ROW, ROW])
    assert both.type == "qwen2vl_merger qwen2a"
    assert both.weights_bytes == 2 * 2**21
    keys.pop("clip.has_audio_encoder")
    assert both.compute_bytes > shape_from_projector(keys, [ROW]).compute_bytes


def test_tiles_are_encoded_together():
    """1024 tokens a run: four tiles of 256 for InternVL."""
    keys = {"image_size": 448, "patch_size": 14, "embedding_length": 1024, "feed_forward_length": 4096}
    keys |= {"attention.head_count": 16, "projector.scale_factor": 2}
    named = {f"clip.vision.{key}": value for key, value in keys.items()} | {"clip.has_vision_encoder": True}
    one = shape_from_projector({**named, "clip.projector_type": "idefics3"}, [ROW])
    four = shape_from_projector({**named, "clip.projector_type": "internvl"}, [ROW])
    assert 3.9 * one.compute_bytes < four.compute_bytes <= 4 * one.compute_bytes


def test_a_width_without_a_kernel_has_its_scores_spelled_out():
    """88 a head (Llama 4): no flash attention on CUDA, so a float for each head and pair."""
    plain = shape_from_projector(vision("llama4", 336, 14, 1408, 5632, 22), [ROW])
    spelled = shape_from_projector(vision("llama4", 336, 14, 1408, 5632, 16), [ROW])
    assert spelled.compute_bytes - plain.compute_bytes == 577 * 577 * 16 * 4


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("clip.projector_type", 7),
        ("clip.vision.image_size", "large"),
        ("clip.vision.patch_size", -14),
        ("clip.vision.embedding_length", [1024]),
        ("clip.vision.feed_forward_length", 2**63),
        ("clip.has_vision_encoder", "yes"),
    ],
)
def test_wrong_metadata_is_a_bad_shape(key, value):
    """Of the key that is wrong; never another error."""
    with pytest.raises(BadShape):
        shape_from_projector({**vision("mlp", 336, 14, 1024, 4096, 16), key: value}, [ROW])


NUMBERS = st.integers(0, 2**31 - 1)


@given(
    st.sampled_from([*VISION, *AUDIO, "gemma3nv", "", "unheard-of"]),
    st.dictionaries(
        st.sampled_from(
            ["image_size", "patch_size", "spatial_merge_size", "image_max_pixels", "preproc_image_size", "n_wa_pattern"]
        ),
        NUMBERS,
    ),
    st.booleans(),
)
def test_whatever_a_file_says_of_its_pictures_the_scratch_stays_finite(kind, keys, sound):
    """Sizes of pictures cannot make a phantom: an encoder of one width costs between something and a few GiB."""
    metadata = vision(kind, 560, 14, 1024, 4096, 16) | {f"clip.vision.{key}": value for key, value in keys.items()}
    metadata["clip.has_audio_encoder"] = sound
    assert 0 < shape_from_projector(metadata, [ROW]).compute_bytes <= 4 * GIB


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 8192), st.integers(1, 8192))
def test_a_larger_picture_or_encoder_never_costs_less(side, more, width, ff):
    """Monotone in what a file declares."""
    small = shape_from_projector(vision("mlp", side, 14, width, ff, 0), [ROW])
    assert (
        shape_from_projector(vision("mlp", side + more, 14, width, ff, 0), [ROW]).compute_bytes >= small.compute_bytes
    )
    assert (
        shape_from_projector(vision("mlp", side, 14, width + more, ff, 0), [ROW]).compute_bytes >= small.compute_bytes
    )
    assert (
        shape_from_projector(vision("mlp", side, 14, width, ff + more, 0), [ROW]).compute_bytes >= small.compute_bytes
    )


@pytest.mark.parametrize(
    ("said", "layers", "widths"),
    [
        (2560, {"mm.input_projection.weight": (2560, 1152)}, (2560,)),
        (768, {"mm.0.weight": (1024, 4096), "mm.2.weight": (4096, 4096)}, (1024, 4096)),
        (2560, {"v.blk.0.attn_q.weight": (1152, 1152)}, (2560,)),
        (0, {"resampler.proj.weight": (4096, 4096)}, (4096,)),
        (0, {"v.blk.0.attn_q.weight": (1152, 1152)}, ()),
    ],
)
def test_the_widths_of_the_models_that_it_goes_with(said, layers, widths):
    """Its own word where a layer towards the model bears it out; else those layers; else the word alone; else nothing."""
    rows = [Tensor(name, shape, "F16", 2) for name, shape in layers.items()]
    keys = {"clip.has_vision_encoder": True} | ({"clip.vision.projection_dim": said} if said else {})
    assert shape_from_projector(keys, rows).widths == widths
