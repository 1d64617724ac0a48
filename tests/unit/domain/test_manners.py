"""How kinds want to be asked, as data."""

from blazar.domain.kinds import Task
from blazar.domain.manners import FORMS, LLAMACPP, LLAMACPP_ROUTES, home, spelled
from tests.fakes.catalog import a_model


def test_llama_cpp_is_what_everything_is_written_for() -> None:
    """It is asked by our own name and lists it, has every route, holds every form, and loses no field."""
    assert (LLAMACPP.asked_as, LLAMACPP.listed_as) == ("{model}", "{model}")
    assert (LLAMACPP.routes, LLAMACPP.forms, LLAMACPP.strips) == (LLAMACPP_ROUTES, set(FORMS), frozenset())
    assert LLAMACPP.tasks == {Task.CHAT, Task.EMBED, Task.RERANK}


def test_names_are_spelled_for_one_model() -> None:
    """A name, a folder, or a constant; braces of a folder are no places to fill."""
    model = a_model("m", folder="/a/{model}")
    assert [spelled(name, model) for name in ("{model}", "{folder}", "default")] == ["m", "/a/{model}", "default"]


def test_a_file_lies_in_the_folder_above_it() -> None:
    """A GGUF row keeps none."""
    assert home(a_model("m", files=("/models/a/x.gguf", "/models/a/y.gguf"))) == "/models/a"
