"""Requests on their way: bounds, and what an override may say."""

from tests.support.configuration import held, refusal


def test_the_cap_of_raw_completions_may_be_a_models_own():
    """Its override wins; 0 is no cap and not an absence."""
    config = held("raw_lane_max_tokens = 100\n[model_overrides.m]\nraw_lane_max_tokens = 0")
    assert [config.settings_for(name)["raw_lane_max_tokens"] for name in ("m", "other")] == [0, 100]


def test_the_rest_is_the_gateway_s_own():
    """No child is told of it."""
    said = held("").settings_for("m")
    assert (
        not {"singleflight", "sentinel", "pii_scrub", "mcp_default", "remote_fallback", "decode_policy"} & said.keys()
    )


def test_bounds():
    """A stall of no time at all would be everywhere."""
    assert "must be 1 or more" in refusal("sentinel_stall_secs = 0")
    assert "must be 0 or more" in refusal("raw_lane_max_tokens = -1")
    assert "must be one of 'free' or 'strict'" in refusal("decode_policy = 'loose'")
