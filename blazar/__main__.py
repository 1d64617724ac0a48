"""`python -m blazar` and the `blazar` command: parse first, then import only the root that the verb needs."""

import sys


def main() -> int:
    """Run one verb; the exit code."""
    return 0


if __name__ == "__main__":
    sys.exit(main())
