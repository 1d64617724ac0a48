"""Words that name a model of a registry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain.errors import Malformed
from blazar.domain.names import check_name, resolve
from blazar.domain.references import (
    LONGEST,
    RemoteRef,
    at_home,
    candidates,
    catalog_name,
    client_name,
    implied_reference,
    kept_address,
    names_registry,
    parse_reference,
    pull_reference,
)

QWEN = RemoteRef("hf", "ggml-org/Qwen3-8B-GGUF")
LIBRARY = RemoteRef("ollama", "library/qwen3", "latest")


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("hf:ggml-org/Qwen3-8B-GGUF", QWEN),
        ("HF:ggml-org/Qwen3-8B-GGUF", QWEN),
        ("hf.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", QWEN._replace(tag="Q4_K_M")),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF", QWEN),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/tree/main", QWEN),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/", QWEN),
        ("https://www.huggingface.co/ggml-org/Qwen3-8B-GGUF", QWEN),
        ("www.huggingface.co/ggml-org/Qwen3-8B-GGUF/tree/main", QWEN),
        ("https://www.hf.co/ggml-org/Qwen3-8B-GGUF", QWEN),
        ("https://www.ollama.com/library/qwen3", LIBRARY),
        ("https://www.ollama.com/library/qwen3/tags", LIBRARY),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/tree/main/Q8_0", QWEN),
        (
            "https://huggingface.co/ggml-org/Qwen3-8B-GGUF/blob/main/Qwen3-8B-Q4_K_M.gguf",
            QWEN._replace(tag="Qwen3-8B-Q4_K_M", file="Qwen3-8B-Q4_K_M.gguf"),
        ),
        (
            "https://huggingface.co/ggml-org/Qwen3-8B-GGUF/resolve/main/F16/Qwen3%2D8B-F16-00001-of-00002.gguf?download=true",
            QWEN._replace(tag="Qwen3-8B-F16", file="F16/Qwen3-8B-F16-00001-of-00002.gguf"),
        ),
        (
            "huggingface.co/ggml-org/Qwen3-8B-GGUF?show_file_info=Qwen3-8B-Q8_0.gguf",
            QWEN._replace(tag="Qwen3-8B-Q8_0", file="Qwen3-8B-Q8_0.gguf"),
        ),
        ("ollama:qwen3", LIBRARY),
        ("ollama:qwen3:8b-q4_K_M", LIBRARY._replace(tag="8b-q4_K_M")),
        ("ollama:me/mine:1", RemoteRef("ollama", "me/mine", "1")),
        ("https://ollama.com/library/qwen3", LIBRARY),
        ("registry.ollama.ai/library/qwen3:8b", LIBRARY._replace(tag="8b")),
        ("smollm2", None),
        ("./hf:a/b", None),
        ("https://huggingface.co@elsewhere.example/a/b", None),
        ("ggml-org/Qwen3-8B-GGUF", None),
    ],
)
def test_a_reference_says_its_registry(text: str, ref: RemoteRef | None) -> None:
    """Prefixes and pasted addresses; anything else is not asked for elsewhere."""
    assert parse_reference(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "hf:",
        "hf:alone",
        "hf:a/b/c",
        "hf:a/..",
        "hf:../b",
        "hf:a/b:",
        "hf:a/b?x=1",
        "hf:a b/c",
        "hf:a/b/blob/main/x.gguf",
        "https://huggingface.co/a/../blob/main/x.gguf",
        "https://huggingface.co/a/b/blob/main/config.json",
        "https://huggingface.co/a/b/blob/other/x.gguf",
        "https://huggingface.co/a/b/discussions/1",
        "https://huggingface.co/a/b/blob/main/x%1b[2J.gguf",
        "https://huggingface.co/a/b/blob/main/" + "x" * 300 + ".gguf",
        "ollama:",
        "ollama:a/b/c",
        "ollama:a:",
        "ollama:..",
        "hf:" + "a" * 5000 + "/b",
    ],
)
def test_what_follows_a_prefix_must_be_a_name_there(text: str) -> None:
    """Nothing that could lead elsewhere is put into an address."""
    with pytest.raises(Malformed) as refused:
        parse_reference(text)
    assert refused.value.field == "model"
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("ggml-org/Qwen3-8B-GGUF:Q4_K_M", QWEN._replace(tag="Q4_K_M")),
        ("ggml-org/Qwen3-8B-GGUF", QWEN),
        ("qwen3:8b", LIBRARY._replace(tag="8b")),
        ("library/qwen3", LIBRARY),
        ("ggml-org/Qwen3-8B-GGUF:latest", QWEN),
        ("qwen3", None),
        ("models/x.gguf", None),
        ("a/../b", None),
        ("a/b/c", None),
        ("a/b/c:d", None),
    ],
)
def test_a_name_that_the_catalog_lacks_may_imply_one(name: str, ref: RemoteRef | None) -> None:
    """As `pull` reads it; a bare word never leaves the machine."""
    assert implied_reference(name) == ref


def test_a_reference_is_said_as_it_is_typed() -> None:
    """With its tag where there is one."""
    assert str(QWEN) == "hf:ggml-org/Qwen3-8B-GGUF"
    assert str(LIBRARY) == "ollama:library/qwen3:latest"


Q4 = QWEN._replace(tag="Q4_K_M")
SHARDED = QWEN._replace(tag="Qwen3-8B-F16", file="F16/Qwen3-8B-F16-00001-of-00002.gguf")
SMALL = RemoteRef("ollama", "library/qwen3-0.6b", "latest")
HOSTS = ("Registry.Example", "127.0.0.1:5000", "[::1]:5000", "nas")
MINE = RemoteRef("ollama", "library/m", "1b", host="127.0.0.1:5000")


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        # Ollama's library, by its bare names.
        ("qwen3", LIBRARY),
        ("  qwen3\n", LIBRARY),
        ("qwen3-0.6b", SMALL),
        ("qwen3:8b", LIBRARY._replace(tag="8b")),
        ("qwen3:LATEST", LIBRARY),
        ("library/qwen3", LIBRARY),
        ("Library/qwen3:8b", LIBRARY._replace(tag="8b")),
        ("ollama://qwen3", LIBRARY),
        ("ollama:a/b", RemoteRef("ollama", "a/b", "latest")),
        ("ollama:a/b:1", RemoteRef("ollama", "a/b", "1")),
        ("https://ollama.com/a/b:1", RemoteRef("ollama", "a/b", "1")),
        ("http://ollama.com/library/qwen3/tags", LIBRARY),
        ("ollama.com/qwen3", LIBRARY),
        # Hugging Face: a bare a/b is there.
        ("a/b", RemoteRef("hf", "a/b")),
        ("a/b:latest", RemoteRef("hf", "a/b")),
        ("a/b:Some-Model-32B-" + "x" * 100 + "-Q8_0", RemoteRef("hf", "a/b", "Some-Model-32B-" + "x" * 100 + "-Q8_0")),
        ("ggml-org/Qwen3-8B-GGUF:q4_k_m", QWEN._replace(tag="q4_k_m")),
        ("hf:ggml-org/Qwen3-8B-GGUF:Q4_K_M", Q4),
        ("HF.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", Q4),
        ("http://hf.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", Q4),
        ("hf://ggml-org/Qwen3-8B-GGUF:Q4_K_M", Q4),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", Q4),
        ("ggml-org/Qwen3-8B-GGUF/F16/Qwen3-8B-F16-00001-of-00002.gguf", SHARDED),
        ("hf:ggml-org/Qwen3-8B-GGUF/F16/Qwen3-8B-F16-00001-of-00002.gguf", SHARDED),
        ("hf://ggml-org/Qwen3-8B-GGUF/F16/Qwen3-8B-F16-00001-of-00002.gguf", SHARDED),
        ("https://huggingface.co/ggml-org/Qwen3-8B-GGUF/F16/Qwen3-8B-F16-00001-of-00002.gguf", SHARDED),
        ("a/b/x.GGUF", RemoteRef("hf", "a/b", "x", "x.GGUF")),
        ("a/b/ae.safetensors", RemoteRef("hf", "a/b", "", "ae.safetensors")),
        ("a.b/c", RemoteRef("hf", "a.b/c")),
        ("a.b/c/d.gguf", RemoteRef("hf", "a.b/c", "d", "d.gguf")),
        # Registries that are configured.
        ("127.0.0.1:5000/library/m:1b", MINE),
        ("127.0.0.1:5000/m:1b", MINE),
        ("http://127.0.0.1:5000/library/m:1b", MINE),
        ("ollama://127.0.0.1:5000/m:1b", MINE),
        ("[::1]:5000/m:1b", MINE._replace(host="[::1]:5000")),
        ("REGISTRY.example/a/b", RemoteRef("ollama", "a/b", "latest", host="registry.example")),
        ("https://registry.example/a/b/", RemoteRef("ollama", "a/b", "latest", host="registry.example")),
        ("registry.example/b", RemoteRef("ollama", "library/b", "latest", host="registry.example")),
        ("nas/b", RemoteRef("ollama", "library/b", "latest", host="nas")),
        # Addresses of files.
        (
            "https://Files.example/x/My%20Model.gguf?download=true#top",
            RemoteRef("url", "My Model", file="https://files.example/x/My%20Model.gguf?download=true"),
        ),
        ("HTTP://127.0.0.1:8080/x.gguf", RemoteRef("url", "x", file="http://127.0.0.1:8080/x.gguf")),
        ("http://[::1]:8080/x.gguf", RemoteRef("url", "x", file="http://[::1]:8080/x.gguf")),
        ("http://localhost/x.gguf", RemoteRef("url", "x", file="http://localhost/x.gguf")),
    ],
)
def test_every_spelling_that_can_be_pulled(text: str, ref: RemoteRef) -> None:
    """One parser for what people paste, type and are used to; what it means is said so that it means it again."""
    assert pull_reference(text, HOSTS) == ref
    assert pull_reference(str(ref), HOSTS) == ref
    check_name(catalog_name(ref))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no model of a registry"),
        ("a b", "names no model"),
        ("a/b/c", "names no model"),
        ("a/../x.gguf", "names no model"),
        ("a/b/../x.gguf", "names no model"),
        ("a/b//x.gguf", "names no model"),
        ("a/b/.gguf", "names no model"),
        ("a/b/c\x00.gguf", "names no model"),
        ("a" * (LONGEST + 1), "names no model"),
        ("qwen3:", "names no model"),
        (":8b", "names no model"),
        ("hf:a/b/resolve/main/x.gguf", "names no model"),
        ("https://user:secret@files.example/x.gguf", "names no model"),
        ("https://files.example:99999/x.gguf", "names no model"),
        ("https://files.example/..%2fx.gguf", "names no model"),
        ("https:///x.gguf", "names no model"),
        ("ftp://files.example/x.gguf", "names no model"),
        ("https://files.example/x.zip", "no address of a GGUF file"),
        ("https://files.example/", "no address of a GGUF file"),
        ("http://files.example/x.gguf", "over https alone"),
        ("http://registry.example/a/b", "over https alone"),
        ("http://127.0.0.1.evil.example/x.gguf", "over https alone"),
        ("elsewhere.example/a/b", "add it to model_registries"),
        ("https://elsewhere.example/a/b:1", "add it to model_registries"),
        ("localhost:5000/b", "add it to model_registries"),
        ("localhost/a/b", "add it to model_registries"),
        ("127.0.0.1:5001/m", "add it to model_registries"),
        ("ollama://elsewhere.example/a/b", "add it to model_registries"),
        ("x.gguf", "blazar import x.gguf"),
        ("./x.gguf", "blazar import"),
        ("../x", "blazar import"),
        ("/x", "blazar import"),
        ("~/x.gguf", "blazar import"),
        ("models/x.gguf", "blazar import"),
        ("C:\\x.gguf", "blazar import"),
        ("c:/x.gguf", "blazar import"),
        ("models\\x", "blazar import"),
        ("file:///x.gguf", "blazar import"),
        (".", "blazar import"),
    ],
)
def test_what_cannot_be_pulled_is_refused_in_a_sentence(text: str, says: str) -> None:
    """It says what to write, which key to set, or which verb takes files; a registry that nobody configured is never asked."""
    with pytest.raises(Malformed, match=says) as refused:
        pull_reference(text, HOSTS)
    assert refused.value.field == "model"
    assert len(str(refused.value)) < 700


def test_an_unknown_host_is_nobody_without_configuration() -> None:
    """The same words, once with and once without the key."""
    with pytest.raises(Malformed, match=r"127\.0\.0\.1:5000 is no registry"):
        pull_reference(str(MINE))
    assert parse_reference("127.0.0.1:5000/m") is None
    with pytest.raises(
        Malformed, match="names no model"
    ):  # who asks the usual ones only is not sent to the configuration
        parse_reference("ollama://127.0.0.1:5000/m")


words = st.text(max_size=80) | st.from_regex(
    r"[a-z]{0,5}:?/{0,2}[\w.\[\]:%-]{0,12}(/[\w.%:?#=-]{0,12}){0,5}(:[\w.-]{0,9})?(\.gguf)?"
)


@given(
    words, st.sampled_from(["", "hf:", "hf://", "ollama:", "https://huggingface.co/", "https://", "http://127.0.0.1/"])
)
def test_no_word_does_worse_than_to_be_refused(text: str, prefix: str) -> None:
    """Whatever is typed: a reference that means itself again and has a name for the catalog, or a sentence."""
    for ask in (pull_reference, parse_reference):
        try:
            ref = ask(prefix + text, HOSTS)
        except Malformed:
            continue
        if ref is not None:
            assert pull_reference(str(ref), HOSTS) == ref
            assert ".." not in ref.repo.split("/")
            check_name(catalog_name(ref))
    assert implied_reference(prefix + text) is None or "/" in text + prefix or ":" in text + prefix
    names_registry(prefix + text)
    client_name(prefix + text)


@pytest.mark.parametrize(
    ("text", "tried"),
    [
        ("qwen3-0.6b", ["qwen3:0.6b", "qwen3-0.6b:latest"]),
        ("qwen3-0.6b:latest", ["qwen3:0.6b", "qwen3-0.6b:latest"]),
        ("smollm2-135m-instruct-q8_0", ["smollm2:135m-instruct-q8_0", "smollm2-135m-instruct-q8_0:latest"]),
        ("qwen2.5-coder-7B", ["qwen2.5-coder:7B", "qwen2.5-coder-7B:latest"]),
        ("mixtral-8x7b", ["mixtral:8x7b", "mixtral-8x7b:latest"]),
        ("gemma3n-e2b", ["gemma3n:e2b", "gemma3n-e2b:latest"]),
        ("qwen3-30b-a3b", ["qwen3:30b-a3b", "qwen3-30b-a3b:latest"]),
        ("gpt-oss-20b", ["gpt-oss:20b", "gpt-oss-20b:latest"]),
        ("qwen3-0.6b:q8_0", ["qwen3-0.6b:q8_0"]),
        ("gpt-oss", ["gpt-oss:latest"]),
        ("deepseek-r1", ["deepseek-r1:latest"]),
        ("bge-m3", ["bge-m3:latest"]),
        ("phi-4", ["phi-4:latest"]),
    ],
)
def test_odd_a_dash_before_a_size_is_a_colon_first(text: str, tried: list[str]) -> None:
    """`qwen3-0.6b` is `qwen3:0.6b`, then itself."""
    found = candidates(pull_reference(text))
    assert [f"{ref.repo.removeprefix('library/')}:{ref.tag}" for ref in found] == tried


def test_only_short_names_are_tried_otherwise() -> None:
    """A namespace or another registry says what it means."""
    for text in ("ollama:me/x-7b", "me/x-7b", "https://files.example/x-7b.gguf"):
        ref = pull_reference(text)
        assert candidates(ref) == (ref,)


@pytest.mark.parametrize(
    ("text", "quant", "name"),
    [
        ("qwen3:0.6b", "", "qwen3:0.6b"),
        ("qwen3", "", "qwen3"),
        ("ollama:me/mine:8b-q4_K_M", "", "me/mine:8b-q4_K_M"),
        ("127.0.0.1:5000/m:1b", "", "m:1b"),
        ("qwen3:_x", "", "qwen3:x"),
        ("ggml-org/Qwen3-8B-GGUF", "Q4_K_M", "qwen3-8b-q4_k_m"),
        ("ggml-org/Qwen3-8B-GGUF:q4_k_m", "", "qwen3-8b-q4_k_m"),
        ("unsloth/Qwen3-8B-GGUF", "UD-Q4_K_XL", "qwen3-8b-ud-q4_k_xl"),
        ("me/tiny-Q8_0-GGUF", "Q8_0", "tiny-q8_0"),
        ("mlx-community/Qwen3-4B-4bit", "", "qwen3-4b-4bit"),
        ("a/b-GGUF/F16/Qwen3-8B-F16-00001-of-00002.gguf", "", "qwen3-8b-f16"),
        ("a/b-GGUF", "Qwen3-8B-it-Q8_0", "qwen3-8b-it-q8_0"),
        ("a/b/flux/ae.safetensors", "", "ae"),
        ("https://files.example/My%20Model-Q4_0.gguf", "", "my-model-q4_0"),
        ("https://files.example/" + "x" * 240 + ".gguf", "", "x" * 200),
    ],
)
def test_what_was_pulled_has_a_name(text: str, quant: str, name: str) -> None:
    """That of its file as `import` would call it; of ollama's models the one that its clients ask for."""
    assert catalog_name(pull_reference(text, HOSTS), quant) == name


