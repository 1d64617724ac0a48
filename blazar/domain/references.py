"""What a word means that names a model elsewhere: `hf:owner/repo[:QUANT]`, an ollama reference, their web addresses, a file's address.

Says which registry is meant and asks none. One grammar for all who ask: `pull` takes every word as a reference, `fit` and `run` only
what a catalog's name cannot be (`parse_reference`), or what the catalog lacks (`implied_reference`).
"""

import re
from collections.abc import Collection
from hashlib import sha256
from typing import Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.addresses import is_loopback
from blazar.domain.errors import BadName, Malformed
from blazar.domain.harmless import public
from blazar.domain.names import LONGEST_NAME, check_name, name_from_file, untagged
from blazar.domain.weight_names import SUFFIX, quant_of, shard_of

HF = "hf"
OLLAMA = "ollama"
URL = "url"
DEFAULT_TAG = "latest"
"""What ollama's clients append where no tag is meant, to references to Hugging Face too."""
LIBRARY = "library/"
"""The namespace of ollama's registry whose models are called by their bare names."""

LONGEST = 2000
"""Characters of a reference: addresses with a signature in their query are the longest."""
_KEPT_AS = "blazar-kept="
_KEPT = re.compile(rf"{_KEPT_AS}[0-9a-f]{{64}}")
_VIEWER = re.compile(r"(?:^|&)show_file_info=([^&]+)")
"""The query by which Hugging Face's pages open a file's details."""
_LONGEST_FILE = 250
"""Characters of a file's name; file systems take 255 bytes."""
_LONGEST_PATH = 500
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_TAG = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
_HF = re.compile(rf"(?P<repo>{_PART}/{_PART})(?::(?P<tag>[A-Za-z0-9][A-Za-z0-9._+-]{{0,199}}))?")
"""A tag may be a file's stem, where a repository holds several models."""
_PAGE = re.compile(
    rf"(?P<repo>{_PART}/{_PART})(?:/(?:tree|blob|resolve|raw)/main(?P<path>/[^?#]*)?)?/?(?:\?(?P<query>[^#]*))?"
)
"""An address of a repository or of one of its files as a browser shows it; what hangs on it is a query at most."""
_FILE = re.compile(rf"(?P<repo>{_PART}/{_PART})/(?!(?:tree|blob|resolve|raw)/)(?P<path>[^?#:]+)")
"""A file of a repository; what browsers put between the two is no folder of it."""
_FILES = (SUFFIX, ".safetensors", ".sft")
_OLLAMA = re.compile(rf"(?P<repo>(?:{_PART}/)?{_PART})(?::(?P<tag>{_TAG}))?")
_HOST = r"(?:\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::[0-9]{1,5})?"
_HOSTED = re.compile(rf"(?P<host>{_HOST})/(?P<model>{_OLLAMA.pattern})")
_ADDRESS = re.compile(
    rf"(?P<scheme>https?)://(?P<host>{_HOST})(?P<path>/[^\s?#]*)(?P<query>\?[^\s#]*)?(?:#\S*)?", re.IGNORECASE
)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SIZED = re.compile(
    r"(?P<model>.+?)-(?P<tag>[ae]?[0-9]+(?:\.[0-9]+)?(?:x[0-9]+(?:\.[0-9]+)?)?[bmt](?:-.*)?)", re.IGNORECASE
)
"""A name that ends in a size or goes on behind one: `0.6b`, `8x7b`, `135m`, `e2b` (gemma3n)."""
_FORMAT = re.compile(r"[-_.]gguf$", re.IGNORECASE)
"""What publishers end a repository's name with: it says the format, not the model."""

HUB: Final = "https://huggingface.co"
"""Who is asked for repositories where nothing else is set, and the variables that set it: of two the first counts."""
HUB_VARIABLES: Final = ("BLAZAR_REGISTRY_BASE", "HF_ENDPOINT")
_SITES = {"huggingface.co": HF, "hf.co": HF, "ollama.com": OLLAMA}
_HOSTS = {"registry.ollama.ai": OLLAMA, **_SITES, **{f"www.{host}": kind for host, kind in _SITES.items()}}
# The rest of the word is judged by the registry's own grammar.
_PREFIXES = (
    *((f"{scheme}{host}/", kind) for scheme in ("https://", "http://", "") for host, kind in _HOSTS.items()),
    ("hf://", HF),
    ("hf:", HF),
    ("ollama://", OLLAMA),
    ("ollama:", OLLAMA),
)


