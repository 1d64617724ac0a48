"""The words of `engine`: its verbs, their options and their help. Loaded where they can be meant."""

from typing import TYPE_CHECKING

from blazar.domain.kinds import EngineKind

if TYPE_CHECKING:
    from blazar.adapters.cli.parser import Family

KINDS = [kind.value for kind in EngineKind]


def add_engines(verbs: "Family") -> None:
    """`engine` and all below it."""
    engine = verbs.group(
        "engine",
        "list, install, update, build, choose and remove engine builds",
        "list|install|update|check|build|use|rollback|pin|unpin|rm",
    )
    listed = engine.add(
        "list",
        "list the engine builds, the active one of each kind first",
        aliases=["ls"],
        action="engine-list",
        host=False,
    )
    listed.add_argument("--available", action="store_true", help="list what the capability registry offers instead")
    _add_install(engine)
    _add_update(engine)
    _add_build(engine)
    use = engine.add("use", "make a build the active one of its kind", action="engine-use", host=False)
    use.add_argument("tag", metavar="TAG")
    rollback = engine.add("rollback", "make the build active that was it before", action="engine-rollback", host=False)
    rollback.add_argument("--kind", choices=KINDS, default="llamacpp", metavar="K", help=_KIND)
    pin = engine.add(
        "pin", "hold a build: no update, pruning or retirement touches it", action="engine-pin", host=False
    )
    pin.add_argument("tag", metavar="TAG")
    unpin = engine.add("unpin", "let go of a build that was pinned", action="engine-unpin", host=False)
    unpin.add_argument("tag", metavar="TAG")
    remove = engine.add("rm", "remove a build that nothing runs on", action="engine-rm", host=False)
    remove.add_argument("tag", metavar="TAG")


_KIND = f"of this kind: {', '.join(KINDS)} (default: llamacpp)"


def _add_install(engine: "Family") -> None:
    install = engine.add(
        "install",
        "install a release beside the builds that are there: downloaded, or from an archive",
        action="engine-install",
        host=False,
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
    update = engine.add(
        "update",
        "install the newest build of the channel and make it the active one, unless it is slower",
        action="engine-update",
        host=False,
    )
    update.add_argument("--kind", choices=KINDS, default="llamacpp", metavar="K", help=_KIND)
    update.add_argument("--no-gate", action="store_true", help="do not compare its speed with the active one's")
    engine.add("check", "look for newer builds and install nothing", action="engine-check", host=False)


def _add_build(engine: "Family") -> None:
    build = engine.add(
        "build",
        "compile llama.cpp on this machine and install it; needs cmake and a compiler, and for cuda nvcc and nvidia-smi",
        action="engine-build",
        host=False,
    )
    build.add_argument("backend", choices=["cpu", "cuda"], metavar="cpu|cuda", help="what it is to compute with")
    build.add_argument(
        "--source", metavar="PATH", help="an archive of the sources, or a folder that has them; required"
    )
    build.add_argument("--sha256", metavar="HEX", help="the archive's checksum as published; required for one")
    build.add_argument("--tag", metavar="T", help="the release that it is, as b11434 (default: from the archive)")
    build.add_argument(
        "--jobs", type=jobs, default=0, metavar="N", help="compilers at the same time (default: one for each processor)"
    )


def jobs(text: str) -> int:
    """Argparse calls it so."""
    number = int(text)
    if not 1 <= number <= 1024:
        raise ValueError
    return number
