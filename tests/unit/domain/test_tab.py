"""One request's dealings with its key's account."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain import teaching
from blazar.domain.errors import OverQuota, Unauthorized
from blazar.domain.keys import Key
from blazar.domain.quota import DAY, SOON, Account, Exhausted, Limit
from blazar.domain.tab import ANSWER_TOKENS, BYTES_A_TOKEN, Tab, expected

NOON = 20_000 * DAY + DAY // 2


def account(**limits: int) -> Account:
    return Account(Key("a", "k", **limits))  # type: ignore[arg-type]


def test_only_what_is_admitted_costs() -> None:
    """Case L3: what is refused by anything later gives its request back, and is none of the day's."""
    one = account(rpm=1)
    first = Tab(one)
    first.reserve(0, NOON, chat=True)
    with pytest.raises(OverQuota):
        Tab(one).reserve(0, NOON, chat=True)
    first.settle(NOON, admitted=False)
    first.settle(NOON, admitted=False)
    assert (one.requests.total, one.today(NOON).requests) == (0, 0)
    second = Tab(one)
    second.reserve(0, NOON, chat=True)
    second.settle(NOON, admitted=True)
    second.settle(NOON, admitted=False)  # whatever happens later: it had its place
    assert (one.requests.total, one.today(NOON).requests) == (1, 1)


def test_what_was_refused_before_a_child_was_asked_costs_nothing() -> None:
    """As where its prompt turns out to be too long once it has its place; done twice, or for what had none, it changes nothing."""
    one = account(rpm=1)
    tab = Tab(one)
    tab.undo(NOON)
    tab.reserve(0, NOON, chat=True)
    tab.undo(NOON)
    assert one.requests.total == 1
    tab.settle(NOON, admitted=True)
    tab.undo(NOON)
    tab.undo(NOON)
    assert (one.requests.total, one.today(NOON).requests) == (0, 0)
    tab.reserve(0, NOON, chat=True)
    tab.settle(NOON, admitted=True)
    assert (one.requests.total, one.today(NOON).requests) == (1, 1)


def test_a_request_reserves_once() -> None:
    """Both ways to a place ask."""
    one = account(rpm=1)
    tab = Tab(one)
    tab.reserve(0, NOON, chat=True)
    tab.reserve(0, NOON, chat=True)
    assert one.requests.total == 1


def test_what_never_reserved_is_never_admitted() -> None:
    """A request that was refused before it got so far."""
    one = account(rpm=1)
    Tab(one).settle(NOON, admitted=False)
    Tab(one).settle(NOON, admitted=True)
    assert (one.requests.total, one.today(NOON).requests) == (0, 0)


def test_the_refusal_says_which_limit_and_when() -> None:
    """For the door as for the lane."""
    one = account(rpm=1)
    Tab(one).reserve(0, NOON, chat=True)
    with pytest.raises(OverQuota) as refused:
        Tab(one).reserve(15, NOON, chat=True)
    assert (refused.value.limit, refused.value.retry_after) == ("rpm", 45)
    assert str(refused.value) == teaching.over_quota("a", "rpm", 1, 45)
    denied = Tab(one).denied(Exhausted(Limit.CONCURRENT, 3, 1))
    assert (denied.limit, denied.retry_after) == ("max_concurrent", 1)


def test_batches_are_bound_by_the_day_only() -> None:
    """Nobody waits for them: limits of a minute neither stop them nor are used up by them."""
    one = account(rpm=1, tpm=1, daily_tokens=20)
    for _ in range(2):
        tab = Tab(one, hurried=False)
        tab.reserve(0, NOON, chat=True)
        tab.settle(NOON, admitted=True)
        tab.spend(0, NOON, 5, 5)
    assert (one.requests.total, one.tokens.total, one.today(NOON).requests, one.today(NOON).tokens) == (0, 0, 2, 20)
    with pytest.raises(OverQuota, match="daily_tokens"):
        Tab(one, hurried=False).reserve(0, NOON, chat=True)


def test_a_twin_pays_for_itself() -> None:
    """Work in the background reserves when it begins, not with the request that began it."""
    one = account(rpm=2)
    tab = Tab(one)
    twin = tab.twin()
    twin.reserve(0, NOON, chat=True)
    twin.settle(NOON, admitted=True)
    tab.settle(NOON, admitted=False)
    assert (twin.account, one.requests.total) == (one, 1)


def test_nothing_used_changes_nothing() -> None:
    """An answer without tokens is no news for who writes usage down."""
    one = account()
    heard: list[Account] = []
    one.touch = heard.append
    Tab(one).spend(0, NOON, 0, 0)
    assert heard == []
    Tab(one).spend(0, NOON, 3, 0)
    assert one.today(NOON).tokens == 3


