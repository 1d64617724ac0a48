"""Keys of what is written down about the daemon's work. Root-only (D26)."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator

from blazar.application.config.knob import Keys, Knob, also
from blazar.application.config.log_filter import checked_filter, pattern_of_filters

Filter = Annotated[str, AfterValidator(checked_filter), also(pattern=pattern_of_filters())]


class LogKeys(Keys):
    """What is logged, and the audit."""

    title: ClassVar[str] = "Log and audit"
    daemon: ClassVar[bool] = True

    # The order is the precedence: RUST_LOG is shared with other programs, BLAZAR_LOG is meant for us alone.
    log_level: Annotated[Filter | None, Knob(env=("RUST_LOG", "BLAZAR_LOG"))] = None
    """What is logged: a level (off, error, warn, info, debug, trace), or several such as `info,blazar.access=off`."""
    audit_log: bool = True
    """Write one line a generation request (who, what, outcome; never the content) to log/audit.jsonl in the data folder."""
