"""The type tables against the package that upstream publishes."""

from blazar.adapters.files.ggml_types import FILE_TYPES, GGML_TYPES

# gguf 0.19 says 40 bytes for Q8_1; ggml_type_size of b11434 says 36. It is never stored in files.
KNOWN_DIFFERENCE = {9}


def test_tensor_types_are_those_of_the_reference() -> None:
    """Every type the `gguf` package knows has the same name and block here."""
    from gguf.constants import GGML_QUANT_SIZES

    for kind, block in GGML_QUANT_SIZES.items():
        ours = GGML_TYPES[int(kind)]
        assert ours.name == kind.name
        assert (ours.block, ours.size) == block or int(kind) in KNOWN_DIFFERENCE


def test_file_types_are_those_of_the_reference() -> None:
    """`MOSTLY_` is upstream's prefix, not part of the name that people use."""
    from gguf.constants import LlamaFileType

    theirs = {int(kind): kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in LlamaFileType}
    theirs.pop(1024)
    assert theirs.items() <= FILE_TYPES.items()
