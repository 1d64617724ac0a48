"""Stand-ins for cmake, ninja and gcc that "compile" a server at once: whatever program a test hands them."""

import os
from pathlib import Path

CMAKE = """#!/bin/sh
[ "$1" = --version ] && { echo cmake version 3.25.1; exit; }
while [ "$1" != -B ]; do [ "$1" = -S ] && source="$2"; shift; done
[ -f "$source/CMakeLists.txt" ] || { echo "CMake Error: no sources at $source"; exit 1; }
mkdir -p "$2/bin"
"""
NINJA = """#!/bin/sh
[ -e "{broken}" ] && {{ echo "x.cpp:1:1: error: no room"; exit 1; }}
for name in llama-quantize llama-imatrix llama-perplexity llama-bench; do
  printf '#!/bin/sh\\n' > "$2/bin/$name"; chmod 755 "$2/bin/$name"
  echo "[1/5] $name"
done
cp "{server}" "$2/bin/llama-server"; echo "[5/5] llama-server"
"""
COMPILER = "#!/bin/sh\necho 12.2.0\n"


class StandInTools:
    """A folder for the front of PATH. While `broken` exists, compiling fails."""

    def __init__(self, folder: Path, server: Path) -> None:
        folder.mkdir(parents=True)
        self.broken = folder / "broken"
        ninja = NINJA.format(server=server, broken=self.broken)
        for name, text in {"cmake": CMAKE, "ninja": ninja, "gcc": COMPILER, "g++": COMPILER}.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        self.path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
