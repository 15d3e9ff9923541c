"""What a user is promised beside the figures, kept by the real client of each language against real servers."""

from __future__ import annotations

import pytest
import servers
from clients import CLIENTS, run

every_language = pytest.mark.parametrize("language", CLIENTS)

BODY = 4096
"""Bytes that the clients post."""


@every_language
def test_a_held_account_does_not_disturb_another_one(language: str) -> None:
    with servers.express(limit=50, windowMs=2000, headers="draft-8") as server:
        # The first account sends 60, of which 10 wait for the next window;
        # the second begins within that wait.
        facts = run(language, "accounts", url=server.url, first=60, second=20, after=0.7)
        assert facts["first"]["statuses"] == {"200": 60}
        assert facts["first"]["elapsed"] > 1.8
        assert facts["second"]["statuses"] == {"200": 20}
        assert facts["second"]["elapsed"] < 1.2
        assert server.refused == 0


@every_language
def test_cancelling_half_of_the_waiters_frees_their_places(language: str) -> None:
    with servers.express(limit=50, windowMs=2000, headers="draft-8") as server:
        # 50 pass, 100 wait; of those, 50 are cancelled: the other 50 fit into
        # the next window, where 100 would need two more.
        facts = run(language, "cancel", url=server.url, calls=150, answered=50)
        assert facts["statuses"] == {"200": 100}
        assert facts["cancelled"] == 50
        assert facts["elapsed"] < 3.9
        assert (server.accepted, server.refused) == (100, 0)


@every_language
def test_a_wait_of_an_hour_ends_the_call_and_those_that_wait_but_not_the_next(language: str) -> None:
    with servers.express(limit=3, windowMs=3_600_000, headers="retry-after") as server:
        facts = run(language, "too_long", url=server.url, calls=30)
        fleet = facts["fleet"]
        assert fleet["elapsed"] < 10
        assert fleet["statuses"]["200"] == 3
        # Whoever was refused gets the refusal; who only waited gets an error
        # that says for how long.
        assert fleet["statuses"]["429"] >= 1
        assert set(fleet["statuses"]) == {"200", "429"}
        waits = fleet["retry_after"]
        assert len(waits) == 30 - fleet["statuses"]["200"] - fleet["statuses"]["429"]
        assert waits and all(3590 <= wait <= 3600 for wait in waits)
        # The next call is sent, not held: its answer is the server's own.
        assert facts["next"]["statuses"] == {"429": 1}
        assert facts["next"]["elapsed"] < 5
        # `run` has no response to hand over, so it raises.
        assert 3590 <= facts["run"]["retry_after"] <= 3600
        sends = fleet["statuses"]["200"] + fleet["statuses"]["429"] + 2
        assert server.accepted + server.refused == sends


@every_language
def test_without_respect_for_remaining_calls_are_really_sent(language: str) -> None:
    with servers.express(limit=50, windowMs=2000, headers="draft-8") as server:
        facts = run(language, "ignore_remaining", url=server.url, calls=60)
        assert facts["statuses"] == {"200": 50, "429": 10}
        assert facts["elapsed"] < 1.5
        assert (server.accepted, server.refused) == (50, 10)


@every_language
def test_a_spent_history_meter_does_not_hold_rest(language: str) -> None:
    meters = {"history": {"limit": 20, "windowMs": 2000}, "rest": {"limit": 50, "windowMs": 2000}}
    with servers.express(meters=meters, headers="draft-8") as server:
        # 25 of history, of which five wait; three of rest during that wait.
        facts = run(language, "two_meters", url=server.url, history=25, rest=3, after=0.7)
        assert facts["history"]["statuses"] == {"200": 25}
        assert facts["history"]["elapsed"] > 1.8
        assert facts["rest"]["statuses"] == {"200": 3}
        assert facts["rest"]["elapsed"] < 1.2
        assert server.refused == 0


@every_language
@pytest.mark.parametrize("cache", ["outside", "inside"])
def test_answers_from_a_cache_neither_spend_nor_hold(language: str, cache: str) -> None:
    with servers.express(limit=2, windowMs=2000, headers="draft-8", maxAge=60) as server:
        # Two fresh answers spend the window; those from the cache do not wait
        # for the next one, and leave the meter as it is: a third fresh one
        # waits.
        facts = run(language, "cached", url=server.url, cache=cache, repeats=20)
        assert facts["cached"]["statuses"] == {"200": 42 if cache == "outside" else 22}
        assert facts["cached"]["elapsed"] < 1.7
        assert facts["fresh"]["statuses"] == {"200": 1}
        assert facts["fresh"]["elapsed"] > 0.8
        assert (server.accepted, server.refused) == (3, 0)


@every_language
def test_a_one_shot_body_is_not_replayed_empty(language: str) -> None:
    with servers.express(limit=2, windowMs=2000, headers="retry-after") as server:
        facts = run(language, "post", url=server.url, calls=4, size=BODY, one_shot=True)
        # A refused body that cannot be sent again leaves its refusal to the
        # caller.
        assert facts["statuses"] == {"200": 2, "429": 2}
        assert facts["elapsed"] < 1.9
        assert [request.body for request in server.requests()] == [BODY] * 4


@every_language
def test_a_body_in_memory_is_replayed_whole(language: str) -> None:
    with servers.express(limit=2, windowMs=2000, headers="retry-after") as server:
        facts = run(language, "post", url=server.url, calls=4, size=BODY, one_shot=False)
        assert facts["statuses"] == {"200": 4}
        assert {request.body for request in server.requests()} == {BODY}


@every_language
def test_a_bare_503_is_retried_and_finally_delivered(language: str) -> None:
    with servers.nginx(rate=1, burst=1, status=None) as server:
        facts = run(language, "fleet", url=server.url, calls=5)
        assert sum(facts["statuses"].values()) == 5
        assert set(facts["statuses"]) <= {"200", "503"}
        # One send and two retries each, at most.
        assert len(server.requests()) <= 15
