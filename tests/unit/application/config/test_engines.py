"""Builds and downloads: bounds, channels, addresses."""

import pytest

from blazar.domain.references import pull_reference
from tests.support.configuration import held, refusal


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("keep_tags = 0", "must be 1 or more"),
        ("download_connections = 0", "must be 1 or more"),
        ("download_connections = 65", "must be 64 or less"),
        ("download_speed_limit_mb = -1", "must be 0 or more"),
        ("download_speed_limit_mb = 0.5", "must be a whole number (found 0.5)"),
        ("update_channel = 'beta'", "must be one of 'latest' or 'stable'"),
        ("engine_asset = 'cuda 12'", "must be auto or a flavor such as cpu or vulkan"),
        ("engine_asset = ''", "must not be empty"),
        ("capability_registry_url = 'ftp://a'", "must be a URL that begins with http:// or https://"),
        ("capability_registry_url = 'https://'", "must be a URL that begins with http:// or https://"),
        ("model_registries = ['https://a.example']", "without scheme and path"),
        ("model_registries = ['a.example/b']", "without scheme and path"),
        ("model_registries = ['a.example:']", "without scheme and path"),
        ("model_registries = ['a_b']", "without scheme and path"),
        ("model_registries = ['']", "must not be empty"),
        ("model_registries = 'a.example'", "must be a list"),
    ],
)
def test_a_bound_is_kept(text, why):
    """Each with its sentence."""
    assert why in refusal(text)


def test_an_empty_registry_is_none_at_all():
    """Unset is the usual one; "" asks nobody, and so does an empty variable, which says nothing for other keys."""
    assert held("").capability_registry_url is None
    assert held("capability_registry_url = ''").capability_registry_url == ""
    there = "capability_registry_url = 'https://lists.example/a'"
    assert held(there, {"BLAZAR_CAPABILITY_REGISTRY": ""}).capability_registry_url == ""
    assert held(there).capability_registry_url == "https://lists.example/a"
    assert held("keep_tags = 3", {"BLAZAR_DOWNLOAD_SPEED_LIMIT_MB": ""}).download_speed_limit_mb == 0


def test_registries_are_hosts_that_references_may_name():
    """With their ports; none unless somebody names one."""
    assert held("").model_registries == ()
    hosts = ("registry.example", "127.0.0.1:5000", "[::1]:5000", "nas")
    assert held(f"model_registries = {list(hosts)}").model_registries == hosts
    for host in hosts:
        assert pull_reference(f"{host}/a/b:1", hosts).host == host