class RemoteRef(NamedTuple):
    """A model of a registry. `tag` is a quantisation (hf; "" where none is said) or a tag (ollama).

    `file` is the one file of a repository that is meant (hf; `tag` is its stem then), or the address itself (url). `host` is another
    registry than the usual one of its kind. `str()` is a reference that means the same.
    """

    registry: str
    repo: str
    tag: str = ""
    file: str = ""
    host: str = ""

    def __str__(self) -> str:
        if self.registry == URL:
            return self.file
        if self.registry == HF and self.file:
            return f"{HF}:{self.repo}/{self.file}"
        return f"{self.host}/" * bool(self.host) + f"{self.registry}:" * (not self.host) + self._tagged()

    def is_spelled(self, reference: str) -> bool:
        """Whether a reference means the same. Case counts in an address, and in no registry's names."""
        if self.registry == URL:
            return self.kept == kept_address(reference)
        return str(self).lower() == reference.lower()

    @property
    def kept(self) -> str:
        """The same as it is written down: what may be a secret of an address can be compared, and not read."""
        return kept_address(str(self)) if self.registry == URL else str(self)

    @property
    def public(self) -> str:
        """The same as sentences have it."""
        return public(str(self))

    def _tagged(self) -> str:
        return f"{self.repo}:{self.tag}" if self.tag else self.repo


def kept_address(address: str) -> str:
    """Without its query, which may be a signature: its hash stands in its place. What is kept so stays as it is."""
    place, asked, query = address.partition("?")
    if not asked or _KEPT.fullmatch(query):
        return address
    return f"{place}?{_KEPT_AS}{sha256(address.encode('utf-8', 'replace')).hexdigest()}"


def is_kept(address: str) -> bool:
    """Whether it is one of which only that is known, so that nobody can be asked for it."""
    return _KEPT.fullmatch(address.partition("?")[2]) is not None


def names_registry(text: str) -> bool:
    """Whether a word begins as references do; what follows may still be no name."""
    return text.lower().startswith(tuple(prefix for prefix, _ in _PREFIXES))


def parse_reference(text: str, hosts: Collection[str] | None = None) -> RemoteRef | None:
    """The registry's model that `text` names outright; raises `Malformed` when what follows the prefix is no name there.

    `hosts` as `pull_reference` has them; None where none but the usual can be asked.
    """
    for prefix, registry in _PREFIXES:
        if text.lower().startswith(prefix):
            return _hf(text[len(prefix) :], text) if registry == HF else _ollama(text[len(prefix) :], text, hosts)
    return None


def implied_reference(name: str) -> RemoteRef | None:
    """What a name that the catalog lacks may mean: `owner/repo[:QUANT]` on Hugging Face, `name:tag` in ollama's registry.

    A bare word is neither: a mistyped model of the catalog must not be asked for elsewhere.
    """
    if name.lower().endswith(SUFFIX) or not {":", "/"} & set(name):
        return None
    return _plain_word(name)


def pull_reference(text: str, hosts: Collection[str] = ()) -> RemoteRef:
    """What `pull` is asked for: any spelling, a bare word too, which is a model of ollama's library.

    `hosts` are other registries that speak ollama's protocol, as configured. Raises `Malformed` for what names no model elsewhere.
    """
    word = _untagged(text.strip())
    if not word or len(word) > LONGEST:
        raise _no_reference(word)
    if (named := parse_reference(word, hosts)) is not None:
        return named
    plain = word.rstrip("/") or word  # an address of a folder may end so
    if _is_path(plain):
        raise Malformed(teaching.pull_is_a_path(_public_path(word)[:200]), "model")
    if "://" in word:
        return _address(word, hosts)
    found = _hosted(plain, hosts) or _plain_word(plain) or _file(word, word)
    if found is None:
        raise _no_reference(word)
    return found


def at_home(text: str, hub: str) -> str:
    """An address of one's own hub, as its pages show it, in the words for Hugging Face's; anything else as it is."""
    word, base = text.strip(), hub.rstrip("/") + "/"
    return f"hf://{word[len(base) :]}" if hub and word.lower().startswith(base.lower()) else text


def host_of(text: str) -> str:
    """The registry's host that `text` names, if it names one; what is no host is none that anybody has configured."""
    return text.strip().rpartition("://")[2].partition("/")[0]


