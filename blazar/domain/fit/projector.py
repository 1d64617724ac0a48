"""An image or audio encoder beside a model (mmproj): its weights, and a bound of the scratch that its largest input takes.

The engine allocates that scratch when the first picture comes, long after the load (it warms up with a small one), so a plan has
to hold it free. What bounds it was read from tools/mtmd of llama.cpp b11434 and measured on 41 generated encoders of seven
types (CPU, flash attention): the engine's own figure was 63 to 96 % of this module's. Never 0 for an encoder that has tensors, and
never for more patches than `MAX_PATCHES`: an odd or hostile file must not look like a hundred gigabytes.
"""

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Any

from blazar.domain.errors import BadShape
from blazar.domain.fit.keys import Keys
from blazar.domain.fit.shape import Projector, Tensor
from blazar.domain.fit.towers import AUDIO, CONVOLUTIONS, VISION, Tower

MIB = 2**20

MAX_PATCHES = 16384
"""Patches of the largest picture that is charged: 4096 tokens of four patches, the cap of the Qwen-VL family and of most others
(clip.cpp, `set_limit_image_tokens`); 1792 × 1792 pixels in patches of 14. The few encoders that take more are charged this."""

MAX_PIXELS = MAX_PATCHES * 32 * 32
"""Pixels of the largest picture that is charged, in the largest patches that an encoder is known to have."""

DEFAULT_SIDE, DEFAULT_PATCH, DEFAULT_WIDTH = 896, 14, 1152
"""Of an encoder that declares no picture size, patch or width: SigLIP's, the commonest one."""

BATCH_TOKENS = 1024
"""Image tokens that the engine encodes in one run (`--mtmd-batch-max-tokens`, default of common/common.h)."""

FRAMES = 3000
"""Audio frames of 30 s, what the engine warms up with (clip-model.h, `warmup_audio_size`): longer input without a chunk length
is charged as this."""

FLASH_WIDTHS = frozenset({40, 64, 72, 80, 96, 112, 128, 256})
"""Head widths with a flash attention kernel for CUDA (ggml-cuda/fattn.cu). Others have the attention's scores spelled out."""

CONVOLUTION_BYTES = 256 * MIB
"""Scratch of a convolution tower for 768 × 768 pixels, and of the convolutions before an audio encoder: a bound, from the sizes of
their first layers (MobileNetV5: 9 × 64 × 192² halves and 2 × 256 × 192² floats; conformers: 256 channels × 1500 × 64 floats)."""

_BETWEEN = ("mm.", "mm_", "resampler.", "adapter.")
"""What names of the tensors between an encoder and its model begin with (clip-impl.h)."""

_FLOAT = 4


def shape_from_projector(metadata: Mapping[str, Any], tensors: Iterable[Tensor]) -> Projector:
    """What an mmproj GGUF costs: `weights_bytes` the sum of its tensors, `compute_bytes` a bound for its largest input.

    `metadata` is the file's key-value mapping (`clip.*`). Encoders for pictures and for sound run one after the other in
    buffers of their own, so both are counted. `upper_bound` says that the type is unknown or that its scratch was not modelled
    layer by layer. Raises `BadShape` where a key has a wrong type or size.
    """
    keys, rows = Keys(metadata, "clip"), tuple(tensors)
    weights = sum(row.bytes for row in rows)
    gated = any(".ffn_gate" in row.name for row in rows)
    kinds = {kind: _type(metadata, kind) for kind in ("vision", "audio", "gen.audio") if _has(keys, kind)}
    if not kinds:
        kinds = {"vision": _type(metadata, "vision")} if rows else {}
    compute, known = 0, True
    for kind, name in kinds.items():
        scratch, modelled = _vision(keys, name, gated) if kind == "vision" else _audio(keys, kind, name, gated)
        compute += scratch
        known = known and modelled
    types = " ".join(dict.fromkeys(filter(None, kinds.values())))
    return Projector(types, weights, compute, not known, _widths(keys, rows))


def _widths(keys: Keys, rows: Iterable[Tensor]) -> tuple[int, ...]:
    """The widths that its last layer may hand on.

    `projection_dim` is that, where a layer between encoder and model (`mm.…`) has it. In files of the LLaVA kind it is a number of
    the encoder's own training (768), and only those layers tell (clip.cpp, `clip_n_mmproj_embd`, reads them too).
    """
    said = {keys.number(f"{kind}.projection_dim") for kind in ("vision", "audio")} - {0}
    layers = {width for row in rows if row.name.startswith(_BETWEEN) for width in row.shape[:2] if width > 1}
    return tuple(sorted(said & layers or layers or said))


def _type(metadata: Mapping[str, Any], kind: str) -> str:
    """The projector's type; files with several encoders name each one's."""
    for key in ("clip.projector_type", f"clip.{kind}.projector_type"):
        found = metadata.get(key, "")
        if not isinstance(found, str):
            raise BadShape(key, "it is no text")
        if found:
            return found
    return ""


