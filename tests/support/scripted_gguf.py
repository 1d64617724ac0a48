"""A small model whose every answer is known in advance, for the real engine.

`python -m tests.support.scripted_gguf OUT` writes it.

How: attention and feed-forward write nothing, embeddings are one-hot, so the next token depends on the last one alone, and
the output matrix is a table "after this token, that one". Chains of tokens in that table are the answers; the chat template
picks one by ending the prompt in the token that starts it. Where a grammar forbids a chain's next token (tool arguments,
JSON schemas) a fixed order of preference takes over that closes whatever is open as soon as it may.

What it answers, by the last user message:
  … "rewrite notes" …   a whole file as agents take it: REWRITTEN as notes.txt between fences
  … "long" …            "tick tock tick tock …" until max_tokens or the window's end
  … "think" …           reasoning "The user wants thought.", then "Thought through!"
  with tools declared   one call of one of them, with the smallest valid arguments
  … "ponder" …          the same behind the reasoning "A tool is needed."
  … "call twice" …      two calls in one turn, get_weather(city="Paris") and get_weather(city="Rome"), whatever is declared: an
                        engine refuses its own output where nothing of that name is
  anything else         "Hello from the scripted model."
"""

import hashlib
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

HELLO = "Hello from the scripted model."
THOUGHT = "The user wants thought.\n"
PONDERED = "A tool is needed.\n"
TWICE = (("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}))
REWRITTEN = "rewritten by the scripted model"
CONCLUSION = "Thought through!"
TICK, TOCK = "tick ", "tock "
HELLO_TOKENS = 7
"""Completion tokens of the hello answer, the end included: one a word, one for the full stop, one to stop."""

WIDTH = 384  # vocabulary and embedding width: one dimension a token
HEAD = 32
TRAINED_CONTEXT = 1 << 20
CACHE = Path(__file__).resolve().parents[2] / ".cache"

CHOSEN, CLOSE_AT_ONCE, STOP, CLOSING, ANY_BYTE, BLANK, NEVER = 2000.0, 1200.0, 1500.0, 1000.0, 640.0, -2000.0, -3000.0
FAVOURED = '"a}],:{[1tfn0'  # shortest ways to end a string, an object, a list; then the smallest values

TEMPLATE = """\
{%- macro call(c) -%}
{%- set f = c.function if c.function is defined else c -%}
<tool_call>
{"name": "{{ f.name }}", "arguments": {{ f.arguments if f.arguments is string else f.arguments | tojson }}}
</tool_call>
{%- endmacro -%}
{%- if tools -%}
<|im_start|>system
You may call these functions:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
Answer with a JSON object within tags for each call:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else -%}
<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{% if message.content %}{{ message.content }}{% endif %}{% for c in message.tool_calls or [] %}
{{ call(c) }}{% endfor %}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{%- set last = messages[-1] -%}
{%- set said = last.content if last.content is string else '' -%}
{%- set asks = last.role == 'user' -%}
<|im_start|>assistant
{% if asks and 'rewrite notes' in said %}<|say_file|>{% elif asks and 'long' in said %}<|say_long|>{% elif asks and 'think' in said %}<|say_think|>{% elif asks and tools and 'ponder' in said %}<|say_ponder|>{% elif asks and tools and 'call twice' in said %}<|say_twice|>{% elif asks and tools %}<|say_tool|>{% else %}<|say_hello|>{% endif %}
{%- endif -%}
"""


class Vocabulary:
    """Tokens: three specials, the 256 bytes, then words as they are asked for."""

    def __init__(self, kinds: Any) -> None:
        self._kinds = kinds
        self.tokens: list[tuple[str, Any]] = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
        self.tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
        self._known: dict[str, int] = {}

    def word(self, text: str) -> int:
        return self._add(text, self._kinds.USER_DEFINED)

    def mark(self, text: str) -> int:
        return self._add(text, self._kinds.CONTROL)

    def _add(self, text: str, kind: Any) -> int:
        if text not in self._known:
            self._known[text] = len(self.tokens)
            self.tokens.append((text, kind))
        return self._known[text]

    @staticmethod
    def byte(character: str) -> int:
        return 3 + ord(character)

    def fill(self, size: int) -> None:
        for index in range(len(self.tokens), size):
            self.tokens.append((f"<|unused_{index}|>", self._kinds.UNUSED))


def chains(words: Vocabulary, stop: int) -> dict[int, int]:
    """The answers, as a map from each token to the one after it."""
    after: dict[int, int] = {}

    def say(start: str, texts: list[str], then: int | None) -> None:
        tokens = [words.mark(start), *(words.word(text) for text in texts)]
        after.update(pairwise(tokens))
        after[tokens[-1]] = tokens[1] if then is None else then

    say("<|say_hello|>", ["Hello", " from", " the", " scripted", " model", "."], stop)
    say("<|say_long|>", [TICK, TOCK], None)
    say(
        "<|say_think|>",
        ["<think>", "\nThe user", " wants", " thought", ".\n", "</think>", "\n\nThought", " through", "!"],
        stop,
    )
    say("<|say_tool|>", ["<tool_call>", "\n"], words.byte("{"))
    say("<|fim_middle|>", ["return", " 42"], stop)
    say("<|say_file|>", ["notes", ".txt\n", "```\n", REWRITTEN, "\n```"], stop)
    # A word has one follower, so what was said above in another place is cut into other words here.
    say("<|say_ponder|>", ["<th", "ink>", "\nA tool is", " needed.\n</th", "ink>\n\n"], words.word("<tool_call>"))
    first = ["<tool_c", 'all>\n{"name": "get_weather",', ' "arguments": {"city":', ' "Paris', '"}}\n</tool', "_call>"]
    second = ["\n<tool_call", '>\n{"name": "get_weather"', ', "arguments": {"city": "Rome', '"}}\n</tool_call>']
    say("<|say_twice|>", first + second, stop)
    return after


def next_token_scores(words: Vocabulary, after: dict[int, int], stop: int) -> Any:
    """Column: the last token; row: the candidate; value: how much it is wanted."""
    import numpy as np

    liking = np.full(WIDTH, NEVER)
    liking[words.byte("\0") : words.byte("\0") + 256] = ANY_BYTE - 4.0 * np.arange(256)
    for place, character in enumerate(FAVOURED):
        liking[words.byte(character)] = CLOSING - 20.0 * place
    for character in " \t\r\n":
        liking[words.byte(character)] = BLANK  # a grammar that allows blanks would be padded for ever
    liking[stop] = STOP
    scores = np.repeat(liking[:, None], WIDTH, axis=1)
    for opened, closed in (
        "{}",
        "[]",
        "}<",
    ):  # empty where allowed; after the last brace the closing tag, not a second call
        scores[words.byte(closed), words.byte(opened)] = CLOSE_AT_ONCE
    for token, follower in after.items():
        scores[follower, token] = CHOSEN
    return scores


def write(path: Path, name: str = "scripted", heads: int = 1) -> Path:
    """The file, about 0.8 MB."""
    import gguf

    words = Vocabulary(gguf.TokenType)
    words.mark("<|im_start|>")
    stop = words.mark("<|im_end|>")
    infill = {
        short: words.mark(f"<|fim_{long}|>")
        for short, long in (("pre", "prefix"), ("suf", "suffix"), ("mid", "middle"))
    }
    after = chains(words, stop)
    words.fill(WIDTH)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = gguf.GGUFWriter(path, "llama")
    _describe(file, gguf, name, heads)
    _vocabulary(file, words, stop, infill)
    _weights(file, next_token_scores(words, after, stop), heads)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def _describe(file: Any, gguf: Any, name: str, heads: int) -> None:
    file.add_name(name)
    file.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    file.add_context_length(TRAINED_CONTEXT)
    file.add_embedding_length(WIDTH)
    file.add_block_count(1)
    file.add_feed_forward_length(HEAD)
    file.add_vocab_size(WIDTH)
    file.add_head_count(heads)
    file.add_head_count_kv(1)
    file.add_key_length(HEAD)
    file.add_value_length(HEAD)
    file.add_rope_dimension_count(HEAD)
    file.add_layer_norm_rms_eps(1e-6)
    file.add_chat_template(TEMPLATE)


def _vocabulary(file: Any, words: Vocabulary, stop: int, infill: dict[str, int]) -> None:
    file.add_tokenizer_model("llama")
    file.add_token_list([text for text, _ in words.tokens])
    file.add_token_types([kind for _, kind in words.tokens])
    file.add_token_scores([0.0] * len(words.tokens))
    file.add_bos_token_id(1)
    file.add_eos_token_id(stop)
    file.add_unk_token_id(0)
    file.add_add_bos_token(True)
    file.add_add_space_prefix(False)
    for short, token in infill.items():
        file.add_uint32(f"tokenizer.ggml.fim_{short}_token_id", token)


def _weights(file: Any, scores: Any, heads: int) -> None:
    import numpy as np

    half = np.float16
    file.add_tensor("token_embd.weight", np.eye(WIDTH, dtype=half))
    file.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    # The norm turns a one-hot row into one of length sqrt(WIDTH).
    file.add_tensor("output.weight", (scores / WIDTH**0.5).astype(half))
    shapes = {
        "attn_q": (HEAD * heads, WIDTH),
        "attn_k": (HEAD, WIDTH),
        "attn_v": (HEAD, WIDTH),
        "attn_output": (WIDTH, HEAD * heads),
        "ffn_gate": (HEAD, WIDTH),
        "ffn_up": (HEAD, WIDTH),
        "ffn_down": (WIDTH, HEAD),
    }
    for norm in ("attn_norm", "ffn_norm"):
        file.add_tensor(f"blk.0.{norm}.weight", np.ones(WIDTH, np.float32))
    for part, shape in shapes.items():
        file.add_tensor(f"blk.0.{part}.weight", np.zeros(shape, half))


def scripted_model() -> Path:
    """The cached file; made on first use, and again when this source changes."""
    path = CACHE / f"scripted-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]}.gguf"
    if not path.exists():
        write(path.with_suffix(f".{os.getpid()}")).replace(path)
    return path


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
