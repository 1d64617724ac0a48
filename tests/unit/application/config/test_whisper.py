"""The bounds of what whisper.cpp is told."""

import pytest

from tests.support.configuration import held, refusal


@pytest.mark.parametrize("millis", [1000, 120000])
def test_a_chunk_is_one_second_to_two_minutes(millis):
    """Both ends are in, from the file and from the variable."""
    assert held(f"whisper_stream_chunk_ms = {millis}").whisper_stream_chunk_ms == millis
    assert held("", {"BLAZAR_WHISPER_STREAM_CHUNK_MS": str(millis)}).whisper_stream_chunk_ms == millis


@pytest.mark.parametrize(("millis", "why"), [(999, "1000 or more"), (120001, "120000 or less")])
def test_other_chunks_are_refused(millis, why):
    """With the source that says them."""
    assert why in refusal(f"whisper_stream_chunk_ms = {millis}")
    told = refusal("", {"BLAZAR_WHISPER_STREAM_CHUNK_MS": str(millis)})
    assert told.startswith("environment variable BLAZAR_WHISPER_STREAM_CHUNK_MS: 'whisper_stream_chunk_ms' must be")


def test_the_decoder_follows_at_most_eight_texts():
    """More end whisper.cpp as it starts."""
    assert held("whisper_beam_size = 8\nwhisper_best_of = 1").whisper_beam_size == 8
    assert "8 or less" in refusal("whisper_beam_size = 9")
    assert "1 or more" in refusal("whisper_best_of = 0")


def test_unset_is_the_engines_own_choice():
    """Thresholds may be 0 or negative, so that only absence says nothing."""
    config = held("whisper_logprob_thold = -1.5\nwhisper_word_thold = 0")
    assert (config.whisper_logprob_thold, config.whisper_word_thold, config.whisper_entropy_thold) == (-1.5, 0.0, None)
    assert "1 or less" in refusal("whisper_word_thold = 1.5")


def test_words_of_the_variable_keep_their_spaces():
    """Only commas divide; a value with a comma belongs in the file."""
    words = held("", {"BLAZAR_WHISPER_EXTRA_ARGS": "--prompt,two words,--dtw,tiny"}).whisper_extra_args
    assert words == ("--prompt", "two words", "--dtw", "tiny")
