"""The social network's parts that need no Spark: its people, answers and recovery."""

from __future__ import annotations

from examples.social_network.answers import Answers, answers
from examples.social_network.network import Network, Sizes
from examples.social_network.service import ProfileService
from examples.social_network.stampede import GUARDS, recover

VIEWS = [
    {"view_id": 1, "profile_id": 9, "viewer_id": 1, "viewer": "Ada", "title": "engineer"},
    {"view_id": 2, "profile_id": 9, "viewer_id": 2, "viewer": "Bob", "title": "teacher"},
    {"view_id": 3, "profile_id": 9, "viewer_id": 1, "viewer": "Ada", "title": "engineer"},
    {"view_id": 4, "profile_id": 8, "viewer_id": 1, "viewer": "Ada", "title": "engineer"},
    {"view_id": 5, "profile_id": 7, "viewer_id": 3, "viewer": "Cyd", "title": "nurse"},
]


def test_the_three_questions_of_a_profile() -> None:
    expected = Answers(
        viewers=(("Ada", "engineer"), ("Bob", "teacher")),
        titles=(("engineer", 2), ("teacher", 1)),
        also_viewed=((8, 1),),
    )

    assert {9: expected} == answers(VIEWS, [9])


def test_a_view_carries_what_the_page_knew_of_its_viewer() -> None:
    network = Network(Sizes(profiles=20, views=100, edits=5))
    network.edit()

    views = list(network.views())

    assert 100 == len(views)
    assert all(each["viewer_id"] != each["profile_id"] for each in views)
    assert all(network.rows[each["viewer_id"]]["title"] == each["title"] for each in views)


def test_guards_spare_the_service_that_a_recovery_asks() -> None:
    network = Network(Sizes(profiles=200, views=400))
    backlog = [each["viewer_id"] for each in network.views()]
    service = ProfileService(network.profiles())

    unguarded = recover(backlog, service, guarded=False)
    guarded = recover(backlog, service, guarded=True)

    assert 400 == unguarded.requests
    assert 1 == guarded.requests
    assert GUARDS.per_second is not None
    assert max(guarded.rates) <= GUARDS.per_second
