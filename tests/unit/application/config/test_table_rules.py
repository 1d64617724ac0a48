"""What entries of tables must have to do with each other: each rule with its sentence and the line of the key that is wrong."""

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.table_rules import of_a_remote
from blazar.domain import teaching
from blazar.domain.errors import BadConfig

KEY = "\n[[remotes]]\nname = 'a'\nkey = 'hush'\nurl = "
CHAIN = "[[failover]]\nname = 'c'\nalias = 'primary'\n"
MCP = "[[mcp]]\nname = 'fetch'\n"


def problems(text):
    with pytest.raises(BadConfig) as caught:
        load_config(text, "config.toml")
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            KEY + "'http://example.com'",
            "line 5: 'remotes.url' would send the key unencrypted to example.com, which counts as",
        ),
        (KEY + "'ftp://127.0.0.1'", "line 5: 'remotes.url' must begin with https:// or http://"),
        (
            KEY + "'https://me:hush@x'",
            "line 5: 'remotes.url' must not hold a user name or password: the secret belongs",
        ),
        (
            "[[remotes]]\nname = 'a'\nurl = 'https://x'\n[[remotes]]\nname = 'b'\nurl = 'http://x'",
            "line 6: 'remotes.url' would send the key",
        ),
        ("remotes = [{name = 'a', url = 'http://x'}]", "line 1: 'remotes.url' would send the key unencrypted to x,"),
        (
            CHAIN
            + "[[failover.targets]]\nmodel = 'm'\n[[failover.targets]]\nmodel = 'm'\n\nremote = 'bog'"
            + KEY
            + "'https://x'",
            "line 9: 'failover.targets.remote' must be the name of a [[remotes]] entry (a): there is none called 'bog'",
        ),
        (
            CHAIN + "[[failover.targets]]\nmodel = 'm'\nremote = 'x'",
            "line 6: 'failover.targets.remote' must be the name of a [[remotes]] entry: there is none called 'x'",
        ),
        (
            CHAIN + "[[failover.targets]]\nmodel = 'primary'",
            "line 5: 'failover.targets.model' must be a model: 'primary' is the alias of a chain, and chains cannot lead to chains",
        ),
        (
            (CHAIN + "targets = [{model = 'm'}]\n") + (CHAIN.replace("'c'", "'d'") + "targets = [{model = 'm'}]\n"),
            "line 7: 'failover.alias' must be unique: primary appears twice",
        ),
        (
            (CHAIN + "targets = [{model = 'm'}]\n") + (CHAIN.replace("primary", "b") + "targets = [{model = 'm'}]\n"),
            "line 6: 'failover.name' must be unique: c appears twice",
        ),
        (CHAIN + "targets = []", "line 4: 'failover.targets' needs at least 1 entry"),
        (CHAIN, "line 1: 'failover.targets' is required"),
        (
            CHAIN.replace("primary", "a#1") + "targets = [{model = 'm'}]",
            "line 3: 'failover.alias' must be a model name",
        ),
        (
            CHAIN + "[[failover.targets]]\nmodell = 'm'\nmodel = 'm'",
            "line 5: unknown key 'failover.targets.modell'; did you mean model?",
        ),
        (
            "[[keys]]\nname = 'a'\nkey = 'b'\n[[keys]]\nkey = 'c'\nname = 'a'",
            "line 6: 'keys.name' must be unique: a appears twice",
        ),
        (
            "[[keys]]\nname = 'one'\nkey = 'hush'\n[[keys]]\nname = 'two'\n\nkey = 'hush'",
            "line 7: 'keys.key' must be a secret of its own: one and two have the same",
        ),
        (MCP, "line 1: 'mcp' needs exactly one of command and url"),
        (MCP + "command = ['x']\nurl = 'http://h'", "line 4: 'mcp.url' excludes command: set one of the two"),
        (
            MCP + "url = 'http://h'\n[mcp.env]\nA = 'b'",
            "line 4: 'mcp.env' is for servers with a command: a url has no process",
        ),
        (MCP + "url = 'http://h'\nenv_clear = false", "line 4: 'mcp.env_clear' is for servers with a command"),
        (
            MCP + "url = 'http://h'\nmax_output_bytes = 2048",
            "line 4: 'mcp.max_output_bytes' is for servers with a command",
        ),
        (
            MCP + "command = ['x']\nallowed_env = ['PATH']",
            "line 4: 'mcp.allowed_env' needs env_clear = true: set it too, or",
        ),
        (MCP + "command = ['x']\ntimeout_secs = 601", "line 4: 'mcp.timeout_secs' must be 600 or less (found 601)"),
        (MCP.replace("fetch", "all") + "url = 'http://h'", "line 2: 'mcp.name' must be another name: all and none"),
        (
            MCP + "url = 'http://h'\n" + MCP + "url = 'http://h'",
            "line 5: 'mcp.name' must be unique: fetch appears twice",
        ),
        (MCP + "url = 'http://h'\ntimeout = 3", "line 4: unknown key 'mcp.timeout'; did you mean timeout_secs?"),
        (
            "mcp_default = 'calc'\n" + MCP + "url = 'http://h'",
            "line 1: 'mcp_default' must be all, none or the name of an [[mcp]] server (fetch): there is none called 'calc'",
        ),
        (
            "[sglang]\nretraction_policy = 'priority'",
            "line 2: 'sglang.retraction_policy' needs enable_priority_scheduling = true: set it too, or remove this",
        ),
        (
            (
                "[sglang]\nretraction_policy = 'priority'\nenable_priority_scheduling = true\n"
                "[model_overrides.m.sglang]\n\nenable_priority_scheduling = false"
            ),
            "line 4: 'model_overrides.m.sglang.retraction_policy' needs enable_priority_scheduling = true",
        ),
        ("[mistralrs]\nimatrix = 'a'\ncalibration_file = 'b'", "line 3: 'mistralrs.calibration_file' excludes imatrix"),
        (
            "mistralrs_paged_attn = true\n[mistralrs]\nmistralrs_paged_attn = false",
            "line 3: 'mistralrs_paged_attn' is set at the root and under [mistralrs]: keep one of them",
        ),
        (
            "[mistralrs]\n\nmistralrs_pa_memory_fraction = 0.99",
            "line 3: 'mistralrs_pa_memory_fraction' must be 0.95 or less (found 0.99)",
        ),
        ("[sglang]\nmem_fraction_static = 1", "line 2: 'sglang.mem_fraction_static' must be less than 1 (found 1)"),
        ("[sglang]\ntp_sise = 1", "line 2: unknown key 'sglang.tp_sise'; did you mean tp_size"),
        (
            "[model_overrides.m.mlx]\nkv_bit = 1",
            "line 2: unknown key 'model_overrides.m.mlx.kv_bit'; did you mean kv_bits?",
        ),
        (
            "[warm_peg]\nmistralrs = true",
            "line 2: 'warm_peg.mistralrs' cannot be set: mistralrs is never warmed up, for",
        ),
        ("[warm_peg]\nsglan = true", "line 2: unknown key 'warm_peg.sglan'; did you mean sglang?"),
        ("[sdcpp]\nsteps = 4", "line 1: 'sdcpp' is no table: steps, size and seed come with each image request"),
        ("[semantic_cache]\nthreshold = 2", "line 2: 'semantic_cache.threshold' must be 1 or less (found 2)"),
        ("semantic_cache = true", "line 1: 'semantic_cache' must be a table"),
        (
            "[engine_routing]\nmode = 'auto'\n[routing.engine_routing]\nmode = 'auto'",
            "line 3: 'engine_routing' is set at the root and under [routing]: keep one of them",
        ),
        (
            CHAIN + "targets = [{model = 'm'}]\n[[routing.failover]]\nname = 'd'",
            "line 5: 'failover' is set at the root and under [routing]: keep one of them",
        ),
        (
            "[gateway.engine_routing]\nmode = 'auto'",
            "line 1: 'engine_routing' does not belong under [gateway]: write it under [routing]",
        ),
        ("[[keys]]\nname = 'a'\nkey = 'hush'\nweight = 0", "line 4: 'keys.weight' must be more than 0"),
        ("[[keys]]\nname = 'a'\nkey = 'hush'\nrmp = 3", "line 4: unknown key 'keys.rmp'; did you mean rpm?"),
        ("[[keys]]\nname = 'a'\nkey = 'hush'\nrpm = 0", "line 4: 'keys.rpm' must be 1 or more"),
    ],
)
def test_a_rule_that_does_not_hold(text, sentence):
    """One sentence, with the line and without a secret."""
    (found,) = problems(text)
    assert found.startswith(f"config.toml {sentence}")
    assert "hush" not in found


