"""Which row a name means, also by the reference that it was pulled by."""

import pytest

from blazar.domain.errors import BlazarError, ModelNotFound, SeveralModels
from blazar.domain.parcels import Origin
from blazar.domain.records import Model
from blazar.domain.references import kept_address, pull_reference
from blazar.domain.row_names import meant, not_one, only_one, row_called, row_named, rows_of, spelled_as_here
from tests.fakes.catalog import a_model

ROWS = [
    a_model("scripted", origin=Origin("127.0.0.1:5000/team/scripted:latest", "a1")),
    a_model("qwen3:0.6b", origin=Origin("ollama:library/qwen3:0.6b", "a2")),
    a_model("one-q8_0", origin=Origin("hf:org/One-GGUF:Q8_0", "a3")),
    a_model("two-q8_0", origin=Origin("hf:org/Two-GGUF:Q8_0", "a4")),
    a_model("two-q4_0", origin=Origin("hf:org/Two-GGUF:Q4_0", "a5")),
    a_model("file-q4_k_m", origin=Origin("hf:org/File-GGUF/sub/File-Q4_K_M.gguf", "a6")),
    a_model("there", origin=Origin("https://files.example/There.gguf?x=1", "a7")),
    a_model("signed", origin=Origin(kept_address("https://files.example/Signed.gguf?sig=1"), "b1")),
    a_model("older", origin=Origin("hf:org/Dated:F16", "a8", pulled_at=1.0)),
    a_model("newer", origin=Origin("hf:org/Dated:F16", "a9", pulled_at=2.0)),
    a_model("org/imported"),
]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("127.0.0.1:5000/team/scripted", "scripted"),
        ("127.0.0.1:5000/team/scripted:latest", "scripted"),
        ("127.0.0.1:5000/Team/Scripted", "scripted"),
        ("http://127.0.0.1:5000/team/scripted", "scripted"),
        ("ollama.com/library/qwen3:0.6b", "qwen3:0.6b"),
        ("registry.ollama.ai/library/qwen3:0.6b", "qwen3:0.6b"),
        ("qwen3-0.6b:latest", "qwen3:0.6b"),
        ("hf.co/org/One-GGUF:Q8_0", "one-q8_0"),
        ("https://huggingface.co/org/one-gguf", "one-q8_0"),
        ("org/One-GGUF:q8_0", "one-q8_0"),
        ("org/One-GGUF", "one-q8_0"),
        ("hf.co/org/One-GGUF:latest", "one-q8_0"),
        ("org/Two-GGUF:Q4_0", "two-q4_0"),
        ("hf:org/File-GGUF:q4_k_m", "file-q4_k_m"),
        ("org/File-GGUF/sub/File-Q4_K_M.gguf", "file-q4_k_m"),
        ("https://huggingface.co/org/File-GGUF/blob/main/sub/File-Q4_K_M.gguf", "file-q4_k_m"),
        ("https://files.example/There.gguf?x=1", "there"),
        ("https://files.example/Signed.gguf?sig=1", "signed"),
        ("org/Dated:F16", "newer"),
        ("org/imported:latest", "org/imported"),
    ],
)
def test_what_was_pulled_is_found_by_its_reference(asked: str, name: str) -> None:
    """In every spelling that `pull` takes; of a repository its only version."""
    found = row_named(asked, ROWS)
    assert found is not None
    assert found.name == name
    assert meant(asked, ROWS) == name


@pytest.mark.parametrize(
    "asked",
    [
        "org/Two-GGUF",
        "org/One-GGUF:Q4_0",
        "qwen3",
        "qwen3:8b",
        "127.0.0.1:5001/team/scripted",
        "team/scripted",
        "https://files.example/There.gguf?x=2",
        "/models/one.gguf",
        "",
        "x" * 3000,
    ],
)
def test_anything_else_means_no_row(asked: str) -> None:
    """Neither one of several versions, nor another one than was named, nor another registry's."""
    assert row_named(asked, ROWS) is None
    assert meant(asked, ROWS) == asked


def test_a_name_comes_before_a_reference() -> None:
    """Whoever calls a model as a repository is called means that model."""
    named = a_model("org/One-GGUF")
    assert row_named("org/One-GGUF", [*ROWS, named]) == named
    assert row_named("org/one-gguf", [*ROWS, named]) == named


HUB = "http://127.0.0.1:9"