def _has(keys: Keys, kind: str) -> bool:
    return keys.flag(f"has_{kind.replace('.', '_')}_encoder", False)


def _vision(keys: Keys, name: str, gated: bool) -> tuple[int, bool]:
    """Scratch bytes of the picture encoder, and whether its type is known."""
    side = keys.number("vision.image_size") or DEFAULT_SIDE
    if name in CONVOLUTIONS:
        return _convolutions(side), False
    tower = VISION.get(name, Tower())
    merge = keys.number("vision.spatial_merge_size") or keys.number("vision.projector.scale_factor")
    tower = tower._replace(merge=merge or tower.merge)
    patch = keys.number("vision.patch_size") or DEFAULT_PATCH
    patches = _patches(keys, tower, side, patch)
    masked = tower.mask == "all" or (tower.mask == "some" and keys.number("vision.n_wa_pattern") > 0)
    phases = (
        _FLOAT * 5 * min(patches * patch * patch, MAX_PIXELS),  # three floats a pixel, unfolded to three halves
        _segmenter(keys, patches),
        _transformer(keys, "vision", patches, gated, masked),
        _projection(keys, patches, tower.merge),
    )
    return max(phases), name in VISION


def _patches(keys: Keys, tower: Tower, side: int, patch: int) -> int:
    """Patches that one run of the encoder has at most."""
    area = patch * patch
    pixels = keys.number("vision.image_max_pixels")
    if tower.pixels and pixels:
        patches = pixels // area
    elif tower.tokens:
        patches = tower.tokens * tower.merge * tower.merge
    else:
        edge = keys.number("vision.preproc_image_size") if tower.edge else 0
        across = -(-(edge or side) // patch)
        patches = across * across
    patches = min(max(patches, 1), MAX_PATCHES)
    if tower.batch:
        patches *= max(1, BATCH_TOKENS * tower.merge * tower.merge // patches)
    return min(patches, MAX_PATCHES) + 1  # and a class token


def _transformer(keys: Keys, kind: str, count: int, gated: bool, masked: bool) -> int:
    """Scratch of `count` positions through one encoder, whose layers reuse each other's buffers; bytes.

    Per position the larger of attention (the residual, queries, keys and values, keys and values as halves, the result: 7
    widths with what lies between) and feed-forward (one row up, three if gated, 5 widths beside). A mask has a float for every
    pair of positions, and a half of it for flash attention.
    """
    width = keys.number(f"{kind}.embedding_length") or DEFAULT_WIDTH
    ff = keys.number(f"{kind}.feed_forward_length") or 4 * width
    heads = keys.number(f"{kind}.attention.head_count")
    row = max(7 * width, (3 if gated else 1) * ff + 5 * width)
    if masked:
        row += count + count // 2
    head = keys.number(f"{kind}.attention.head_dim") or (width // heads if heads else 0)
    if heads and head not in FLASH_WIDTHS:
        row += count * min(heads, width)
    return _FLOAT * count * row


def _segmenter(keys: Keys, patches: int) -> int:
    """The SAM encoder before DeepSeek-OCR's own: relative positions make a mask for each head, as floats and as halves."""
    heads = keys.number("vision.sam.head_count")
    width = keys.number("vision.sam.embedding_length")
    positions = min(patches, 4096)
    return positions * (positions * min(heads, 64) * 6 + _FLOAT * 9 * width) if heads else 0


def _projection(keys: Keys, patches: int, merge: int) -> int:
    """From patches to tokens: merged rows in, twice, and the model's width out, three times between its layers."""
    tokens = -(-patches // (merge * merge))
    width = keys.number("vision.embedding_length") or DEFAULT_WIDTH
    return _FLOAT * (patches * 2 * width + tokens * 3 * keys.number("vision.projection_dim"))


def _convolutions(side: int) -> int:
    side = min(side, DEFAULT_PATCH * isqrt(MAX_PATCHES))
    return max(CONVOLUTION_BYTES, CONVOLUTION_BYTES * side * side // (768 * 768))


def _audio(keys: Keys, kind: str, name: str, gated: bool) -> tuple[int, bool]:
    """Scratch bytes of an encoder (or maker) of sound, and whether its type is known.

    Whisper's kind halves the frames by two convolutions, which take 3 widths a frame; others reduce them further, with
    convolutions that `CONVOLUTION_BYTES` bounds and attention that is spelled out.
    """
    frames = AUDIO.get(name)
    positions = (frames or FRAMES) // 2
    scratch = _transformer(keys, kind, positions, gated, masked=False)
    width = keys.number(f"{kind}.embedding_length") or DEFAULT_WIDTH
    if frames is None:
        heads = keys.number(f"{kind}.attention.head_count")
        spelled = (positions // 2) ** 2 * min(heads, 64) * 2 * _FLOAT
        return scratch + CONVOLUTION_BYTES + spelled, False
    return max(scratch, frames * 3 * width * _FLOAT), True
