"""Machines out of `tests/fixtures/sysfs`, grown into a folder that stands for `/`."""

from pathlib import Path

TREES = Path(__file__).resolve().parents[1] / "fixtures" / "sysfs"


def cases() -> list[Path]:
    """All machines, by name."""
    return sorted(TREES.glob("*.tree"))


def grow(case: str, root: Path) -> Path:
    """Write the machine `case` below `root`, and return that."""
    for line in (TREES / f"{case}.tree").read_text().splitlines():
        if line.startswith("#") or not line:
            continue
        if line.endswith("/"):
            (root / line).mkdir(parents=True)
            continue
        path, mark, target = line.partition(" -> ")
        name, _, text = line.partition(": ") if not mark else (path, "", "")
        file = root / name.removesuffix(":")
        file.parent.mkdir(parents=True, exist_ok=True)
        if mark:
            file.symlink_to(target)
        else:
            file.write_text(text.replace("\\n", "\n").replace("\\t", "\t"))
    return root
