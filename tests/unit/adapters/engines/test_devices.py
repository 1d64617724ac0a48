"""What builds say they would compute on. The format is llama.cpp b11434's (common/arg.cpp), recorded from the real program."""

import sys
from pathlib import Path

import pytest

from blazar.adapters.engines import devices as module
from blazar.adapters.engines.devices import EngineDevices, devices_in
from blazar.adapters.engines.probe import HelpProbe
from blazar.application.ports.hardware import ListedDevice
from tests.fakes.engines import an_engine
from tests.support.builds import unpacked
from tests.support.shared import shared
from tests.support.supervision import KnowsAll

MIB = 2**20


def build(path: Path, body: str):
    """A build that runs this; it says which of its environment it saw, and how often it was run."""
    path.write_text(f"#!{sys.executable} -S\nimport os, sys\n{body}\n")
    path.chmod(0o755)
    return an_engine(server_path=str(path))


def lists(*rows: str) -> str:
    return "print('Available devices:')\n" + "\n".join(f"print({row!r})" for row in rows)


def test_rows_of_every_backend():
    """Name, label and bytes in the list's order; brackets in a label are the label's."""
    text = """load_backend: loaded CUDA backend
Available devices:
  CUDA0: NVIDIA GeForce RTX 4090 (24564 MiB, 23592 MiB free)
  Vulkan0: AMD Radeon RX 7900 XTX (RADV NAVI31) (24576 MiB, 24000 MiB free)\r
  MTL0: Apple M2 Max (49152 MiB, 49152 MiB free)
  RPC0: 127.0.0.1:50977 (24105 MiB, 24105 MiB free)
"""
    assert devices_in(text) == (
        ListedDevice("CUDA0", "NVIDIA GeForce RTX 4090", 24564 * MIB, 23592 * MIB),
        ListedDevice("Vulkan0", "AMD Radeon RX 7900 XTX (RADV NAVI31)", 24576 * MIB, 24000 * MIB),
        ListedDevice("MTL0", "Apple M2 Max", 49152 * MIB, 49152 * MIB),
        ListedDevice("RPC0", "127.0.0.1:50977", 24105 * MIB, 24105 * MIB),
    )


def test_the_processor_is_no_accelerator():
    """Nor is what computes on it; a list of nothing else is an empty list."""
    text = "Available devices:\n  BLAS: Accelerate (0 MiB, 0 MiB free)\n  CPU: Ryzen (64000 MiB, 64000 MiB free)\n"
    assert devices_in(text) == ()
    assert devices_in("Available devices:\n  (none)\n") == ()


def test_rows_without_memory():
    """Other engines print none: the device is known, and counts as memory-less."""
    text = "Available devices:\n  CUDA0: NVIDIA GeForce RTX 4090\n  Vulkan0: \n"
    assert devices_in(text) == (
        ListedDevice("CUDA0", "NVIDIA GeForce RTX 4090", 0, 0),
        ListedDevice("Vulkan0", "", 0, 0),
    )


@pytest.mark.parametrize(
    "text", ["", "error: unknown argument: --list-devices\n", "CUDA0: a card (5 MiB, 5 MiB free)\n"]
)
def test_a_text_without_a_list(text):
    """Is no answer, which is not the same as no device."""
    assert devices_in(text) is None


def test_a_build_is_asked_once_until_told(tmp_path):
    """Its free figures age with what is loaded; that it has no device does not."""
    count = tmp_path / "count"
    noted = f"open({str(count)!r}, 'a').write('x')\n"
    lister = EngineDevices(KnowsAll({module.FLAG}))
    card = build(tmp_path / "card", noted + lists("  CUDA0: A (9 MiB, 8 MiB free)"))
    for _ in range(2):
        assert lister.list_devices(card) == (ListedDevice("CUDA0", "A", 9 * MIB, 8 * MIB),)
    lister.invalidate()
    lister.list_devices(card)
    assert count.read_text() == "xx"
    plain = build(tmp_path / "plain", noted + lists("  (none)"))
    assert lister.list_devices(plain) == ()
    lister.invalidate()
    assert lister.list_devices(plain) == ()
    assert count.read_text() == "xxx"


def test_what_is_loaded_while_a_build_is_asked_is_not_missed(tmp_path, mocker):
    """An answer that was under way when the figures became void is handed out and not kept."""
    lister = EngineDevices(KnowsAll({module.FLAG}))
    engine = build(tmp_path / "card", lists("  CUDA0: A (9 MiB, 8 MiB free)"))
    real = module.devices_in

    def overtaken(text):
        lister.invalidate()
        return real(text)

    heard = mocker.patch.object(module, "devices_in", side_effect=overtaken)
    for _ in range(2):
        assert lister.list_devices(engine) == (ListedDevice("CUDA0", "A", 9 * MIB, 8 * MIB),)
    assert heard.call_count == 2


def test_it_is_asked_as_its_children_will_run(tmp_path, monkeypatch):
    """Cards in PCI order unless the user says otherwise; without what is scrubbed, with what is configured."""
    engine = build(
        tmp_path / "engine",
        lists()
        + "\nprint('  E: ' + ' '.join(str(os.environ.get(n)) for n in ('CUDA_DEVICE_ORDER', 'LLAMA_X', 'MORE')))",
    )
    flags = KnowsAll({module.FLAG})
    monkeypatch.setenv("LLAMA_X", "1")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    (row,) = EngineDevices(flags, ("LLAMA_",), {"MORE": "m"}).list_devices(engine) or ()
    assert row.label == "PCI_BUS_ID None m"
    (row,) = EngineDevices(flags, (), {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}).list_devices(engine) or ()
    assert row.label == "FASTEST_FIRST 1 None"


