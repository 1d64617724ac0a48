"""What engines say of a full disk."""

import pytest

from blazar.domain.full_disks import says_full


@pytest.mark.parametrize(
    "line",
    [
        "llama_model_load: error loading model: write error: No space left on device",
        "OSError: [Errno 28] No space left on device: '/root/.triton/cache'",
        'Error: Io(Os { code: 28, message: "No space left on device" })',
        "thread 'main' panicked: os error 28",
        "write: disk quota exceeded",
        "There is not enough space on the disk.",
        "errno 122",
        "ENOSPC: write",
    ],
)
def test_words_of_a_full_disk(line: str) -> None:
    """Of C, Python, Rust, quotas and Windows; among others."""
    assert says_full(["loading model", line, "exiting"])


@pytest.mark.parametrize(
    "line", ["CUDA error: out of memory", "errno 281", "loaded 28 tensors", "disk: 100 GB free", ""]
)
def test_other_words(line: str) -> None:
    """A memory that is full is no disk."""
    assert not says_full([line])
    assert not says_full([])
