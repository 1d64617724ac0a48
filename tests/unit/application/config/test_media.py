"""Embeddings and video: their bounds."""

import pytest

from tests.support.configuration import held, refusal


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("embd_normalize = -2", "must be -1 or more"),
        ("late_chunking_max_tokens = 0", "must be 1 or more"),
        ("video_fps = -1", "must be 0 or more"),
        ("video_fps = inf", "must be a finite number (found Infinity)"),
        ("video_timestamp_interval = nan", "must be a finite number (found NaN)"),
        ("video_ffmpeg_dir = 3", "must be text in quotes"),
    ],
)
def test_a_bound_is_kept(text, why):
    """Infinity is no rate."""
    assert why in refusal(text)


def test_they_are_at_the_root_only():
    """The vision group has pictures (D26)."""
    assert "write it at the root" in refusal("[vision]\nvideo_fps = 2.0")
    assert held("video_fps = 2").video_fps == 2.0
