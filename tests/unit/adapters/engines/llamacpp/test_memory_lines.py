"""What llama-server says about its memory."""

import pytest

from blazar.adapters.engines.llamacpp.memory_lines import LONGEST_LINE, MIB, MemoryLines, device_of

HEAD = "0.00.262.254 I "
ON_CPU = (
    "load_tensors:   CPU_Mapped model buffer size =    92.10 MiB",
    "llama_context: constructing llama_context",
    "llama_context: n_ctx                 = 4096",
    "llama_context:        CPU  output buffer size =     0.38 MiB",
    "llama_kv_cache:        CPU KV buffer size =    90.00 MiB",
    "llama_kv_cache: size =   90.00 MiB (  4096 cells,  30 layers,  2/1 seqs), K (f16):   45.00 MiB, V (f16):   45.00 MiB",
    "sched_reserve:        CPU compute buffer size =    18.64 MiB",
    "srv    load_model: prompt cache is enabled, size limit: 8192 MiB",
)


def heard(*lines: str) -> dict[tuple[str, str], int]:
    """Bytes by place and purpose, after these lines."""
    memory = MemoryLines()
    memory.feed("".join(f"{HEAD}{line}\n" for line in lines))
    return {(device, what): size for device, what, size in memory.buffers}


def mib(number: float) -> int:
    return round(number * MIB)


def test_a_load_on_the_processor() -> None:
    """Weights, cache, scratch and output, to the engine's own rounding; sums and limits are not counted twice."""
    assert heard(*ON_CPU) == {
        ("host", "mapped"): mib(92.10),
        ("host", "output"): mib(0.38),
        ("host", "kv"): mib(90),
        ("host", "compute"): mib(18.64),
    }


def test_repacked_weights_are_told_from_the_file_they_came_from() -> None:
    """As a Q4_0 model with a tied embedding announces them: the stretch of the file, and the copy. Another build of the CPU's own buffers is neither."""
    assert heard(
        "load_tensors:   CPU_Mapped model buffer size =    71.80 MiB",
        "load_tensors:   CPU_REPACK model buffer size =    72.14 MiB",
        "load_tensors:          CPU model buffer size =     1.00 MiB",
    ) == {("host", "mapped"): mib(71.80), ("host", "repacked"): mib(72.14), ("host", "weights"): mib(1)}


def test_a_log_may_come_in_any_pieces() -> None:
    """The same whether it is read at once or byte by byte; the last line counts once it is whole."""
    text = "".join(f"{HEAD}{line}\n" for line in ON_CPU)
    whole, crumbs = MemoryLines(), MemoryLines()
    whole.feed(text)
    for one in text:
        crumbs.feed(one)
    assert crumbs.buffers == whole.buffers
    cut = MemoryLines()
    cut.feed(f"{HEAD}{ON_CPU[0]}")
    assert cut.buffers == ()
    cut.feed("\n")
    assert len(cut.buffers) == 1


def test_a_load_over_two_cards() -> None:
    """Each card's part apart; pinned memory is main memory."""
    assert heard(
        "load_tensors:   CPU_Mapped model buffer size =   100.00 MiB",
        "load_tensors:        CUDA0 model buffer size =  4000.00 MiB",
        "load_tensors:        CUDA1 model buffer size =  3000.00 MiB",
        "llama_context: constructing llama_context",
        "llama_context:  CUDA_Host  output buffer size =     0.50 MiB",
        "llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB",
        "llama_kv_cache:      CUDA1 KV buffer size =   384.00 MiB",
        "sched_reserve:      CUDA0 compute buffer size =   300.00 MiB",
        "sched_reserve:      CUDA1 compute buffer size =   310.00 MiB",
        "sched_reserve:  CUDA_Host compute buffer size =    40.00 MiB",
    ) == {
        ("host", "mapped"): mib(100),
        ("host", "output"): mib(0.5),
        ("host", "compute"): mib(40),
        ("CUDA0", "weights"): mib(4000),
        ("CUDA0", "kv"): mib(512),
        ("CUDA0", "compute"): mib(300),
        ("CUDA1", "weights"): mib(3000),
        ("CUDA1", "kv"): mib(384),
        ("CUDA1", "compute"): mib(310),
    }


