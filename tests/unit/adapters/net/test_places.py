"""Where GitHub is."""

import subprocess
import sys

from blazar.adapters.net.places import API, FILES, ours_of


def test_both_places_are_asked_over_tls() -> None:
    """What is installed from there is run."""
    assert {place.partition(":")[0] for place in (API, FILES)} == {"https"}


def test_a_person_names_hosts_and_addresses() -> None:
    """Hosts as they are; of addresses theirs, without what opens them. What is none names nothing."""
    ours = ours_of(("https://me:secret@Hub.example:8443/x", "", "http://[::1", "nonsense"), "SETTING", ("a.example",))
    assert (ours.hosts, ours.where) == (("a.example", "Hub.example:8443"), "SETTING")


def test_no_http_client_is_loaded() -> None:
    """The daemon reads this as it starts."""
    code = "import sys, blazar.adapters.net.places; print('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