def test_ollamas_clients_find_what_they_pulled() -> None:
    """With and without the tag that they append."""
    for said in ("qwen3", "qwen3:latest", "Qwen3:0.6b", "qwen3:8b-q4_K_M"):
        name = catalog_name(pull_reference(said))
        assert resolve(said, [name]) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("qwen3:latest", "qwen3"),
        ("qwen3:0.6b", "qwen3:0.6b"),
        ("hf.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M", "hf.co/ggml-org/Qwen3-8B-GGUF:Q4_K_M"),
        ("ggml-org/Qwen3-8B-GGUF", "ggml-org/Qwen3-8B-GGUF"),
        ("hf:ggml-org/Qwen3-8B-GGUF", ""),
        ("https://files.example/x.gguf", ""),
        ("127.0.0.1:5000/m", ""),
        ("./x", ""),
        ("ollama:qwen3", ""),
    ],
)
def test_a_client_of_ollamas_calls_it_as_it_pulled_it(text: str, name: str) -> None:
    """Where that may be a model's name at all."""
    assert client_name(text) == name


@pytest.mark.parametrize("hub", ["https://hub.example", "https://hub.example/", "http://127.0.0.1:99/mirror"])
def test_an_address_of_one_s_own_hub_is_hugging_face_s(hub: str) -> None:
    """As its pages show it; what is elsewhere stays what it is."""
    base = hub.rstrip("/")
    file = at_home(f"{base}/me/m-GGUF/blob/main/m-Q4_0.gguf", hub)
    assert pull_reference(file) == RemoteRef("hf", "me/m-GGUF", "m-Q4_0", "m-Q4_0.gguf")
    assert pull_reference(at_home(f"{base}/me/m-GGUF", hub)) == RemoteRef("hf", "me/m-GGUF")
    for other in ("https://hub.example.org/a/b.gguf", "me/m", "qwen3"):
        assert at_home(other, hub) == other
    assert at_home("me/m", "") == "me/m"