@pytest.mark.parametrize(
    "text",
    [
        "[[remotes]]\nname = 'a'\nurl = 'https://x'\nkey = 424242",
        "[[remotes]]\nname = 'a'\nurl = 'https://x'\nkey = ['424242']",
        "remotes = '424242'",
        "remotes = ['424242']",
        "mcp = [{name = 'a', command = ['x'], env = '424242'}]",
        "[[mcp]]\nname = 'a'\ncommand = ['x']\n[mcp.env]\nTOKEN = 424242",
        "[[keys]]\nname = 424242\nkey = 'x'",
    ],
)
def test_no_sentence_repeats_a_secret_of_a_table(text):
    """Nor what stands where one belongs."""
    assert not any("424242" in sentence for sentence in problems(text))


def test_the_group_may_hold_the_table_and_the_chains():
    """`[routing]` is the home of both; nested entries keep their order and their lines."""
    text = """
    [routing.engine_routing]
    policy = "latency"
    [[routing.failover]]
    name = "c"
    alias = "primary"
    [[routing.failover.targets]]
    model = "m"
    [[routing.failover.targets]]
    model = "n"
    """
    loaded = load_config(text, "config.toml")
    assert loaded.config.engine_routing.policy == "latency"
    assert [target.model for target in loaded.config.failover[0].targets] == ["m", "n"]
    wrong = text.replace('model = "n"', 'model = "n"\n    remote = "x"')
    assert problems(wrong)[0].startswith("config.toml line 11: 'failover.targets.remote' ")


