"""How an engine kind's server wants to be asked: its routes, its names for a model, fields that it lacks or must not see. Data.

Whoever talks to children reads these fields and never asks for the kind; what a field means for a request stands in `wire/polite`.
"""

from typing import Final, NamedTuple

from blazar.domain.grammars import AS_IT_IS, Grammar
from blazar.domain.kinds import Task
from blazar.domain.records import Model

COUNTING: Final = "/v1/chat/completions/input_tokens"
INFILL: Final = "/infill"
TOKENIZE: Final = "/tokenize"
DETOKENIZE: Final = "/detokenize"
APPLY_TEMPLATE: Final = "/apply-template"
SLOTS: Final = "/slots"
LLAMACPP_ROUTES: Final = frozenset({COUNTING, INFILL, TOKENIZE, DETOKENIZE, APPLY_TEMPLATE, SLOTS})
"""What llama-server answers beside the OpenAI routes, and nobody else does in its shape."""

FORMS: Final = ("response_format", "json_schema", "grammar")
"""Fields that say what the answer shall look like; the last two are llama-server's own."""


LARGEST_ANSWER: Final = 256 * 2**20
"""Bytes of an answer that is sent in one piece; beyond it lies no answer but an engine that has lost itself.

2048 vectors (OpenAI's bound for one request) of 4096 numbers with twenty characters each are two thirds of it; eight pictures of 2048
pixels by 2048 that no compression made smaller are half.
"""

THOUGHT: Final = "reasoning_content"
"""The member of a message in which a thought is handed on, whatever its engine calls it."""


class Manners(NamedTuple):
    """One kind's.

    `name` is how sentences call it. `tasks` is what it can be started for. `routes` are those of `LLAMACPP_ROUTES` that it has.
    `asked_as` is what a request must call the model, `listed_as` what `/v1/models` lists for it: `{model}` is its name here,
    `{folder}` where it lies. `forms` are those of `FORMS` that it holds an answer to; the others it passes over or refuses.
    `strips` are fields that would make it load or run what nobody here has chosen. `bounded`: its own bound for an answer is so
    small that a request without one is cut. `draws`: an answer is a picture, sent when it is complete. `finishes`: what it does not
    stream it computes to the end, also when nobody waits for it any more. `slotted`: it does several requests at once where `slots` says
    so. `gathers`: it takes as many at once as come, so that how many it is sent is ours to say. `tagged` is the tag by which a
    prompt could give it orders. `thought` is the member that holds what it thinks. `grammar` is what it can hold of a schema. `largest` bounds a buffered answer in bytes.
    `foretells`: a stream that asks for it begins with the prompt's size (`return_progress`).
    """

    name: str = "llama.cpp"
    tasks: frozenset[Task] = frozenset({Task.CHAT, Task.EMBED})
    routes: frozenset[str] = LLAMACPP_ROUTES
    asked_as: str = "{model}"
    listed_as: str = "{model}"
    forms: frozenset[str] = frozenset(FORMS)
    strips: frozenset[str] = frozenset()
    bounded: bool = False
    draws: bool = False
    finishes: bool = False
    slotted: bool = True
    gathers: bool = False
    tagged: str = ""
    thought: str = THOUGHT
    grammar: Grammar = AS_IT_IS
    largest: int = LARGEST_ANSWER
    foretells: bool = False


LLAMACPP: Final = Manners(tasks=frozenset({Task.CHAT, Task.EMBED, Task.RERANK}), foretells=True)
"""Every request is in its words already: nothing is changed for it."""


def spelled(name: str, model: Model) -> str:
    """`asked_as` or `listed_as` for this model."""
    return name.format(model=model.name, folder=home(model))


def home(model: Model) -> str:
    """The folder that its files lie in."""
    return model.folder or model.files[0].rpartition("/")[0]
