"""`python -m blazar` and the `blazar` command: parse first, then import only the root that the verb needs."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from blazar.adapters.cli.root import Root


def main() -> int:
    """Run one verb; the exit code. No traceback reaches a user unless BLAZAR_DEBUG asks for it."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):  # before anything is imported: editors and scripts ask this all the time
        from blazar import __version__

        try:
            print(f"blazar {__version__}", flush=True)
        except OSError:
            pass  # the long way knows what to say of an output that is closed or full
        else:
            return 0
    try:
        from blazar.adapters.cli.shell import run_words

        return run_words(words, _root)
    except KeyboardInterrupt:  # while modules were still being imported
        return 130
    except Exception as error:
        import os

        if os.environ.get("BLAZAR_DEBUG"):
            raise
        from blazar.adapters.cli.exits import report_unexpected

        return report_unexpected(error, as_json="--json" in words)


def _root(args: "argparse.Namespace") -> "Root":
    from blazar.composition.client import ClientRoot

    return ClientRoot(args)


if __name__ == "__main__":
    sys.exit(main())
