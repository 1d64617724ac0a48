"""Where GitHub is."""

import subprocess
import sys

from blazar.adapters.net.places import API, FILES


def test_both_places_are_asked_over_tls() -> None:
    """What is installed from there is run."""
    assert {place.partition(":")[0] for place in (API, FILES)} == {"https"}


def test_no_http_client_is_loaded() -> None:
    """The daemon reads this as it starts."""
    code = "import sys, blazar.adapters.net.places; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
