"""Texts for users speak to users: the numbers of our decisions and cases mean nothing to them."""

import re
from collections.abc import Iterator

import pytest

from blazar.adapters.cli.parser import build_parser
from blazar.adapters.http.routes import ROUTES
from blazar.application.config.render import defaults_toml
from scripts import render_docs
from tests.contract.shape.test_teaching import spoken

OURS = re.compile(r"\bD\d{1,2}\b|\bODD:|\b[Cc]ase [A-J]\d|\b[Hh]abit \d|decisions\.md|\((?:contract|setup document)\)")


def texts() -> Iterator[tuple[str, str]]:
    """Everything that is printed, served or published, by name."""
    yield from ((f"docs/{name}", page()) for name, page in render_docs.PAGES.items())
    yield "config defaults", defaults_toml()
    for name, verb, _ in render_docs._verbs(build_parser()):
        yield f"{name} --help", verb.format_help()
        yield from ((f"{name} {sub} --help", child.format_help()) for sub, child, _ in render_docs._verbs(verb))
    yield "--help", build_parser().format_help()
    yield from ((f"{route.method} {route.path}", route.summary) for route in ROUTES)
    yield from ((f"teaching.{name}", "\n".join(said)) for name, said in spoken().items())


@pytest.mark.parametrize(("name", "text"), [pytest.param(*item, id=item[0]) for item in texts()])
def test_no_number_of_ours_is_shown(name, text):
    """Neither decisions nor cases, nor the words for our own documents."""
    assert OURS.findall(text) == [], name
