"""One child for all models, and where its keys may stand."""

from tests.support.configuration import held, refusal


def test_its_tables_may_stand_under_the_group_too():
    """As any key of it."""
    flat = held(
        "router = true\n[engine_routing]\nmode = 'manual'\n[[failover]]\nname = 'a'\nalias = 'b'\ntargets = [{ model = 'm' }]"
    )
    grouped = held(
        "[routing]\nrouter = true\n[routing.engine_routing]\nmode = 'manual'\n"
        "[[routing.failover]]\nname = 'a'\nalias = 'b'\n[[routing.failover.targets]]\nmodel = 'm'"
    )
    assert grouped == flat
    assert flat.engine_routing.mode == "manual"


def test_a_mistake_below_a_group_s_table_has_its_line():
    """The spelling of the file is followed, not that of the declaration."""
    assert refusal("[routing]\n\n[routing.engine_routing]\n\nmode = 'odd'").startswith(
        "config.toml line 5: 'engine_routing.mode' must be"
    )
    assert "line 3" in refusal("router = true\n[routing]\nrouter = false")


def test_zero_models_are_the_engine_s_own_number():
    """Fewer than none are none."""
    assert held("router_max_models = 0").router_max_models == 0
    assert "must be 0 or more" in refusal("router_max_models = -1")
