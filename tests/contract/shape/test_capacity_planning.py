"""What docs/capacity-planning.md shows can be pasted: its Python runs, its command lines parse, its page is how one looks."""

import re
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.parser import parse
from blazar.domain.references import parse_reference
from tests.support.sparse_models import QWEN3_32B, qwen3_rows, save_sparse

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "capacity-planning.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In its order, on a model of a published size: F16 spills, Q8_0 and Q4_K_M lie on the cards."""
    for name, kind in (("F16", 1), ("Q8_0", 8), ("Q4_K_M", 12)):
        save_sparse(tmp_path / "models" / f"Qwen3-32B-{name}.gguf", QWEN3_32B, qwen3_rows(kind))
    (tmp_path / "models" / "mmproj-F16.gguf").write_bytes(b"an encoder, which is no model")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    cells = blocks("python")
    assert len(cells) == 4
    for cell in cells:
        exec(compile(cell, "docs/capacity-planning.md", "exec"), names)
    assert names["table"] == {
        ("Qwen3-32B-F16", 8192): False,
        ("Qwen3-32B-F16", 40960): False,
        ("Qwen3-32B-Q4_K_M", 8192): True,
        ("Qwen3-32B-Q4_K_M", 40960): True,
        ("Qwen3-32B-Q8_0", 8192): True,
        ("Qwen3-32B-Q8_0", 40960): True,
    }
    said = capsys.readouterr().out
    assert "Qwen3-32B-Q4_K_M" in said
    # 64 layers x 8 heads x 128 x 32 768 cells, keys and values at 34 bytes for 32 elements.
    assert names["counted"].kv_bytes == 64 * 8 * 128 * 32768 * 2 * 34 // 32
    assert 8192 <= names["most"].ctx <= 40960
    assert names["kv_bytes"] == 10 * 2**30


def test_the_command_lines_parse() -> None:
    """With the options that exist, and references that are some."""
    lines = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) >= 5
    for line in lines:
        args = parse(line.split()[1:])
        assert args.action == "fit"
        if ":" in args.model:
            assert parse_reference(args.model) is not None