def _of(
    name: str, quant: str = "Q8_0", *, artefact: str = "a", at: float = 1.0, repo: str = "acme/Multi-GGUF"
) -> Model:
    """One row of a repository whose files are called like it; `quant` with a stem before it is that file's."""
    stem = quant if "-" in quant else f"Multi-{quant}"
    origin = Origin(f"hf:{repo}:{quant}", artefact, pulled_at=at, address=f"{HUB}/{repo}/resolve/main/{stem}.gguf")
    return a_model(name, origin=origin, imported_at=at)


@pytest.mark.parametrize(
    "asked",
    [
        "acme/Multi-GGUF/Multi-Q8_0.gguf",
        "acme/multi-gguf/multi-q8_0.gguf",
        "hf:acme/Multi-GGUF/Multi-Q8_0.gguf:latest",
        "hf.co/acme/Multi-GGUF:Multi-Q8_0",
        "https://huggingface.co/acme/Multi-GGUF/resolve/main/Multi-Q8_0.gguf",
        f"{HUB}/acme/Multi-GGUF/resolve/main/Multi-Q8_0.gguf",
        f"{HUB}/acme/Multi-GGUF/blob/main/Multi-Q8_0.gguf?download=true",
        f"{HUB}/acme/Multi-GGUF",
        f"{HUB}/acme/Multi-GGUF/",
        "acme/Multi-GGUF/",
        "hf:acme/Multi-GGUF:Q8_0/",
        "acme/Multi-GGUF:q8_0:latest",
        "hf.co/acme/Multi-GGUF:Q8_0:latest",
    ],
)
def test_a_file_an_address_of_one_s_own_hub_and_what_clients_append_are_references(asked: str) -> None:
    """All that `pull` takes for that model."""
    assert meant(asked, [_of("multi")]) == "multi"


@pytest.mark.parametrize(
    "asked",
    [
        "acme/Multi-GGUF/Other-Q8_0.gguf",
        "acme/Multi-GGUF/sub/Multi-Q8_0.gguf",
        "acme/Multi-GGUF:Q4_0",
        "acme/Multi-GGUF:Other-Q8_0",
        "http://127.0.0.1:8/acme/Multi-GGUF",
        "http://127.0.0.1:9/acme/Other-GGUF",
    ],
)
def test_another_file_and_another_hub_s_are_not(asked: str) -> None:
    """A name that looks like it is none of it."""
    assert row_named(asked, [_of("multi")]) is None


def test_a_shard_means_its_set() -> None:
    """Whichever is named."""
    file = "http://127.0.0.1:9/org/Big/resolve/main/q8/Big-00001-of-00003.gguf"
    row = a_model("big", origin=Origin("hf:org/Big:Q8_0", "a", address=file))
    assert meant("org/Big/q8/Big-00002-of-00003.gguf", [row]) == "big"
    assert row_named("org/Big/q8/Big.gguf", [a_model("x")]) is None


def test_a_dynamic_quantisation_answers_without_its_mark() -> None:
    """Where no other does: a plain one comes first."""
    dynamic, plain = _of("dynamic", "UD-Q4_K_XL"), _of("plain", "Q4_K_XL")
    assert meant("acme/Multi-GGUF:Q4_K_XL", [dynamic]) == "dynamic"
    assert meant("acme/Multi-GGUF:Q4_K_XL", [dynamic, plain]) == "plain"


@pytest.mark.parametrize("asked", ["acme/Multi-GGUF", "acme/Multi-GGUF:Q8_0", "acme/Multi-GGUF/Multi-Q8_0.gguf"])
def test_of_several_versions_the_newest_is_meant(asked: str) -> None:
    """Of rows that have it, the one that a pull calls so, whatever a copy is called."""
    rows = [_of("aa-copy"), _of("multi-q8_0", artefact="b", at=2.0), _of("bb-copy", artefact="b", at=2.0), _of("zz")]
    assert meant(asked, rows) == "multi-q8_0"
    assert [row.name for row in rows_of(pull_reference(asked + (":Q8_0" * asked.endswith("F"))), rows)] == [
        "multi-q8_0",
        "bb-copy",
        "aa-copy",
        "zz",
    ]


def _why(asked: str, rows: list[Model], known: list[str] | None = None) -> BlazarError:
    assert row_named(asked, rows) is None
    return not_one(asked, rows, known)