@given(st.lists(st.sampled_from(["come", "admit", "refuse", "tick"]), max_size=80), st.integers(1, 3))
def test_what_is_reserved_ends_admitted_or_given_back(steps: list[str], limit: int) -> None:
    """In any order of events: never more than the limit at once, and the counts are those of the admitted."""
    one, now, open_, admitted = account(rpm=limit), 0.0, [], []
    for step in steps:
        if step == "tick":
            now += 13.0
        elif step == "come":
            tab = Tab(one)
            try:
                tab.reserve(now, NOON, chat=True)
            except OverQuota:
                live = [at for at in admitted if at > now - 60] + [at for at, _ in open_ if at > now - 60]
                assert len(live) >= limit
            else:
                open_.append((now, tab))
        elif open_:
            at, tab = open_.pop(0)
            tab.settle(NOON, admitted=step == "admit")
            if step == "admit":
                admitted.append(at)
    for _, tab in open_:
        tab.settle(NOON, admitted=False)
    assert one.requests.settle(now) == sum(at > now - 60 for at in admitted)
    assert one.today(NOON).requests == len(admitted)


@given(
    st.integers(1, 60),
    st.sampled_from(["tpm", "daily_tokens"]),
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from(["answered", "refused", "left", "died", "runs"])), max_size=60
    ),
)
def test_a_crowd_gets_no_further_than_one_request(limit: int, bound: str, crowd: list[tuple[int, str]]) -> None:
    """However many come before the first has ended: what is used and promised goes beyond a limit by one request at most (B3)."""
    one, kept = account(**{bound: limit}), 0
    for tokens, fate in crowd:
        tab = Tab(one)
        before = one.promised + one.today(NOON).tokens
        try:
            tab.reserve(0, NOON, chat=True, tokens=tokens)
        except OverQuota:
            assert before >= limit
            continue
        assert before < limit
        if fate == "left":
            tab.settle(NOON, admitted=False)
        else:
            tab.settle(NOON, admitted=True)
        if fate == "answered":
            tab.spend(0, NOON, tokens - 1, 1)
        elif fate == "refused":
            tab.undo(NOON)
        elif fate == "died":
            tab.spend(0, NOON, 0, 0)
        kept += tokens if fate == "runs" else 0
    assert one.promised == kept


@pytest.mark.parametrize("end", ["settle", "undo", "spend", "close"])
def test_what_was_promised_is_let_go_once(end: str) -> None:
    """Whatever becomes of a request, and however often that is said."""
    one = account(tpm=1000)
    other, tab = Tab(one), Tab(one)
    other.reserve(0, NOON, chat=True, tokens=7)
    tab.reserve(0, NOON, chat=True, tokens=100)
    assert one.promised == 107
    if end != "settle":
        tab.settle(NOON, admitted=True)
    for _ in range(2):
        match end:
            case "settle":
                tab.settle(NOON, admitted=False)
            case "undo":
                tab.undo(NOON)
            case "spend":
                tab.spend(0, NOON, 0, 0)
            case "close":
                tab.close()
    assert one.promised == 7


def test_who_is_refused_for_promises_may_ask_again_soon() -> None:
    """Nobody knows when those under way will end; a minute is not over then, nor is the day."""
    one = account(tpm=10)
    Tab(one).reserve(0, NOON, chat=True, tokens=10)
    assert one.exhausted(1, NOON, minute=True, chat=True) == Exhausted(Limit.TOKENS, 10, SOON, promised=True)
    day = account(daily_tokens=10)
    Tab(day).reserve(0, NOON, chat=True, tokens=10)
    assert day.exhausted(1, NOON, minute=True, chat=True) == Exhausted(Limit.DAILY, 10, SOON, promised=True)
    with pytest.raises(OverQuota) as caught:
        Tab(day).reserve(1, NOON, chat=True, tokens=5)
    assert str(caught.value) == teaching.quota_promised("a", "daily_tokens", 10)
    assert day.exhausted(1, NOON, minute=False, chat=True) is None  # a batch asks one after the other


@pytest.mark.parametrize(
    ("body", "answers", "tokens"),
    [
        (b"", True, 1 + ANSWER_TOKENS),
        (b"x" * 400, False, 100),
        (b'{"max_tokens": 5}', True, 4 + 5),
        (b'{"max_completion_tokens":5}', True, 6 + 5),
        (b'{"options":{"num_predict":-1}}', True, 7 + ANSWER_TOKENS),
        (b'{"max_output_tokens":99999}', True, 6 + ANSWER_TOKENS),
    ],
)
def test_what_a_request_is_expected_to_cost(body: bytes, answers: bool, tokens: int) -> None:
    """Its prompt by its length, its answer by its bound, but no more than an ordinary one has."""
    assert expected(body, answers=answers) == tokens


def test_a_key_that_went_has_no_scope() -> None:
    """Nor has a secret that was exchanged; another limit changes nothing, another list of models is told."""
    one = account()
    tab = Tab(one)
    assert tab.scope() == ()
    one.key = one.key._replace(rpm=3, models=("m",))
    assert tab.scope() == ("m",)
    one.key = one.key._replace(key="other")
    with pytest.raises(Unauthorized):
        tab.scope()
    late = Tab(one)
    one.barred = True
    with pytest.raises(Unauthorized):
        late.scope()


def test_odd_the_bound_is_looked_for_in_the_bytes() -> None:
    """A bound inside something else is taken for the answer's own: it costs no parse, and the end of the answer puts it right."""
    inside = b'{"messages":[{"role":"user","content":"hi"}],"metadata":{"max_tokens":3}}'
    assert expected(inside, answers=True) == len(inside) // BYTES_A_TOKEN + 3