@pytest.mark.parametrize(
    "body", ["sys.exit('no driver')", "print('hello')", lists("  CUDA0: A (1 MiB, 1 MiB free)") + "\nsys.exit(1)"]
)
def test_a_build_that_fails_gives_no_answer(tmp_path, body):
    """What it printed before it failed is not believed."""
    assert EngineDevices(KnowsAll({module.FLAG})).list_devices(build(tmp_path / "engine", body)) is None


def test_a_build_that_cannot_list_is_not_run(tmp_path):
    """One that does not know the flag could take it for something else, or wait for ever; one that is gone cannot be run."""
    ran = tmp_path / "ran"
    engine = build(tmp_path / "engine", f"open({str(ran)!r}, 'w')")
    assert EngineDevices(KnowsAll({"--model"})).list_devices(engine) is None
    assert not ran.exists()
    assert EngineDevices(KnowsAll()).list_devices(an_engine(server_path=str(tmp_path / "gone"))) is None


def test_a_build_that_hangs_is_given_up(tmp_path, monkeypatch):
    """The list is a help, not a condition."""
    monkeypatch.setattr(module, "ANSWER_SECS", 0.2)
    engine = build(tmp_path / "engine", "import time; time.sleep(60)")
    assert EngineDevices(KnowsAll({module.FLAG})).list_devices(engine) is None


def test_a_real_build_for_the_processor(tmp_path):
    """The archive's llama-server lists no device."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    digests = dict(reversed(line.split()) for line in shared("engines/SHA256SUMS").read_text().splitlines())
    _, server = unpacked(tmp_path, archive, digests[archive.name])
    assert EngineDevices(HelpProbe()).list_devices(an_engine(server_path=server)) == ()


def test_it_is_told_of_workers(tmp_path):
    """Whose devices it then lists; where one of them is not there, it ends itself, and is asked without any."""
    told = "  RPC0: 10.0.0.2:50052 (9 MiB, 8 MiB free)"
    body = f"workers = sys.argv[sys.argv.index('--rpc') + 1] if '--rpc' in sys.argv else ''\nif workers == 'dead:1': sys.exit(134)\n{lists()}\nif workers: print({told!r})"
    engine = build(tmp_path / "engine", body)
    lister = EngineDevices(KnowsAll({module.FLAG, module.WORKERS}))
    assert lister.list_devices(engine, "10.0.0.2:50052") == (ListedDevice("RPC0", "10.0.0.2:50052", 9 * MIB, 8 * MIB),)
    assert lister.list_devices(engine) == ()
    assert lister.list_devices(engine, "dead:1") == ()
    assert EngineDevices(KnowsAll({module.FLAG})).list_devices(engine, "10.0.0.2:50052") == ()


def test_it_is_told_of_workers_that_serve(tmp_path):
    """Those that can be reached count, whatever the others do; what is known is not asked for again."""
    body = f"workers = sys.argv[sys.argv.index('--rpc') + 1] if '--rpc' in sys.argv else ''\nif 'dead' in workers: sys.exit(134)\n{lists()}\nif workers: print(f'  RPC0: {{workers}} (9 MiB, 8 MiB free)')"
    engine = build(tmp_path / "engine", body)
    asked = []

    def reachable(workers):
        asked.append(workers)
        return ",".join(one for one in workers.split(",") if "dead" not in one)

    lister = EngineDevices(KnowsAll({module.FLAG, module.WORKERS}), reachable=reachable)
    assert [row.label for row in lister.list_devices(engine, "dead:1,far:1") or ()] == ["far:1"]
    assert lister.list_devices(engine, "dead:1") == ()
    assert asked == ["dead:1,far:1", "far:1", "dead:1"]
    assert [row.label for row in lister.list_devices(engine, "far:1") or ()] == ["far:1"]
    assert asked[3:] == []


def test_a_worker_that_comes_later_is_seen(tmp_path):
    """That it was not there is not remembered, as the list of a build without any device is."""
    there = tmp_path / "there"
    told = "  RPC0: far:1 (9 MiB, 8 MiB free)"
    body = f"if '--rpc' in sys.argv and not os.path.exists({str(there)!r}): sys.exit(134)\n{lists()}\nif '--rpc' in sys.argv: print({told!r})"
    engine = build(tmp_path / "engine", body)
    lister = EngineDevices(KnowsAll({module.FLAG, module.WORKERS}))
    assert lister.list_devices(engine, "far:1") == ()
    there.touch()
    assert [row.name for row in lister.list_devices(engine, "far:1") or ()] == ["RPC0"]


def test_another_environment_is_asked_anew(tmp_path):
    """What is configured may change while it is kept; `forget` drops also what `invalidate` would keep."""
    env = {"CARD": ""}
    engine = build(tmp_path / "engine", lists() + "\nif os.environ.get('CARD'): print('  CUDA0: A card')")
    lister = EngineDevices(KnowsAll(["--list-devices"]), (), env)
    assert lister.list_devices(engine) == ()
    env["CARD"] = "1"
    lister.invalidate()
    assert lister.list_devices(engine) == ()
    lister.forget()
    assert [device.name for device in lister.list_devices(engine)] == ["CUDA0"]
