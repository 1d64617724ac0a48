"""The npm package `openai`; the checks are in tests/matrix/npm/openai.mjs."""

from functools import partial
from typing import Unpack

from tests.matrix.npm_packages import made_by
from tests.matrix.registry import Client, Facets

OPENAI_NPM = Client("openai (npm)", needs=("npm:openai",))


def _add(name: str, route: str, **facets: Unpack[Facets]) -> None:
    OPENAI_NPM.add(name, route, partial(made_by, "openai", name), **facets)


_add("a_chat_answers_with_text_and_usage", "/v1/chat/completions")