def candidates(ref: RemoteRef) -> tuple[RemoteRef, ...]:
    """What to ask for in turn, until there is one of them.

    ODD: a dash before a size is a colon first: `qwen3-0.6b` is `qwen3:0.6b`. Names of ollama's library hold no sizes, those are tags;
    people, file names and this catalog write them with a dash.
    """
    sized = _SIZED.fullmatch(ref.repo.removeprefix(LIBRARY))
    if ref.registry != OLLAMA or not ref.repo.startswith(LIBRARY) or ref.tag != DEFAULT_TAG or sized is None:
        return (ref,)
    return ref._replace(repo=LIBRARY + sized["model"], tag=sized["tag"]), ref


def catalog_name(ref: RemoteRef, quant: str = "") -> str:
    """What the catalog calls what was pulled as `ref`; the same for the same reference, whatever else there is.

    Ollama's clients ask for what they pulled as they named it: `qwen3:0.6b`, and `qwen3` where no tag was meant. A model of Hugging
    Face is called as its file would be on import: the repository's name with `quant`, else with the one that the reference says.
    """
    if ref.registry == OLLAMA:
        tag = ref.tag.lstrip("_.-")
        return untagged(f"{ref.repo.removeprefix(LIBRARY)}:{tag or DEFAULT_TAG}")
    if ref.registry == URL:
        return _cut(ref.repo)
    said, base = quant or ref.tag, _FORMAT.sub("", ref.repo.rpartition("/")[2])
    if said and quant_of(said) == said.upper():
        return _cut(base if quant_of(base) == said.upper() else f"{base}-{said}")
    if ref.file and not said:
        said = ref.file.rpartition("/")[2].rpartition(".")[0]
    return _cut(said or base)  # what is no quantisation is a file's stem, which names the model itself


def client_name(text: str) -> str:
    """The name that a client of ollama's API asks for after it pulled `text`: what it said. "" where that is no name of a catalog."""
    word = untagged(text.strip())
    try:
        return "" if _is_path(word) or word.lower().startswith(("hf:", "ollama:")) else check_name(word)
    except BadName:
        return ""


def _untagged(word: str) -> str:
    """Clients append `:latest` to whatever they take for a name without a tag: behind another tag, or a file, it says nothing."""
    plain = untagged(word)
    return plain if ":" in plain.rpartition("/")[2] or plain.lower().endswith(_FILES) else word


def _cut(stem: str) -> str:
    return name_from_file(name_from_file(stem)[:LONGEST_NAME])


def _no_reference(whole: str) -> Malformed:
    return Malformed(teaching.bad_reference(public(whole)[:200]), "model")


def _public_path(word: str) -> str:
    """A file may be called anything; what only ends like one may be an address with a password."""
    here = word.startswith(("/", ".", "~")) or _DRIVE.match(word) is not None
    return word if here else public(word)


def _is_path(word: str) -> bool:
    """Whether it names a file here. What has one slash and ends like a file is one, too: a repository's file has two."""
    low = word.lower()
    here = word.startswith(("/", "./", "../", "~")) or word in {".", ".."} or "\\" in word or low.startswith("file:")
    return here or _DRIVE.match(word) is not None or (low.endswith(_FILES) and word.count("/") < 2)


def _plain_word(word: str) -> RemoteRef | None:
    """`owner/repo[:QUANT]`, `library/model[:tag]` or `model[:tag]`."""
    if "/" in word and not word.lower().startswith(LIBRARY):
        match = _HF.fullmatch(word)
        return _repository(match) if match is not None and _plain(match["repo"]) else None
    match = _OLLAMA.fullmatch(word)
    return _tagged(match) if match is not None and _plain(match["repo"]) else None


def _repository(match: re.Match[str]) -> RemoteRef:
    tag = match["tag"] or ""
    return RemoteRef(HF, match["repo"], "" if tag.lower() == DEFAULT_TAG else tag)


def _tagged(match: re.Match[str], host: str = "") -> RemoteRef:
    namespace, _, model = match["repo"].rpartition("/")
    if namespace.lower() in ("", "library"):
        namespace = "library"
    tag = match["tag"] or DEFAULT_TAG
    return RemoteRef(OLLAMA, f"{namespace}/{model}", DEFAULT_TAG if tag.lower() == DEFAULT_TAG else tag, host=host)


