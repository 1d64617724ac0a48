"""Keys of what models may take: context, how many, how long idle, memory."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from blazar.application.config.knob import LARGEST, Keys, Knob, Whole


class ResourceKeys(Keys):
    """Context, model cap, idle ladder, memory."""

    title: ClassVar[str] = "Resources"
    group: ClassVar[str] = "resources"

    default_ctx: Annotated[int, Field(ge=256, le=LARGEST), Knob(env=("BLAZAR_DEFAULT_CTX",))] = 16384
    """Context window of one request in tokens, where the model's override names none; never more than the model was trained for."""
    max_loaded_models: Annotated[Whole, Knob(daemon=True)] = 0
    """How many models may be loaded at once; beyond that the least recently used idle one leaves. 0: only memory decides."""
    idle_sleep_secs: Whole = 300
    """Seconds without a request after which an engine frees its GPU memory and sleeps; the next request wakes it. 0: never."""
    idle_timeout_secs: Annotated[Whole, Knob(daemon=True)] = 1800
    """Seconds without a request after which a model is unloaded; a request's keep_alive replaces it. 0: never."""
    idle_ram_warm: Annotated[bool, Knob(daemon=True)] = True
    """Read the files of a model that was unloaded for being idle once more, so that main memory holds them for the next load."""
    spawn_mem_guard: bool = True
    """Refuse to load a model when less than half its size plus 512 MiB of memory is available."""
    # The cap is applied where the machine is known, when a command line is compiled: without it a machine was swapped to death.
    cache_ram_mb: Whole = 8192
    """Most MiB of main memory to keep prompts in: at most 30 % of the machine's and, unless chosen, what a plan leaves free. 0: none."""
    numa: Literal["", "distribute", "isolate"] = ""
    """On machines with several memory nodes: spread the work over all of them, or stay on the one where it began."""
