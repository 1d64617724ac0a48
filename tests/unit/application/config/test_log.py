"""The log's keys: both variables, and that they are the daemon's own."""

from tests.support.configuration import held, refusal


def test_both_are_at_the_root_only():
    """Their section has no table; the collector's has (D26)."""
    assert "write it at the root" in refusal("[observability]\nlog_level = 'info'")
    assert held("[observability]\notlp_service = 'box'").otlp_service == "box"


def test_no_child_is_told_of_them():
    """An engine has a log level of its own."""
    assert not {"log_level", "audit_log", "otlp_endpoint", "otlp_service"} & held("").settings_for("m").keys()


def test_a_collector_has_a_url():
    """Unset: nothing is sent."""
    assert held("otlp_endpoint = 'http://127.0.0.1:4318'").otlp_endpoint == "http://127.0.0.1:4318"
    assert held("otlp_endpoint = ''").otlp_endpoint == ""
    assert "must be a URL" in refusal("otlp_endpoint = '127.0.0.1:4318'")
    assert "must not be empty" in refusal("otlp_service = ''")
