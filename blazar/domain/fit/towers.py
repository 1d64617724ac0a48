"""What llama.cpp hard-codes about the encoders it knows, by projector type: data only, read by `projector`.

Source of every row: tools/mtmd of b11434, the switch over projector types in `load_hparams` (clip.cpp), the attention masks and
`support_batch` in models/. `merge` is the default number of patches per side that become one token; the file's own
`spatial_merge_size` or `projector.scale_factor` wins.
"""

from typing import NamedTuple


class Tower(NamedTuple):
    """How one type of encoder sizes its work.

    `tokens`: the most image tokens of one image whose size is free (0: images are brought to `image_size`, as tiles where
    there are several). `edge`: free up to `preproc_image_size` a side. `pixels`: the file's `image_max_pixels` comes before
    `tokens`. `mask`: its attention reads a table of patches by patches, in "some" files (those with a window pattern) or
    "all". `batch`: several images or tiles share one run.
    """

    tokens: int = 0
    merge: int = 1
    edge: bool = False
    pixels: bool = False
    mask: str = ""
    batch: bool = False


_PLAIN = Tower()
_QWEN = Tower(tokens=4096, merge=2)
_PIXELS = Tower(pixels=True, tokens=4096, merge=2)

VISION: dict[str, Tower] = {
    "mlp": _PLAIN,
    "mlp_norm": _PLAIN,
    "ldp": _PLAIN,
    "ldpv2": _PLAIN,
    "resampler": _PLAIN,
    "adapter": _PLAIN,
    "cogvlm": _PLAIN,
    "janus_pro": _PLAIN,
    "granite4_vision": _PLAIN,
    "nemotron_v2_vl": _PLAIN,
    "yasa2": _PLAIN,
    "llama4": _PLAIN,
    "idefics3": _PLAIN,
    "step3vl": Tower(merge=4),
    "gemma3": Tower(merge=4),
    "minicpmv4_6": Tower(merge=4, mask="all"),
    "internvl": Tower(batch=True),
    "deepseekocr": Tower(merge=4, batch=True),
    "deepseekocr2": Tower(merge=4, batch=True, mask="all"),
    "lightonocr": Tower(edge=True),
    "lfm2": Tower(tokens=256),
    "pixtral": Tower(tokens=1024),
    "kimivl": Tower(tokens=1024),
    "kimik25": Tower(tokens=4096, pixels=True),
    "deepseek4v": Tower(tokens=384),
    "gemma4v": Tower(tokens=1120, merge=3, batch=True),
    "gemma4uv": Tower(tokens=1120, merge=3),
    "qwen2vl_merger": _QWEN,
    "qwen2.5vl_merger": _QWEN._replace(mask="some"),
    "qwen2.5o": _QWEN._replace(mask="some"),
    "qwen3vl_merger": _QWEN,
    "ling3vl": _QWEN,
    "glm4v": _QWEN,
    "muse-glimmer": _QWEN._replace(mask="all"),
    "minimax_m3": Tower(tokens=576, merge=2),
    "youtuvl": Tower(tokens=62500, merge=2, mask="all"),
    "hunyuanvl": Tower(tokens=16384, merge=2, pixels=True),
    "glm5v": _PIXELS,
    "paddleocr": _PIXELS,
    "exaone4_5": _PIXELS._replace(mask="some"),
    "mimovl": _PIXELS._replace(mask="all"),
    "phi4": _PIXELS._replace(merge=1),
    "dots_ocr": _PIXELS,
    "dots3note_v": _PIXELS,
}

CONVOLUTIONS = frozenset({"gemma3nv"})
"""Vision encoders without patches: a MobileNet, whose early layers dominate."""

AUDIO: dict[str, int] = {
    "ultravox": 3000,
    "voxtral": 3000,
    "qwen2a": 3000,
    "qwen2.5o": 3000,
    "qwen3a": 3000,
    "glma": 3000,
    "meralion": 3000,
    "musicflamingo": 3000,
    "dots3note_a": 6000,
}
"""Audio encoders that cut their input into chunks: frames of one (30 s, or 60, at 100 a second)."""
