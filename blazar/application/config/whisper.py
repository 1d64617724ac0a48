"""Keys of the child that writes down speech."""

from pathlib import PurePath
from typing import Annotated, ClassVar

from pydantic import Field

from blazar.application.config.knob import ExtraWords, Keys, Knob, Whole

# What its decoder can keep at once.
Candidates = Annotated[int, Field(ge=1, le=8)]
Probability = Annotated[float, Field(ge=0, le=1)]


def _in_a_folder(text: str) -> bool:
    """A bare name is a file of the engine's folder."""
    return PurePath(text).name != text


class WhisperKeys(Keys):
    """Speech to text. What is unset is left to whisper.cpp."""

    title: ClassVar[str] = "Whisper"
    group: ClassVar[str] = "whisper"

    whisper_idle_secs: Annotated[Whole, Knob(daemon=True)] = 900
    """Seconds without a request after which its child ends. 0: it stays."""
    whisper_stream_chunk_ms: Annotated[
        int, Field(ge=1000, le=120000), Knob(env=("BLAZAR_WHISPER_STREAM_CHUNK_MS",), daemon=True)
    ] = 30000
    """Milliseconds of sound that are written down at a time when the text is streamed."""
    whisper_vad_model: Annotated[str | None, Knob(path=_in_a_folder)] = None
    """Model that finds speech, so that silence and noise are skipped: a file of the engine's folder, or a path."""
    whisper_vad_threshold: Probability | None = None
    """Probability from which on sound counts as speech; needs whisper_vad_model."""
    whisper_vad_min_speech_duration_ms: Whole | None = None
    """Milliseconds that speech must last to count; needs whisper_vad_model."""
    whisper_vad_min_silence_duration_ms: Whole | None = None
    """Milliseconds of silence that divide speech; needs whisper_vad_model."""
    whisper_beam_size: Candidates | None = None
    """Texts that are followed side by side: more are more accurate with noise, and slower."""
    whisper_best_of: Candidates | None = None
    """Candidates that the best text is chosen from."""
    whisper_entropy_thold: float | None = None
    """Entropy below which a passage counts as repetition and is tried again."""
    whisper_logprob_thold: float | None = None
    """Mean log probability below which a passage counts as failed and is tried again."""
    whisper_word_thold: Probability | None = None
    """Least probability of a word's time."""
    whisper_diarize: bool = False
    """Tell two speakers apart by the two channels of a stereo recording."""
    whisper_tinydiarize: bool = False
    """Mark where the speaker changes; needs a model that was trained for it."""
    whisper_extra_args: Annotated[ExtraWords, Knob(env=("BLAZAR_WHISPER_EXTRA_ARGS",))] = ()
    """Words added to its command line in this order; the engine must know each flag, and none that has a key may be repeated."""