def test_several_quantisations_are_named_in_the_refusal() -> None:
    """Only those that its caller may hear of."""
    rows = [_of("multi-q8_0"), _of("multi-q4_0", "Q4_0", at=2.0)]
    why = _why("acme/Multi-GGUF", rows)
    assert isinstance(why, SeveralModels)
    assert "multi-q4_0, multi-q8_0" in str(why)
    hidden = _why("acme/Multi-GGUF", rows, ["multi-q8_0"])
    assert isinstance(hidden, ModelNotFound)
    assert "multi-q4_0" not in str(hidden)
    assert isinstance(_why("acme/Nothing", rows), ModelNotFound)


def test_two_files_of_one_quantisation_are_two_models() -> None:
    """Where a repository has several models, their stems are told apart."""
    rows = [_of("one", "A-Q8_0"), _of("two", "B-Q8_0")]
    assert isinstance(_why("acme/Multi-GGUF:Q8_0", rows), SeveralModels)
    assert meant("acme/Multi-GGUF:b-q8_0", rows) == "two"


def test_what_shall_be_lost_must_be_one_row() -> None:
    """A copy of the same version is another row; its own name says which."""
    rows = [_of("multi-q8_0"), _of("hf.co/acme/Multi-GGUF:Q8_0")]
    with pytest.raises(SeveralModels, match=r"hf\.co/acme/Multi-GGUF:Q8_0, multi-q8_0"):
        only_one("acme/Multi-GGUF:Q8_0", rows)
    assert only_one("hf.co/acme/Multi-GGUF:Q8_0", rows) == rows[1]
    assert only_one("acme/Multi-GGUF", rows[:1]) == rows[0]
    with pytest.raises(ModelNotFound):
        only_one("acme/Nothing", rows)


def test_a_row_is_called_so_but_for_case_and_latest() -> None:
    """A tag where the catalog has a dash is none: `qwen3:0.6b` may be asked for where a file was imported as `qwen3-0.6b`."""
    rows = [a_model("qwen3-0.6b")]
    for name in ("qwen3-0.6b", "Qwen3-0.6B", "qwen3-0.6b:latest"):
        assert row_called(name, rows) == rows[0]
    assert row_called("qwen3:0.6b", rows) is None
    assert row_named("qwen3:0.6b", rows) == rows[0]


@pytest.mark.parametrize(
    ("asked", "spelled"),
    [
        ("ORG/one-gguf", "hf:org/One-GGUF"),
        ("ORG/one-gguf:q8_0", "hf:org/One-GGUF:Q8_0"),
        ("ORG/two-gguf:q4_0", "hf:org/Two-GGUF:Q4_0"),
        ("ORG/two-gguf:q5_0", "hf:org/Two-GGUF:q5_0"),
        ("org/file-gguf/sub/file-q4_k_m.gguf", "hf:org/File-GGUF/sub/File-Q4_K_M.gguf"),
        ("127.0.0.1:5000/Team/Scripted", "127.0.0.1:5000/team/scripted:latest"),
        ("Qwen3:0.6B", "ollama:library/qwen3:0.6b"),
        ("nobody/Knows", "hf:nobody/Knows"),
        ("https://files.example/THERE.gguf?x=1", "https://files.example/THERE.gguf?x=1"),
    ],
)
def test_a_registry_is_asked_in_the_letters_that_it_knew(asked: str, spelled: str) -> None:
    """What differs in case alone is the same model here; some registries tell names apart by it."""
    assert str(spelled_as_here(pull_reference(asked, ["127.0.0.1:5000"]), ROWS)) == spelled


def test_a_file_s_row_is_not_made_another_file_s() -> None:
    """Where a publisher took one of two files of a quantisation away, what is left is not the other one."""
    ref = pull_reference("acme/Multi-GGUF:Q8_0")
    file, plain = _of("one", "A-Q8_0"), _of("plain", "Q8_0")
    there = f"{HUB}/acme/Multi-GGUF/resolve/main"
    assert rows_of(ref, [file], f"{there}/A-Q8_0.gguf") == (file,)
    assert rows_of(ref, [file], f"{there}/B-Q8_0.gguf") == ()
    assert rows_of(ref, [plain], f"{there}/renamed-Q8_0.gguf") == (plain,)
    assert rows_of(ref, [file]) == (file,)


def test_a_file_of_a_folder_is_not_the_model() -> None:
    """What is made of many files goes by its repository."""
    origin = Origin("hf:org/Folder", "a", address="https://huggingface.co/org/Folder/resolve/main/model.safetensors")
    row = a_model("folder", origin=origin)
    assert row_named("org/Folder/model.safetensors", [row]) is None
    assert meant("https://huggingface.co/org/folder", [row]) == "folder"
