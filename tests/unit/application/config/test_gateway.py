"""Who may talk to the listener: origins of web pages, and what this machine is called."""

import pytest

from blazar.domain import teaching
from tests.support.configuration import held, refusal


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "https://app.example",
        "http://10.0.0.2:3000",
        "http://[fd00::1]:8080",
        "HTTPS://App.example/",
        "app://",
        "app://obsidian.md",
        "file://",
        "chrome-extension://abcdef",
    ],
)
def test_an_origin_is_kept_as_it_is_written(origin):
    """A browser's own words, or any."""
    assert held(f"cors_origins = ['{origin}']").cors_origins == (origin,)


@pytest.mark.parametrize(
    "origin",
    ["app.example", "https://", "https://app.example/page", "https://*.example", "https://a?b", "https://a b", "null"],
)
def test_what_no_browser_sends_is_no_origin(origin):
    """Listed, it would allow nobody, and nobody would know why."""
    assert teaching.config_wants("origin") in refusal(f"cors_origins = ['{origin}']")


@pytest.mark.parametrize("host", ["box", "box.lan", "box.lan.", "my_box", "10.0.0.2", "fd00::1", "[fd00::1]", "::1"])
def test_a_host_is_a_name_or_an_address(host):
    """As it stands in a Host header, without the port."""
    assert held(f"allowed_hosts = ['{host}']").allowed_hosts == (host,)


@pytest.mark.parametrize("host", ["http://box.lan", "box.lan:8080", "[::1]:80", "*.lan", "*", "box lan", "box/x", "-b"])
def test_what_is_more_or_less_than_a_host_is_refused(host):
    """It would never be what a client says."""
    assert teaching.config_wants("host") in refusal(f"allowed_hosts = ['{host}']")


def test_an_empty_entry_is_refused():
    """It is neither."""
    assert refusal("cors_origins = ['']") == "config.toml line 1: 'cors_origins' must not be empty (found \"\")"
    assert refusal("allowed_hosts = ['']") == "config.toml line 1: 'allowed_hosts' must not be empty (found \"\")"
