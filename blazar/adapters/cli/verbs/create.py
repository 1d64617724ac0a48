"""`create`: a Modelfile into a model. What it is made from may be a file, which is imported first; nothing is copied."""

import argparse
import sys
from pathlib import Path

from blazar.adapters.cli.exits import OK
from blazar.adapters.cli.render import clean
from blazar.adapters.cli.root import Root
from blazar.adapters.cli.say import confirm
from blazar.adapters.cli.verbs.models import daemon_of
from blazar.domain import teaching
from blazar.domain.errors import Conflict, NotFound, Refusal
from blazar.domain.modelfile import LARGEST, Modelfile, parse_modelfile
from blazar.domain.overlay import Overlay, silent_parameters


def create(args: argparse.Namespace, root: Root) -> int:
    """Through a daemon that runs (D29); not so adapters, of which it knows only those that were sent to it."""
    read, folder = _read(args.file)
    overlay = read.overlay._replace(adapters=tuple(str(_beside(folder, file)) for file in read.overlay.adapters))
    file = _file_meant(read.sources[0], folder)
    if file is not None:
        _import(root, args.name, file)
    overlay = overlay._replace(base=args.name if file is not None else read.sources[0])
    client, fresh = daemon_of(root), file is not None
    body = _body(args.name, overlay, fresh=fresh)
    if client is None or overlay.adapters:
        if root.target().explicit:
            raise Conflict(teaching.modelfile_path_elsewhere())
        root.models.create(args.name, overlay, fresh=fresh)
        # From itself a model is created as it is: the daemon has only its configuration read again.
        body = {"model": args.name, "from": args.name, "stream": False}
    if client is not None:
        client.call("POST", "/api/create", body, timeout=None)
    _warn(read)
    confirm(args, teaching.model_created(args.name), model=args.name, base=overlay.base)
    return OK


def _read(name: str) -> tuple[Modelfile, Path]:
    """And the folder that paths in it begin at; `-` is standard input."""
    try:
        if name == "-":
            return parse_modelfile(sys.stdin.read(LARGEST + 1)), Path.cwd()
        path = Path(name).expanduser().absolute()
        with path.open(encoding="utf-8") as source:
            return parse_modelfile(source.read(LARGEST + 1)), path.parent
    except UnicodeDecodeError:
        raise Refusal(teaching.modelfile_not_text(name)) from None
    except FileNotFoundError:
        raise NotFound(teaching.no_such_file(name)) from None
    except OSError as error:
        raise Refusal(teaching.modelfile_unreadable(name, error.strerror or str(error))) from None


def _beside(folder: Path, name: str) -> Path:
    return (folder / Path(name).expanduser()).absolute()


def _file_meant(source: str, folder: Path) -> Path | None:
    """The file or folder of weights; None where a model is named."""
    path = _beside(folder, source)
    spelled = source.startswith((".", "/", "~", "\\")) or source.lower().endswith((".gguf", ".safetensors"))
    return path if spelled or path.is_file() else None


def _import(root: Root, name: str, file: Path) -> None:
    if root.target().explicit:
        raise Conflict(teaching.modelfile_path_elsewhere())
    root.models.add(str(file), name)


def _body(name: str, overlay: Overlay, *, fresh: bool) -> dict[str, object]:
    said: dict[str, object] = {
        "template": overlay.template,
        "system": overlay.system,
        "parameters": overlay.parameters,
        "messages": [{"role": role, "content": text} for role, text in overlay.messages],
        "license": list(overlay.license),
        "fresh": fresh,
    }
    return {
        "model": name,
        "from": overlay.base,
        **{key: value for key, value in said.items() if value},
        "stream": False,
    }


def _warn(read: Modelfile) -> None:
    told = [teaching.instructions_silent(read.ignored)] if read.ignored else []
    if len(read.sources) > 1:
        told.append(teaching.modelfile_projector())
    if silent := silent_parameters(read.overlay):
        told.append(teaching.parameters_silent(silent))
    for sentence in told:
        print(clean(teaching.warning(sentence)), file=sys.stderr)