def test_what_may_be_a_secret_of_an_address_is_not_written_down() -> None:
    """Its hash is, by which the same address is known again, also one that was written down before there were hashes."""
    signed = "https://files.example/x.gguf?sig=s3cret"
    ref = pull_reference(signed)
    assert "s3cret" not in ref.kept
    assert ref.kept.startswith("https://files.example/x.gguf?")
    assert kept_address(ref.kept) == ref.kept
    assert ref.is_spelled(ref.kept)
    assert ref.is_spelled(signed)
    for other in (f"{signed}2", "https://files.example/x.gguf", "https://files.example/X.gguf?sig=s3cret"):
        assert not ref.is_spelled(other)
        assert not ref.is_spelled(kept_address(other))
    for plain in ("https://files.example/x.gguf", "qwen3:0.6b", "hf:a/b-GGUF:Q4_0"):
        assert pull_reference(plain).kept == str(pull_reference(plain))


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("acme/Q1-GGUF/", "hf:acme/Q1-GGUF"),
        ("acme/Q1-GGUF:Q8_0/", "hf:acme/Q1-GGUF:Q8_0"),
        ("library/qwen3/", "ollama:library/qwen3:latest"),
        ("acme/X:q8_0:latest", "hf:acme/X:q8_0"),
        ("hf.co/acme/X:q8_0:latest", "hf:acme/X:q8_0"),
        ("acme/X/sub/X.gguf:latest", "hf:acme/X/sub/X.gguf"),
        ("qwen3:0.6b:latest", "ollama:library/qwen3:0.6b"),
        ("ollama:qwen3:latest", "ollama:library/qwen3:latest"),
        ("hf:a/b:latest", "hf:a/b"),
    ],
)
def test_a_slash_at_the_end_and_a_tag_behind_a_tag_say_nothing(text: str, ref: str) -> None:
    """People copy the one from addresses, clients append the other."""
    assert str(pull_reference(text)) == ref


@pytest.mark.parametrize("text", ["/", "//", "./", "~/", "../models/", "a/b//:latest:latest:latest", ":latest"])
def test_what_is_only_that_is_still_no_reference(text: str) -> None:
    """A path stays a path."""
    with pytest.raises(Malformed):
        pull_reference(text)
