"""Port or socket, key or none."""

from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.config.layers import load_config
from blazar.application.ports.children import LaunchPlan
from blazar.application.supervise.endpoint import LOOPBACK, Endpoint, endpoint_for, endpoint_words
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind

KEYLESS = replace(LLAMACPP, kind=EngineKind.MLX, key_file_flag="", sockets=False)
UNIX = 'child_transport = "unix"\n'


def endpoint(text="", driver=LLAMACPP, folder="/data/run", key="org/m:tag"):
    settings = load_config(text, "config.toml").config.settings_for("m")
    return endpoint_for(settings, key, driver, folder)


@pytest.mark.parametrize(
    ("text", "socket", "auth"),
    [
        ("", "", True),
        ("child_auth = true", "", True),
        ("child_auth = false", "", False),
        (UNIX, "/data/run/org%2Fm%3Atag.sock", False),
        (UNIX + "child_auth = true", "/data/run/org%2Fm%3Atag.sock", True),
        (UNIX + "child_auth = false", "/data/run/org%2Fm%3Atag.sock", False),
    ],
)
def test_unset_means_a_key_on_a_port_and_none_on_a_socket(text, socket, auth):
    """And what is said is done."""
    assert endpoint(text) == Endpoint(socket, auth)


def test_a_kind_without_sockets_stays_on_a_port_and_says_so():
    """It gets no key, whatever is configured (D21); `explain` says so."""
    note = teaching.socket_unknown_to_kind("mlx")
    assert endpoint(UNIX + "child_auth = true", KEYLESS) == Endpoint("", False, (note,))
    assert endpoint("child_auth = true", KEYLESS) == Endpoint("", False)


def test_a_path_that_cannot_be_bound_is_refused_before_anything_starts():
    """On a port the length of a folder is nobody's business."""
    deep = "/" + "f" * 200
    with pytest.raises(Malformed, match="the data folder is too long"):
        endpoint(UNIX, folder=deep)
    assert endpoint(folder=deep) == Endpoint()


def words(plan: LaunchPlan, driver=LLAMACPP, running=()) -> list[str]:
    return [word for one in endpoint_words(plan, driver, running) for word in one.words]


def test_the_words_of_an_endpoint_are_told_as_far_as_they_are_known():
    """In the spelling and order of the start; of a child that runs the port and the file are real."""
    plan = LaunchPlan("m", "m", LLAMACPP.kind, "b1", ())
    assert words(plan) == ["--host", LOOPBACK, "--port", "PORT", "--api-key-file", "FILE"]
    real = ("--host", LOOPBACK, "--port", "4000", "--api-key-file", "/run/m.apikey")
    assert words(plan, running=real) == list(real)
    assert words(plan, KEYLESS) == ["--host", LOOPBACK, "--port", "PORT"]
    assert words(plan._replace(auth=False)) == ["--host", LOOPBACK, "--port", "PORT"]
    assert words(plan._replace(socket="/run/m.sock", auth=False), running=real) == ["--host", "/run/m.sock"]