def test_caches_add_up_and_a_new_layout_replaces() -> None:
    """A windowed model has two caches in one context; its graph may be laid out again. A second context is a second scratch."""
    context = "llama_context: constructing llama_context"
    found = heard(
        context,
        "llama_kv_cache:        CPU KV buffer size =    64.00 MiB",
        "llama_kv_cache:        CPU KV buffer size =    16.00 MiB",
        "llama_memory_recurrent:        CPU RS buffer size =     2.25 MiB",
        "sched_reserve:        CPU compute buffer size =    10.00 MiB",
        "sched_reserve:        CPU compute buffer size =    12.00 MiB",
        context,
        "sched_reserve:        CPU compute buffer size =     5.00 MiB",
    )
    assert found == {("host", "kv"): mib(80), ("host", "recurrent"): mib(2.25), ("host", "compute"): mib(17)}


def test_state_adapters_and_encoders_are_heard() -> None:
    """Compressor state, LoRA, and the scratch of an image encoder beside the model's."""
    found = heard(
        "llama_dsv4_state:      CUDA0 DSV4 csa state buffer size =     3.00 MiB",
        "llama_adapter_lora_init_impl:      CUDA0 LoRA buffer size =     7.50 MiB",
        "sched_reserve:      CUDA0 compute buffer size =    20.00 MiB",
        "reserve_compute_meta:      CUDA0 compute buffer size =    30.00 MiB",
    )
    assert found == {("CUDA0", "recurrent"): mib(3), ("CUDA0", "lora"): mib(7.5), ("CUDA0", "compute"): mib(50)}


@pytest.mark.parametrize(
    ("place", "device"),
    [
        ("CPU", "host"),
        ("CPU_Mapped", "host"),
        ("CPU_REPACK", "host"),
        ("Vulkan_Host", "host"),
        ("CUDA0", "CUDA0"),
        ("MTL0_Mapped", "MTL0"),
        ("MTL0_Private", "MTL0"),
        ("RPC0[127.0.0.1:50052]", "RPC0[127.0.0.1:50052]"),
    ],
)
def test_a_buffer_lies_on_a_device(place: str, device: str) -> None:
    """Mapped, repacked and pinned memory is where it is, whatever it is called."""
    assert device_of(place) == device


def test_what_only_looks_like_it_is_not_heard() -> None:
    """Expectations, other units, and a line without an end."""
    assert (
        heard(
            "~llama_context:        CPU compute buffer size is  18.6400 MiB, matches expectation of  18.6400 MiB",
            "load_tensors: CPU model buffer size = many MiB",
            "the KV buffer size = 90.00 MiB",
        )
        == {}
    )
    memory = MemoryLines()
    memory.feed("x" * 10 * LONGEST_LINE)
    memory.feed("\n" + HEAD + ON_CPU[0] + "\n")
    assert [buffer.what for buffer in memory.buffers] == ["mapped"]


def test_one_that_slept_is_not_counted_twice() -> None:
    """Awake again it announces everything anew; until it has, it counts as what it had (`--sleep-idle-seconds`)."""
    sleeps = (
        "srv  handle_sleep: server is entering sleeping state",
        "srv  handle_sleep: server is exiting sleeping state",
    )
    awake = heard(*ON_CPU)
    assert heard(*ON_CPU, *sleeps) == heard(*ON_CPU, *sleeps, *ON_CPU[:3]) == awake
    assert heard(*ON_CPU, *sleeps, *ON_CPU) == heard(*ON_CPU, *sleeps, *ON_CPU, *sleeps, *ON_CPU) == awake
