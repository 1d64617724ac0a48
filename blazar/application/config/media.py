"""Keys of embeddings and of video. Root-only (D26)."""

from typing import Annotated, ClassVar

from pydantic import Field

from blazar.application.config.knob import LARGEST, PATH, Keys, Knob, Positive


class MediaKeys(Keys):
    """What models make of texts that are only embedded, and of films."""

    title: ClassVar[str] = "Embeddings and video"

    embd_normalize: Annotated[int, Field(ge=-1, le=LARGEST)] = 0
    """Norm of embeddings: -1 none, 1 taxicab, 2 euclidean, above 2 that power; 0: the engine's own (its 0 can be said by extra_args)."""
    late_chunking_max_tokens: Annotated[Positive, Knob(daemon=True)] = 8192
    """Most tokens of a text that is embedded as a whole and cut into pieces afterwards; a longer one is refused."""
    video_ffmpeg_dir: Annotated[str, PATH] = ""
    """Folder with ffmpeg and ffprobe, which cut a film into pictures; unset: they are looked for as any program."""
    video_fps: Annotated[float, Field(ge=0)] = 0.0
    """Pictures a second that are taken from a film; 0: as the engine does."""
    video_timestamp_interval: Annotated[float, Field(ge=0)] = 0.0
    """Milliseconds between two times that are told to the model; 0: as the engine does."""
