"""Keys of what models may take: context, how many, how long idle, memory."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from blazar.application.config.knob import Keys, Knob


class ResourceKeys(Keys):
    """Context, model cap, idle ladder, memory."""

    title: ClassVar[str] = "Resources"
    group: ClassVar[str] = "resources"

    default_ctx: Annotated[int, Field(ge=256), Knob(env=("BLAZAR_DEFAULT_CTX",))] = 16384
    """Context window of one request in tokens, where the model's override names none; never more than the model was trained for."""
    max_loaded_models: Annotated[int, Field(ge=0)] = 0
    """How many models may be loaded at once; beyond that the least recently used idle one leaves. 0: only memory decides."""
    idle_timeout_secs: Annotated[int, Field(ge=0)] = 1800
    """Seconds without a request after which a model is unloaded; a request's keep_alive replaces it. 0: never."""
    spawn_mem_guard: bool = True
    """Refuse to load a model when less than half its size plus 512 MiB of memory is available."""
    # The cap is applied where the machine is known, when a command line is compiled: without it a machine was swapped to death.
    cache_ram_mb: Annotated[int, Field(ge=0)] = 8192
    """Most MiB of main memory to keep prompts in: at most 30 % of the machine's and, unless chosen, what a plan leaves free. 0: none."""
    numa: Literal["", "distribute", "isolate"] = ""
    """On machines with several memory nodes: spread the work over all of them, or stay on the one where it began."""
