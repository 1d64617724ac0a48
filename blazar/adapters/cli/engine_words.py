"""The words of `engine`: its verbs, their options and their help. Loaded where they can be meant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family, Word

KINDS = [kind.value for kind in EngineKind]

EXAMPLES = {
    "list": """\
examples:
  blazar engine list                       every build, and which one serves
  blazar engine list --json                with source, digest and architectures
  blazar engine list --available           forks that the registry offers
""",
    "install": """\
examples:
  blazar engine install                    the newest llama.cpp of the channel
  blazar engine install --tag b11434       that release
  blazar engine install --kind sdcpp       the engine that draws
  blazar engine install --kind mlx --backend cpu
  blazar engine install llama-b11434-bin-ubuntu-x64.tar.gz --sha256 HEX
                                           a file, with its published checksum
""",
    "update": """\
examples:
  blazar engine update                     llama.cpp, unless the newest is slower
  blazar engine update --kind sdcpp        another engine
""",
    "check": """\
examples:
  blazar engine check                      what an update would bring, kind by kind

exit code: 0 whether or not something newer is out, also where nobody had to be asked;
1 where a kind could not be looked up
""",
    "build": """\
examples:
  blazar engine build cpu                  the newest release, from its sources
  blazar engine build cuda --release b11434 --jobs 8
  blazar engine build cpu --source llama.cpp-b11434.tar.gz --sha256 HEX
""",
    "use": """\
examples:
  blazar engine use b11434                 models that load from now on run on it
""",
    "rollback": """\
examples:
  blazar engine rollback                   the llama.cpp before this one
  blazar engine rollback --kind sdcpp      the same for another engine
""",
    "pin": """\
examples:
  blazar engine pin b11434                 it stays as it is until it is unpinned
""",
    "unpin": """\
examples:
  blazar engine unpin b11434               updates and pruning may take it again
""",
    "rm": """\
examples:
  blazar engine rm b11400                  a build that serves nothing any more
""",
}
"""Below the help of each verb."""


def add_engines(verbs: "Family") -> None:
    """`engine` and all below it."""
    engine = verbs.group(
        "engine",
        "list, install, update, build, choose and remove engine builds",
        "list|install|update|check|build|use|rollback|pin|unpin|rm",
    )
    listed = _add(engine, "list", "list the engine builds, the active one of each kind first", aliases=["ls"])
    listed.add_argument("--available", action="store_true", help="list what the capability registry offers instead")
    listed.add_argument("--pinned", action="store_true", help="only builds that are pinned")
    listed.add_argument("--pinnable", action="store_true", help="only builds that can be pinned, and are not")
    _add_install(engine)
    _add_update(engine)
    _add_build(engine)
    use = _add(engine, "use", "make a build the active one of its kind")
    use.add_argument("tag", metavar="TAG")
    rollback = _add(engine, "rollback", "make the build active that was it before")
    rollback.add_argument("--kind", choices=KINDS, default="llamacpp", metavar="K", help=_KIND)
    pin = _add(engine, "pin", "hold a build: no update, pruning or retirement touches it")
    pin.add_argument("tag", metavar="TAG")
    unpin = _add(engine, "unpin", "let go of a build that was pinned")
    unpin.add_argument("tag", metavar="TAG")
    remove = _add(engine, "rm", "remove a build that nothing runs on")
    remove.add_argument("tag", metavar="TAG")


def _add(engine: "Family", name: str, text: str, aliases: Sequence[str] = ()) -> "Word":
    return engine.add(name, text, aliases=aliases, action=f"engine-{name}", host=False, more=EXAMPLES[name])


_KIND = f"of this kind: {', '.join(KINDS)} (default: llamacpp)"


def _add_install(engine: "Family") -> None:
    install = _add(
        engine, "install", "install a release beside the builds that are there: downloaded, or from an archive"
    )
    install.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a .tar.gz, .tar.xz or .zip as the engine's project publishes it "
        "(default: the release that the channel has is downloaded)",
    )
    install.add_argument(
        "--sha256", metavar="HEX", help="its checksum as published; required for FILE, else the release's own is taken"
    )
    install.add_argument(
        "--tag", metavar="T", help="name of the build (default: from the archive); without FILE the release to download"
    )
    install.add_argument(
        "--asset",
        metavar="NAME",
        help="without FILE: a flavor such as cpu, vulkan, cuda-12.8, or a file of the release (default: engine_asset)",
    )
    install.add_argument("--kind", choices=KINDS, default="llamacpp", metavar="K", help=_KIND)
    install.add_argument(
        "--lane", metavar="NAME", help="a fork that the capability registry lists (engine list --available)"
    )
    install.add_argument(
        "--fork", metavar="OWNER/NAME@SHA", help="a fork of llama.cpp at one commit; it is built here, and pinned"
    )
    install.add_argument(
        "--arch", action="append", default=[], metavar="NAME", help="an architecture that the fork serves; repeatable"
    )
    install.add_argument(
        "--backend",
        choices=["cpu", "cuda", "metal"],
        metavar="B",
        help="what mlx, sglang or a fork is to compute with: cpu, cuda, metal (default: the GPU, where there is one)",
    )


def _add_update(engine: "Family") -> None:
    update = _add(
        engine, "update", "install the newest build of the channel and make it the active one, unless it is slower"
    )
    update.add_argument("--kind", choices=KINDS, default="llamacpp", metavar="K", help=_KIND)
    update.add_argument("--no-gate", action="store_true", help="do not compare its speed with the active one's")
    _add(engine, "check", "look for newer builds and install nothing")


def _add_build(engine: "Family") -> None:
    build = _add(
        engine,
        "build",
        "compile llama.cpp on this machine and install it; needs cmake and a compiler, and for cuda nvcc and nvidia-smi",
    )
    build.add_argument("backend", choices=["cpu", "cuda"], metavar="cpu|cuda", help="what it is to compute with")
    build.add_argument(
        "--source",
        metavar="PATH",
        help="an archive of the sources, or a folder that has them (default: the release's own are fetched)",
    )
    build.add_argument(
        "--sha256", metavar="HEX", help="the archive's checksum as published; required for an archive of --source"
    )
    build.add_argument(
        "--release",
        "--tag",
        dest="tag",
        metavar="T",
        help="the release to build, as b11434 (default: the newest of update_channel, or as the name of --source says)",
    )
    build.add_argument(
        "--jobs", type=jobs, default=0, metavar="N", help="compilers at the same time (default: one for each processor)"
    )


def jobs(text: str) -> int:
    """Argparse calls it so."""
    number = int(text)
    if not 1 <= number <= 1024:
        raise ValueError
    return number