def test_entries_of_one_name_are_a_pool():
    """Duplicate names of remotes are meant (setup document)."""
    one = "[[remotes]]\nname = 'a'\nurl = 'https://{}'\n"
    assert len(load_config(one.format("x") + one.format("y"), "c").config.remotes) == 2


def test_what_is_accepted_with_a_warning():
    """A key in clear on the local network, and one that was allowed to go further."""
    text = KEY + "'http://10.0.0.9:1'" + KEY + "'http://203.0.113.7'\nallow_insecure_http = true" + KEY + "'https://x'"
    local, public, early = load_config(text, "config.toml").warnings
    assert early == teaching.keys_without_effect(["remotes"])
    assert local.startswith("remote 'a': the key travels unencrypted over the local network to 10.0.0.9;")
    assert "allow_insecure_http" in public
    assert "203.0.113.7" in public
    assert load_config("", "config.toml").warnings == ()


@pytest.mark.parametrize("word", ["all", "none", "fetch", ""])
def test_the_default_names_a_server_all_or_none(word):
    """Validated at boot (setup document)."""
    assert load_config(f"mcp_default = '{word}'\n{MCP}url = 'http://h'", "c").config.mcp_default == word


def test_a_secret_that_can_be_found_by_trying_is_told():
    """Wherever it comes from; mostly a list of them that was cut in the wrong place."""
    said = load_config("[[keys]]\nname = 'a'\nkey = 'plm_12345'", "c", {"BLAZAR_KEYS": "b:plm_67890,y"}).warnings
    assert said == (teaching.secret_short("env-2"),)


def test_a_model_of_a_remote_is_known_by_its_prefix():
    """A model of ours may be called like a remote, and have a tag."""
    config = load_config("[[remotes]]\nname = 'far'\nurl = 'https://a.example'", "c").config
    assert [of_a_remote(config, name) for name in ("far:m", "far", "m:far", "m")] == [True, False, False, False]