def _hf(rest: str, whole: str) -> RemoteRef:
    match = _HF.fullmatch(rest.rstrip("/"))
    if match is not None and _plain(match["repo"]):
        return _repository(match)
    # The prefixes without slashes are ours: what follows them is no address.
    page = None if whole.lower().startswith("hf:") and not whole.lower().startswith("hf://") else _PAGE.fullmatch(rest)
    if page is None or not _plain(page["repo"]):
        found = _file(rest, whole)
        if found is None:
            raise _no_reference(whole)
        return found
    opened = _VIEWER.search(page["query"] or "")
    path = unescaped(page["path"] or (opened[1] if opened else "")).strip("/")
    if path.lower().endswith(_FILES):
        return _one_file(page["repo"], path, whole)
    if "." in path.rpartition("/")[2] and "/blob/" in whole:
        raise _no_reference(whole)
    return RemoteRef(HF, page["repo"])


def _file(rest: str, whole: str) -> RemoteRef | None:
    """`owner/repo/path/to/weights`; None for what is written otherwise."""
    match = _FILE.fullmatch(rest)
    if match is None or not _plain(match["repo"]) or not match["path"].lower().endswith(_FILES):
        return None
    return _one_file(match["repo"], match["path"], whole)


def _one_file(repo: str, path: str, whole: str) -> RemoteRef:
    """Its stem without shard marker stands for its quantisation."""
    name = path.rpartition("/")[2]
    stem = name[: -len(SUFFIX)] if name.lower().endswith(SUFFIX) else ""
    if (shard := shard_of(name)) is not None:
        stem = shard.stem
    fine = (
        path.isprintable() and not set("\\?#:") & set(path) and all(p not in ("", ".", "..") for p in path.split("/"))
    )
    if not fine or len(path) > _LONGEST_PATH or len(name) > _LONGEST_FILE or name.startswith("."):
        raise _no_reference(whole)
    return RemoteRef(HF, repo, stem, path)


def unescaped(text: str) -> str:
    """An address as it was meant: `%2D` is a hyphen (RFC 3986)."""
    raw = text.encode(errors="replace")
    return _ESCAPED.sub(lambda match: bytes.fromhex(match[1].decode()), raw).decode(errors="replace")


def _ollama(rest: str, whole: str, hosts: Collection[str] | None) -> RemoteRef:
    word = rest.rstrip("/")
    if "ollama.com/" in whole.lower():
        word = word.removesuffix("/tags")  # its page of all tags
    match = _OLLAMA.fullmatch(word)
    if match is not None and _plain(match["repo"]):
        return _tagged(match)
    found = None if hosts is None else _hosted(word, hosts)
    if found is None:
        raise _no_reference(whole)
    return found


def _hosted(word: str, hosts: Collection[str]) -> RemoteRef | None:
    """A model of a registry that is named by its host; None where what stands first is no host.

    A first part with a dot is one only in front of two more (`a.b/c` is Hugging Face's), or if it is configured.
    """
    match = _HOSTED.fullmatch(word)
    if match is None or not _plain(match["repo"]):
        return None
    host = match["host"].lower()
    if host in _HOSTS:
        return None
    if host not in {known.lower() for known in hosts}:
        dotted = ("." in host or host == "localhost") and "/" in match["repo"] and not word.lower().endswith(_FILES)
        if dotted or ":" in host or "[" in host:
            raise Malformed(teaching.registry_not_configured(host, tuple(hosts)), "model")
        return None
    return _tagged(match, host)


def _address(word: str, hosts: Collection[str]) -> RemoteRef:
    """`https://…/x.gguf`, or a registry's model as some clients write it."""
    match = _ADDRESS.fullmatch(word)
    if match is None or not word.isprintable():
        raise _no_reference(word)
    host = match["host"].lower()
    name, _, port = host.partition("]")[2].rpartition(":") if host.startswith("[") else host.partition(":")
    if int(port or 0) > 65535:
        raise _no_reference(word)
    bare = host.partition("]")[0].lstrip("[") if host.startswith("[") else name
    if match["scheme"].lower() == "http" and not is_loopback(bare):
        raise Malformed(teaching.reference_insecure(host), "model")
    file = unescaped(match["path"].rpartition("/")[2])
    if not file.lower().endswith(SUFFIX):
        found = _hosted(word.partition("://")[2].rstrip("/"), hosts)
        if found is None:
            raise Malformed(teaching.address_no_gguf(public(word)[:200]), "model")
        return found
    stem = file[: -len(SUFFIX)]
    if (
        not stem
        or not file.isprintable()
        or len(file) > _LONGEST_FILE
        or {"/", "\\"} & set(file)
        or stem.startswith(".")
    ):
        raise _no_reference(word)
    return RemoteRef(URL, stem, file=f"{match['scheme'].lower()}://{host}{match['path']}{match['query'] or ''}")


def _plain(repo: str) -> bool:
    """Two dots would climb out of a path."""
    return ".." not in repo
