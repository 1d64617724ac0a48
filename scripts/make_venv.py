"""Create the virtual environment that the Makefile uses; say in one line what is missing when that is not possible."""

import shutil
import subprocess
import sys
from pathlib import Path


def main(folder: str) -> int:
    if sys.version_info < (3, 11):
        print(
            f"Blazar needs Python 3.11 or newer, this is {sys.version.split()[0]}: make PYTHON=python3.12",
            file=sys.stderr,
        )
        return 1
    try:
        import ensurepip  # noqa: F401  Debian ships venv without it, and then the environment has no pip
        import venv  # noqa: F401
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        print(
            f"Python's venv module is missing; install it with: sudo apt-get install python{version}-venv",
            file=sys.stderr,
        )
        return 1
    fresh = not Path(folder).exists()
    code = subprocess.run([sys.executable, "-m", "venv", folder], check=False).returncode
    if code and fresh:  # half an environment would pass for a whole one at the next make
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
