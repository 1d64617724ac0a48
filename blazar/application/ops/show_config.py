"""The running configuration as an answer: values without secrets, who set them, what waits for a restart, what is wrong with the file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from blazar.application.config.live import LiveConfig
from blazar.application.config.render import redacted
from blazar.domain.wire.stamps import rfc3339


@dataclass(frozen=True, slots=True)
class ShowConfig:
    """`path` is where the file is, or would be; `behind` looks whether it says more by now."""

    live: LiveConfig
    path: str
    behind: Callable[[], bool] = bool

    def __call__(self) -> dict[str, Any]:
        """`origins` has an entry for every key that is not at its default."""
        behind = self.behind()  # first: what is read meanwhile is shown as behind, never the other way round
        loaded, refused = self.live.loaded, self.live.refused
        return {
            "path": self.path,
            "behind": behind,
            "values": redacted(loaded.config),
            "origins": {
                key: {"layer": origin.layer, "where": origin.where}
                for key, origin in loaded.origins.items()
                if origin.layer != "default"
            },
            "restart_needed": list(self.live.pending),
            "refused": None
            if refused is None
            else {"since": rfc3339(refused.since), "problems": list(refused.problems)},
        }
