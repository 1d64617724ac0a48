"""The newest id of each kind that an answer named, so that requests about kept things find some. Decides nothing."""

import re
from typing import Final

from tests.fuzz.client import Reply
from tests.fuzz.mutations import Call

_IDS: Final = re.compile(rb'"id":\s?"((?:chatcmpl|resp|file|batch|msgbatch)[-_][A-Za-z0-9_-]{1,80})"')
_KINDS: Final = {
    "chatcmpl": "completion",
    "resp": "response",
    "file": "file",
    "batch": "batch",
    "msgbatch": "message_batch",
}


class Known:
    """Ids by their kind."""

    def __init__(self) -> None:
        self.newest = dict.fromkeys(_KINDS.values(), "none-yet")

    def learn(self, key: str, call: Call, reply: Reply) -> None:
        """From what was made; a chat completion is kept where that was asked for."""
        if (
            reply.status != 200
            or call.method != "POST"
            or (key == "lane.chat_completions" and b'"store"' not in call.body)
        ):
            return
        for found in _IDS.findall(reply.body[:2000]):
            self.newest[_KINDS[re.split("[-_]", found.decode())[0]]] = found.decode()

    def filled(self, call: Call) -> Call:
        """With ids where a call speaks of their kinds."""
        target, body = call.target, call.body
        for kind, newest in self.newest.items():
            word = "{" + kind + "}"
            if word in target or word.encode() in body:
                target, body = target.replace(word, newest), body.replace(word.encode(), newest.encode())
        return call._replace(target=target, body=body)
