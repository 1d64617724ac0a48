"""The sentence under each key, out of the source of the module that declares it.

pydantic can look for them itself, but cuts every class out of its file anew: half of what building the declaration cost.
"""

import ast
import inspect
import sys
from functools import cache


@cache
def _classes(module: str) -> dict[str, dict[str, str]]:
    """Sentences by class and field; none where a program is shipped without its source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {node.name: dict(_sentences(node)) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def _sentences(declared: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for node, after in zip(declared.body, declared.body[1:], strict=False):
        match node, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found.append((name, inspect.cleandoc(text)))
    return found


def sentences_of(declared: type) -> dict[str, str]:
    """What stands under the fields that this class itself declares."""
    return _classes(declared.__module__).get(declared.__name__, {})
