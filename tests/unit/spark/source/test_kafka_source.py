"""Topics become one subscription, and each record a number for what reads it."""

from __future__ import annotations

import re

import pytest

from joinery.spark.source.kafka import numbering, subscription


@pytest.mark.parametrize(
    ("topic", "subscribed"),
    [
        ("shop.user", True),
        ("shopxuser", False),
        ("shop.user2", False),
        ("shard_7", True),
        ("__shard_7", False),
        ("shard_x", False),
    ],
)
def test_a_subscription_matches_whole_names(topic: str, subscribed: bool) -> None:
    pattern = subscription(["shop.user", "pattern:(__)?shard_[0-9]+"])

    assert subscribed == bool(re.fullmatch(pattern, topic))


def test_a_pattern_that_says_so_reaches_names_that_tools_keep() -> None:
    assert re.fullmatch(subscription(["pattern:__debezium.*"]), "__debezium-heartbeat.shop")


def test_a_topic_that_is_named_counts_for_the_patterns_that_match_it() -> None:
    assert (("user", "pattern:u.*"), ("star",), ("pattern:u.*",)) == numbering(
        ["user", "star", "pattern:u.*"]
    )
