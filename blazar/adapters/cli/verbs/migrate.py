"""`migrate`: rewrite what the configuration file says as it was written once."""

import argparse

from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.domain import teaching


def migrate(args: argparse.Namespace, root: Root) -> int:
    """Harmless to run twice."""
    path = str(root.places.config_file)
    names = root.settings.migrate()
    if names is not None:
        sentence = teaching.migrated(path, names)
    else:
        there = root.places.config_file.exists()
        sentence = teaching.nothing_to_migrate(path) if there else teaching.config_absent(path)
    confirm(args, sentence, path=path, changed=names is not None, keys=list(names or ()))
    return OK
