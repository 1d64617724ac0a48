"""The setup document's keys against the declaration: none missing, none of our own but those that are decided, and equal defaults."""

from typing import Any

import pytest

from blazar.application.config.knob import Keys, table_in
from blazar.application.config.model import Config, Override
from scripts.spec_keys import UNSAID, SpecKey, main, spec_keys
from tests.support.shared import shared

OURS = {
    # Key: what decides it (decisions.md, or another of the documents).
    "allowed_hosts": "D8",
    "image_fetch": "D14",
    "threads": "D39",
    "model_registries": "D26, and the issue of getting models: unknown registries only when configured",
    "model_overrides.embeddings": "D38",
    "model_overrides.ollama_compat": "D18, D26",
    "model_overrides.mlx": "D26, and the setup document's row of [mlx]",
    "model_overrides.raw_lane_max_tokens": "D18, and its row: overlay wins over global",
    "whisper_idle_secs": "architecture document, whisper idle reaper",
}
"""Keys that the setup document does not list."""

CHOSEN: dict[str, str] = {}
"""Keys whose default is another than the document's, and why. None."""


def declared(table: type[Keys] = Config, prefix: str = "") -> dict[str, Any]:
    """Every key with its default; tables by their fields."""
    found: dict[str, Any] = {}
    for name, field in table.model_fields.items():
        if name == "model_overrides":
            found |= {f"model_overrides.{key}": UNSAID for key in Override.model_fields}
        elif (inner := table_in(field.annotation)) is not None:
            found |= declared(inner, f"{prefix}{name}.")
        else:
            found[prefix + name] = UNSAID if field.is_required() else field.default
    return found


@pytest.fixture(scope="module")
def document() -> dict[str, SpecKey]:
    keys = spec_keys(shared("spec/7-setup.md").read_text(encoding="utf-8"))
    return {key.name: key for key in keys}


def test_every_key_of_the_document_is_declared(document):
    """`keys` and `remotes` are declared by their fields."""
    assert sorted(set(document) - set(declared()) - {"keys", "remotes"}) == []
    assert len(document) > 300


def test_no_key_is_ours_alone_but_those_that_are_decided(document):
    """And one that the document came to name is no longer ours."""
    assert set(declared()) - set(document) == set(OURS)


def test_defaults_are_the_documents(document):
    """As far as it gives them; an unset list or text is empty."""
    ours = declared()
    other = {}
    for name, key in document.items():
        if name not in ours or UNSAID in (key.default, ours[name]):
            continue
        said = list(ours[name]) if isinstance(ours[name], tuple) else ours[name]
        if said != key.default and not (key.default is None and not said):
            other[name] = (key.default, said)
    assert set(other) == set(CHOSEN), other


def test_the_extraction_reads_every_shape_of_the_document():
    """Columns, several keys a row, a paragraph that was a table, prose, examples."""
    rows = [
        "Key\tDefault\tPurpose",
        "host / port\t127.0.0.1 / 11435\tbind",
        "x_net / x_adapter (+ x_clip) / x_module\tunset\tpaths",
        "fast\ttrue→forces one\tdefault false; slow",
        "w_beam\tunset\trides w_best / w_worst (other_key=true)",
        "",
        "words before. | spec_cache | true | kept | | spec_draft_a … spec_draft_* | see dump | placement: a, type_k/type_v | |",
        "Table\tPurpose",
        "[cache]\tenabled = false, ttl_secs = 600 (opt-in)",
        '[tool]\tmode = "a"\\|"b" (a = one), see model_overrides',
        "[model_overrides.<name>]\treplaces: ctx, chat (XOR chat_file), pin (x, y) — no more",
        "[[remotes]]: name/url",
        "[[mcp]]",
        'name = "x"   # a note',
        "A sentence ends it.",
        "with lone = true (default), more",
    ]
    found = {key.name: key.default for key in spec_keys("\n".join(rows))}
    assert found == {
        "host": "127.0.0.1",
        "port": 11435,
        **dict.fromkeys(("x_net", "x_adapter", "x_clip", "x_module", "w_beam")),
        **dict.fromkeys(("w_best", "w_worst"), UNSAID),
        "fast": False,
        "spec_cache": True,
        **dict.fromkeys(("spec_draft_a", "spec_draft_type_k", "spec_draft_type_v"), UNSAID),
        "cache.enabled": False,
        "cache.ttl_secs": 600,
        "tool.mode": UNSAID,
        **{f"model_overrides.{key}": UNSAID for key in ("ctx", "chat", "chat_file", "pin")},
        "remotes.name": UNSAID,
        "remotes.url": UNSAID,
        "mcp.name": UNSAID,
        "lone": True,
    }


def test_the_script_prints_a_key_a_line(tmp_path, capsys):
    """Name, default as Python spells it, line."""
    file = tmp_path / "setup.md"
    file.write_text("Key\tDefault\tPurpose\nport\t11435\tbind\n")
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == "port\t11435\tline 2\n"
