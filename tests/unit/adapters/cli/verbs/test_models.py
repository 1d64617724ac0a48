"""The catalog verbs, with and without a daemon."""

from pathlib import Path
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.kinds import Weights
from tests.support.command_line import Cli, FakeRoot, StubDaemon, model


def test_an_empty_catalog_says_how_to_fill_it(cli: Cli) -> None:
    """The hint is on stderr: stdout holds results only."""
    said = cli("list")
    assert (said.code, said.out) == (0, "")
    assert "blazar import PATH" in said.err


def test_list_without_a_daemon_reads_the_catalog(cli: Cli, root: FakeRoot) -> None:
    """Name, architecture, parameters, quant, format, size in GiB, verdict, lane, age."""
    root.models.rows = {"tiny": model(), "big": model("big")}
    root.models.judged = {"tiny": ("too large", "llamacpp")}
    lines = cli("list").out.splitlines()
    assert lines[0].split() == ["NAME", "ARCH", "PARAMETERS", "QUANT", "FORMAT", "SIZE", "FIT", "LANE", "ADDED"]
    assert lines[2].split()[:10] == [
        "tiny",
        "llama",
        "135.0M",
        "Q4_0",
        "gguf",
        "1.50",
        "GiB",
        "too",
        "large",
        "llamacpp",
    ]
    assert lines[1].split()[7:9] == ["-", "-"]
    root.models.judged["big"] = ("fits", "")
    assert cli("list").out.splitlines()[1].split()[7:10] == ["fits", "none", "here"], "it fits, and nothing serves it"
    assert cli("ls", "--quiet").out == "big\ntiny\n"


