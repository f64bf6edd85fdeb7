"""The options of a sink are taken by name and type, and refused with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from joinery.errors import SinkOptionError
from joinery.sinks.protocol import make_sink


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("opensearch", {"ulr": "http://x"}, 'has no option "ulr"'),
        ("opensearch", {"url": 7}, 'option "url" of sink "opensearch" is not a text'),
        ("opensearch", {"refresh": "yes"}, "is neither true nor false"),
        ("opensearch", {"connections": 0}, "is not a whole number from 1"),
        ("opensearch", {"mapping": "keyword"}, "is not a map"),
        ("opensearch", {"index": "Users"}, 'an index cannot be named "Users"'),
        ("opensearch", {"index": "a*"}, 'an index cannot be named "a*"'),
        ("redis", {"url": "http://127.0.0.1"}, "is not the address of a Redis"),
        ("redis", {"prefix": ""}, 'option "prefix" of sink "redis" is not a text'),
    ],
)
def test_an_option_that_cannot_be_is_refused(
    kind: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(SinkOptionError) as refused:
        make_sink(kind, "user_profile", options, Path())

    assert message in refused.value.message


def test_a_target_is_named_without_user_and_password() -> None:
    redis = make_sink("redis", "p", {"url": "rediss://me:secret@cache:6380/2"}, Path())
    search = make_sink("opensearch", "P", {"url": "https://me:secret@a, b:9201"}, Path())

    assert "redis cache:6380/2, keys p:*" == redis.target
    assert "opensearch a:9200,b:9201, index p" == search.target
