"""The command line of the PyPI package `aider-chat`, driven without a terminal over all three dialects."""

import json
import subprocess

from tests.matrix.agents import NOTE, Desk, Ran, desk
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, REWRITTEN, THOUGHT

AIDER = Client("aider (PyPI)", needs=("agent:aider",), heavy=True)
CHAT, MESSAGES, OLLAMA, GENERATE = "/v1/chat/completions", "/v1/messages", "/api/chat", "/api/generate"
LANES = {CHAT: "openai", MESSAGES: "anthropic", OLLAMA: "ollama_chat", GENERATE: "ollama"}
ALONE = (
    "--yes-always",
    "--no-check-update",
    "--no-analytics",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--no-pretty",
    "--no-gitignore",
    "--no-fancy-input",
    "--no-detect-urls",
)
PRICES = {"gateway/none": {"max_input_tokens": 1}}
"""Without a list of prices in its cache it asks another host for one."""
SCRIPT = "echo ran > ran.txt\necho the seal is broken\nexit 3\n"


def aider(target: Target, at: Desk, route: str, *words: str, role: str = "scripted", git: bool = False) -> Ran:
    """One run; the route decides by which of its lanes it asks."""
    caches = at.home / ".aider" / "caches"
    caches.mkdir(parents=True, exist_ok=True)
    (caches / "model_prices_and_context_window.json").write_text(json.dumps(PRICES))
    env = {
        "OPENAI_API_BASE": target.v1,
        "OPENAI_API_KEY": target.key,
        "ANTHROPIC_API_BASE": target.url,
        "ANTHROPIC_API_KEY": target.key,
        "OLLAMA_API_BASE": target.url,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    model = f"{LANES[route]}/{target.model(role) if role else 'no-such-model'}"
    return at.run("aider", [*ALONE, *(() if git else ("--no-git",)), "--model", model, *words], env)


def flat(ran: Ran) -> str:
    """What it wrote, in one line: it wraps long sentences."""
    return " ".join(ran.said.split())


def answers(route: str) -> None:
    """The checks that hold on every lane: words streamed and whole, a file that is really rewritten, a second turn."""
    lane = LANES[route]

    def a_message_is_answered(target: Target) -> None:
        with desk() as at:
            assert HELLO in aider(target, at, route, "--message", "say hi").well().said

    def a_message_is_answered_at_once(target: Target) -> None:
        with desk() as at:
            ran = aider(target, at, route, "--no-stream", "--message", "say hi").well()
        assert HELLO in ran.said
        assert f", {HELLO_TOKENS} received" in ran.said

    def a_file_is_rewritten(target: Target) -> None:
        with desk() as at:
            ran = aider(target, at, route, "--message", "rewrite notes", "notes.txt").well()
            assert (at.work / "notes.txt").read_text().strip() == REWRITTEN
        assert "Applied edit to notes.txt" in ran.said

    streamed = {a_message_is_answered: True, a_message_is_answered_at_once: False, a_file_is_rewritten: True}
    if route == GENERATE:  # there its whole instructions are the last message, with words in them that ask for more
        streamed = {a_file_is_rewritten: True}
    for run, stream in streamed.items():
        AIDER.add(f"{run.__name__}_by_{lane}", route, run, stream=stream)


for each in LANES:
    answers(each)


@AIDER.check(CHAT, stream=True)
def thoughts_are_shown_apart(target: Target) -> None:
    with desk() as at:
        said = flat(aider(target, at, CHAT, "--message", "please think").well())
    assert said.index("THINKING") < said.index(THOUGHT.strip()) < said.index("ANSWER") < said.index(CONCLUSION)


@AIDER.check(CHAT, stream=True)
def what_a_command_wrote_goes_to_the_model(target: Target) -> None:
    with desk() as at:
        (at.work / "test.sh").write_text(SCRIPT)
        ran = aider(target, at, CHAT, "--message", "/test sh test.sh").well()
        assert (at.work / "ran.txt").read_text() == "ran\n"
    assert "the seal is broken" in ran.said
    assert HELLO in ran.said[ran.said.index("the seal is broken") :]


@AIDER.check(CHAT, stream=True)
def a_test_that_fails_after_an_edit_goes_to_the_model(target: Target) -> None:
    with desk() as at:
        (at.work / "test.sh").write_text(SCRIPT)
        words = ("--auto-test", "--test-cmd", "sh test.sh", "--message", "rewrite notes", "notes.txt")
        ran = aider(target, at, CHAT, *words).well()
        assert (at.work / "ran.txt").exists()
        assert (at.work / "notes.txt").read_text().strip() == REWRITTEN
    assert HELLO in ran.said[ran.said.index("the seal is broken") :]


@AIDER.check(CHAT, stream=True)
def an_edit_is_committed_in_the_models_words(target: Target) -> None:
    with desk() as at:
        git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
        for words in (("init", "--quiet"), ("add", "notes.txt"), ("commit", "--quiet", "-m", "begin")):
            subprocess.run([*git, *words], cwd=at.work, check=True, capture_output=True)
        (at.home / ".gitconfig").write_text("[user]\nname = a\nemail = a@example.org\n")
        aider(target, at, CHAT, "--message", "rewrite notes", "notes.txt", git=True).well()
        log = subprocess.run(["git", "log", "--format=%B"], cwd=at.work, capture_output=True, text=True).stdout
        assert (at.work / "notes.txt").read_text().strip() == REWRITTEN
    assert log.startswith("notes.txt")  # it shows the model the change, in which the words stand that ask for a file
    assert REWRITTEN in log


@AIDER.check(CHAT, stream=True)
def an_architect_hands_its_plan_to_an_editor(target: Target) -> None:
    with desk() as at:
        ran = aider(target, at, CHAT, "--architect", "--message", "say hi", "notes.txt").well()
        assert (at.work / "notes.txt").read_text() == NOTE
    assert ran.said.count(HELLO) == 2


@AIDER.check(CHAT, stream=True)
def a_second_turn_takes_the_first_along(target: Target) -> None:
    with desk() as at:
        aider(target, at, CHAT, "--message", "say hi").well()
        ran = aider(target, at, CHAT, "--restore-chat-history", "--no-stream", "--message", "please think").well()
    assert CONCLUSION in ran.said


@AIDER.check(CHAT, error="NotFoundError")
def an_unknown_model_is_refused_with_the_reason(target: Target) -> None:
    with desk() as at:
        said = flat(aider(target, at, CHAT, "--message", "say hi", role=""))
    assert "NotFoundError" in said
    assert "model 'no-such-model' not found" in said


@AIDER.check(MESSAGES, error="NotFoundError")
def an_unknown_model_is_refused_with_the_reason_by_anthropic(target: Target) -> None:
    with desk() as at:
        said = flat(aider(target, at, MESSAGES, "--message", "say hi", role=""))
    assert "NotFoundError" in said
    assert "no-such-model" in said


@AIDER.check(CHAT, error="ContextWindowExceededError")
def a_prompt_beyond_the_window_is_known_as_such(target: Target) -> None:
    with desk() as at:
        (at.work / "big.txt").write_text("x" * 30_000)
        said = flat(aider(target, at, CHAT, "--message", "say hi", "big.txt"))
    assert "has hit a token limit" in said  # what it says of this error alone
    assert HELLO not in said


@AIDER.check(MESSAGES, error="ContextWindowExceededError")
def a_prompt_beyond_the_window_is_known_as_such_by_anthropic(target: Target) -> None:
    with desk() as at:
        (at.work / "big.txt").write_text("x" * 30_000)
        said = flat(aider(target, at, MESSAGES, "--message", "say hi", "big.txt"))
    assert "has hit a token limit" in said