def test_list_is_the_same_with_and_without_a_daemon(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """Rows in the words of /api/tags either way."""
    root.models.rows = {"tiny": model()}
    alone = cli("list", "--json").json()
    assert alone["models"][0]["details"]["quantization_level"] == "Q4_0"
    assert alone["models"][0]["lane"] == ""
    stub.answers["GET", "/api/tags?fit=true"] = (200, alone)
    root.models.rows = {}
    root.use(stub)
    assert cli("list", "--json").json() == alone
    assert "1.50 GiB" in cli("list").out


def test_import_takes_an_absolute_path(
    cli: Cli, root: FakeRoot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The daemon has another working directory."""
    monkeypatch.chdir(tmp_path)
    said = cli("import", "x.gguf", "--name", "mine")
    assert said.code == 0
    assert "blazar run mine" in said.out
    assert root.models.rows["mine"].files == (str(tmp_path / "x.gguf"),)
    assert cli("import", "x.gguf", "--quiet").out == ""
    assert cli("import", "x.gguf", "--json").json()["name"] == "x"


def test_parts_of_a_set_are_named_by_role(
    cli: Cli, root: FakeRoot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each with an absolute path; what it is good for is said."""
    monkeypatch.chdir(tmp_path)
    said = cli("import", "x.gguf", "--with", "vae=v.gguf", "--with", "llm=~/q=1.gguf")
    assert (said.code, "/v1/images/generations" in said.out, "blazar run" in said.out) == (0, True, False)
    assert root.models.rows["x"].components == (
        ("vae", str(tmp_path / "v.gguf")),
        ("llm", str(Path("~/q=1.gguf").expanduser())),
    )


@pytest.mark.parametrize(
    ("facts", "use"),
    [
        ({"weights": Weights.DIFFUSION}, teaching.use_drawing()),
        ({"pooling": 1}, teaching.use_embedding()),
        ({"pooling": 4}, teaching.use_ranking()),
        ({"pooling": 0}, "blazar run x"),
    ],
)
def test_what_an_import_is_good_for(root: FakeRoot, cli: Cli, facts: dict[str, Any], use: str) -> None:
    """A verb that would refuse it is not advised, when it is new and when it is there already."""
    root.models.facts = facts
    for _ in range(2):
        assert cli("import", "x.gguf").out.rstrip().endswith(f": {use}")


def test_an_import_that_nothing_serves_says_so(cli: Cli, root: FakeRoot) -> None:
    """And how to get what is missing, instead of a verb that would refuse it."""
    root.models.unserved_because = "no mlx engine"
    for _ in range(2):
        assert cli("import", "x.gguf").out.rstrip().endswith(f": {teaching.use_unserved('no mlx engine')}")


def test_an_import_says_which_projector_it_took(cli: Cli, root: FakeRoot) -> None:
    """It was found by its name and its width, and nobody may have meant it."""
    root.models.projectors = {"x": "/m/x@mmproj.gguf"}
    assert teaching.projector_taken("x", "/m/x@mmproj.gguf") in cli("import", "x.gguf").out.splitlines()
    assert cli("import", "x.gguf", "--json").json()["projector"] == "/m/x@mmproj.gguf"
    assert "projector" not in cli("import", "y.gguf", "--json").json()


@pytest.mark.parametrize("word", ["vae", "vae=", "=v.gguf", " = ", ""])
def test_a_part_without_role_or_path_is_wrong_use(cli: Cli, root: FakeRoot, word: str) -> None:
    """Nothing is imported."""
    said = cli("import", "x.gguf", "--with", word)
    assert said.code == 2
    assert "write --with ROLE=PATH" in said.err
    assert root.models.rows == {}


def test_an_import_of_what_is_there_says_so(cli: Cli) -> None:
    """Nothing was linked, so nothing of it is claimed."""
    assert cli("import", "x.gguf", "--json").json()["already"] is False
    said = cli("import", "x.gguf")
    assert (said.code, said.out.startswith("'x' is this very file already")) == (0, True)
    assert cli("import", "x.gguf", "--json").json()["already"] is True


def test_an_empty_path_is_wrong_use(cli: Cli, root: FakeRoot) -> None:
    """It would mean the current folder."""
    assert cli("import", "").code == cli("engine", "install", " ", "--sha256", "ab").code == 2
    assert (root.models.rows, root.engines.installed) == ({}, [])


def test_show_tells_what_lies_over_a_model(cli: Cli, root: FakeRoot) -> None:
    """Parameters, system prompt and adapters as they are; a long template begins, and -v and --json have all of it."""
    root.models.rows = {"tiny": model()}
    template = "\n".join(f"line {number}" for number in range(9))
    root.models.overlay = {"parameters": {"num_ctx": 512}, "system": "S", "template": template, "adapters": ["/a.gguf"]}
    said = cli("show", "tiny").out
    for words in (
        "overlay parameters num_ctx  512",
        "overlay system",
        "S\n",
        "/a.gguf",
        "line 5",
        teaching.show_cut(9),
    ):
        assert words in said
    assert "line 6" not in said
    assert "line 8" in cli("show", "tiny", "-v").out
    assert cli("show", "tiny", "--json").json()["overlay"] == root.models.overlay


def test_show_outlines_what_is_known(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """From the catalog; from the daemon that was named with --host."""
    root.models.rows = {"tiny": model()}
    assert cli("show", "tiny").out.split() == ["name", "tiny", "size", "1.50", "GiB"]
    assert cli("show", "tiny", "-v", "--json").json()["metadata"] == {"a.b": 1}
    assert cli("show", "nope").code == 1
    stub.answers["POST", "/api/show"] = (200, {"details": {"family": "llama"}})
    root.use(stub, explicit=True)
    assert cli("show", "tiny").out == "details family  llama\n"
    assert stub.bodies("/api/show") == [{"model": "tiny", "verbose": False}]


def test_rm_goes_on_after_a_miss(cli: Cli, root: FakeRoot) -> None:
    """What can be removed is; the code tells that something could not."""
    root.models.rows = {"a": model("a"), "c": model("c")}
    said = cli("rm", "a", "b", "c")
    assert said.code == 1
    assert said.out == "removed 'a'\nremoved 'c'\n"
    assert said.err.startswith("error: model 'b' not found")
    assert root.models.rows == {}


def test_rm_says_what_a_person_set_for_the_model(cli: Cli, root: FakeRoot) -> None:
    """It stays. A configuration that cannot be read, and another daemon's, say nothing."""
    root.models.rows = {name: model(name) for name in "abc"}
    root.settings.more = {"model_overrides": {"a": {"ctx": 1024}}}
    assert cli("rm", "a", "b").out == f"removed 'a'\nremoved 'b'\n{teaching.override_left('a')}\n"
    root.settings.problems = ["broken"]
    assert cli("rm", "c").out == "removed 'c'\n"


def test_odd_the_default_address_is_not_tried(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """A daemon that answers there without a note in our folder has another catalog: it is not even asked."""
    root.models.rows = {"ours": model("ours")}
    root.url = stub.url
    assert cli("list", "--quiet").out == "ours\n"
    assert cli("rm", "ours").code == 0
    assert (root.models.rows, stub.asked) == ({}, [])


def test_changes_go_through_a_daemon_that_runs(cli: Cli, root: FakeRoot, stub: StubDaemon) -> None:
    """It evicts before it deletes (D29); --force cuts requests in flight (D4)."""
    root.use(stub)
    stub.answers["DELETE", "/api/delete"] = (200, b"")
    stub.answers["POST", "/api/copy"] = (200, b"")
    assert cli("rm", "a").code == cli("rm", "--force", "b").code == cli("cp", "a", "b").code == 0
    assert stub.bodies("/api/delete") == [{"model": "a"}, {"model": "b", "force": True}]
    assert stub.bodies("/api/copy") == [{"source": "a", "destination": "b", "overwrite": False}]


def test_a_named_daemon_that_is_not_there_is_not_replaced_by_this_folder(cli: Cli, root: FakeRoot) -> None:
    """--host elsewhere must never remove a local model."""
    root.models.rows = {"a": model("a")}
    root.explicit = True
    assert cli("rm", "a").code == 4
    assert "a" in root.models.rows


def test_cp_without_a_daemon(cli: Cli, root: FakeRoot) -> None:
    """A second row for the same file."""
    root.models.rows = {"a": model("a")}
    assert cli("cp", "a", "b", "--json").json() == {"source": "a", "destination": "b"}
    assert root.models.rows["b"].files == root.models.rows["a"].files
