"""Model names: grammar, spellings, and file names that can be read back."""

import random
import string
from urllib.parse import unquote

import pytest

from blazar.domain.errors import BadName
from blazar.domain.names import (
    InstanceRef,
    check_name,
    file_stem,
    name_from_file,
    near,
    parse_ref,
    resolve,
    twin,
    untagged,
)


@pytest.mark.parametrize("name", ["a", "qwen3-0.6b", "Org/Model_2:Q4_K_M", "hf.co/a/b/c", "7b", "x" * 200])
def test_names_that_are_names(name: str) -> None:
    """Given back as they are."""
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "a#1", "a@vision", "a b", "-a", ".a", "a:", ":a", "a:b:c", "/a", "a/", "a//b", "a/b/c/d/e", "../a"),
        *("ä", "a\n", "x" * 201, "a:tag/b", "a\0", "a%2Fb", "a\\b"),
    ],
)
def test_names_that_are_none(name: str) -> None:
    """`#` and `@` are grammar; paths, blanks and control characters are accidents or attacks."""
    with pytest.raises(BadName) as caught:
        check_name(name)
    assert caught.value.field == "model"


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("SmolLM2-135M-Instruct.Q4_1", "smollm2-135m-instruct.q4_1"),
        ("Big-00001-of-00003", "big"),
        ("my model (final)", "my-model-final"),
        ("..hidden", "hidden"),
        ("Größe", "gr-e"),
        ("模型", "model"),
        ("", "model"),
    ],
)
def test_a_file_suggests_a_name(stem: str, name: str) -> None:
    """Lower case, without shard marker and odd characters."""
    assert name_from_file(stem) == name


def test_whatever_a_file_is_called_the_suggestion_is_a_name() -> None:
    """A thousand random stems."""
    rng = random.Random(7)
    letters = string.printable + "äß\u2028\U0001f600-._#@:/"
    for _ in range(1_000):
        check_name(name_from_file("".join(rng.choices(letters, k=rng.randrange(60)))))


@pytest.mark.parametrize(
    ("said", "name"), [("m:latest", "m"), ("m", "m"), ("m:v1", "m:v1"), ("a/b:latest", "a/b"), ("latest", "latest")]
)
def test_no_tag_is_the_latest(said: str, name: str) -> None:
    """Of ollama's two spellings the short one is the row's."""
    assert untagged(said) == name


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("m", InstanceRef("m")),
        ("m#2", InstanceRef("m", 2)),
        ("m@vision", InstanceRef("m", None, vision=True)),
        ("m@vision#2", InstanceRef("m", 2, vision=True)),
        ("m#2@vision", InstanceRef("m", 2, vision=True)),
        ("m#", InstanceRef("m#")),
        ("m#x", InstanceRef("m#x")),
    ],
)
def test_a_reference_names_a_child_of_a_model(text: str, ref: InstanceRef) -> None:
    """Replica and vision in either order; what is neither stays part of the text."""
    assert parse_ref(text) == ref


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5_000])
def test_odd_not_every_digit_makes_a_number(number: str) -> None:
    """It stays part of the name, of which no row exists."""
    assert parse_ref(f"m#{number}") == InstanceRef(f"m#{number}")


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("qwen3-0.6b", "qwen3-0.6b"),
        ("qwen3:0.6b", "qwen3-0.6b"),
        ("smol:latest", "smol"),
        ("SMOL", "smol"),
        ("QWEN3:0.6B", "qwen3-0.6b"),
        ("exact:tag", "exact:tag"),
        ("unknown:latest", "unknown:latest"),
    ],
)
def test_spellings_are_resolved_onto_rows_that_exist(asked: str, row: str) -> None:
    """A miss is answered verbatim: no mapping is ever invented."""
    assert resolve(asked, {"qwen3-0.6b", "smol", "exact:tag", "exact-tag"}) == row


def test_near_names_are_few_and_near() -> None:
    """At most three, none where nothing is alike."""
    known = [f"qwen3-{size}" for size in ("0.6b", "1.7b", "4b", "8b")]
    assert 1 <= len(near("qwen3-9b", known)) <= 3
    assert near("zzz", known) == ()


def test_a_file_stem_is_one_component_and_reversible() -> None:
    """Two models never share a file, and a file says whose it is."""
    names = ["a", "a/b", "a:b", "a-b", "Org/M.x:q4", "daemon", "Daemon"]
    stems = [file_stem(name) for name in names]
    assert len(set(stems)) == len(names)
    assert [unquote(stem) for stem in stems] == names
    assert not any(set(stem) & set("/:\\") for stem in stems)
    assert file_stem("daemon") != "daemon"  # run/daemon.* are the daemon's own
    assert len(file_stem("a/b/c/" + "d" * 194)) < 230


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("ZED", "zed"),
        ("Zed:LATEST", "zed"),
        ("zed:latest", "zed"),
        ("zed", ""),
        ("zed:1b", ""),
        ("A/b", "a/B"),
        ("x", ""),
    ],
)
def test_names_in_other_letters_are_one(name: str, found: str) -> None:
    """File systems may ignore case, and clients append `:latest`; a name that is there is itself."""
    assert twin(name, {"zed", "a/B"}) == found
