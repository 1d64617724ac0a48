"""Whether a model's chat template has a place for tools, and whether it knows of thinking. Reads headers, starts nothing; what cannot be known is not refused.

A template without one drops them without a word: the model answers as if none had been offered.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from blazar.application.ports.weights import WeightFiles
from blazar.domain.errors import BlazarError
from blazar.domain.kinds import Weights
from blazar.domain.launch import flags_of
from blazar.domain.records import Model

TEMPLATE: Final = "tokenizer.chat_template"
FOR_TOOLS: Final = TEMPLATE + ".tool_use"
"""A second template that the engine takes instead where tools are offered (common/chat.cpp)."""

_TOLD: Final = frozenset({"--chat-template", "--chat-template-file", "--no-jinja"})
"""A person's own words for a template; what stands behind them is not read here."""
_VARIABLES: Final = frozenset({"LLAMA_ARG_CHAT_TEMPLATE", "LLAMA_ARG_CHAT_TEMPLATE_FILE", "LLAMA_ARG_JINJA"})
_WORD: Final = "tool"
_THOUGHTS: Final = re.compile("think|reason|channel", re.IGNORECASE)
"""Some such word is in every template that opens, closes or keeps a thought; one too many here only means that nothing is refused."""


def toolless(model: Model, settings: Mapping[str, Any], files: WeightFiles) -> bool:
    """Whether tools would be lost on it, as it is served by llama.cpp."""
    if settings["ollama_compat"]:
        return False  # they are written into its conversations
    return _lacks(model, settings, files, lambda text: _WORD in text)


def thoughtless(model: Model, settings: Mapping[str, Any], files: WeightFiles) -> bool:
    """Whether a wish for thinking would be lost on it, in the same way."""
    return _lacks(model, settings, files, lambda text: _THOUGHTS.search(text) is not None)


def _lacks(model: Model, settings: Mapping[str, Any], files: WeightFiles, has: Callable[[str], bool]) -> bool:
    if model.weights is not Weights.GGUF or _TOLD.intersection(flags_of(settings["extra_args"])):
        return False
    if settings["chat_template_file"] or _VARIABLES & settings["engine_env"].keys():
        return False
    if own := settings["chat_template"]:
        return "{" in own and not has(own)  # else the name of one that is built in
    with suppress(BlazarError):
        header = files.metadata(model.files[0])
        return FOR_TOOLS not in header and not has(str(header.get(TEMPLATE, "")))
    return False
