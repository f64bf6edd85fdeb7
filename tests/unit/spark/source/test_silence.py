"""A source that gives no sign of life is told, once, until it gives one."""

from __future__ import annotations

from joinery.model.progress import Silence
from joinery.spark.source.silence import SourceSilence


def test_a_sign_that_stands_too_long_is_told_until_the_next() -> None:
    told: list[tuple[str, Silence | None]] = []
    now = [0.0]
    silence = SourceSilence(
        "shop", "no heartbeat", 15.0, lambda *each: told.append(each), lambda: now[0]
    )

    for now[0], sign in ((1.0, [7]), (15.9, [7]), (16.0, [7]), (30.0, [7]), (31.0, [8])):
        silence.look(sign)

    assert ['source "shop"'] * 2 == [target for target, _ in told]
    begun, over = (waiting for _, waiting in told)
    assert begun is not None
    assert over is None
    assert ("shop", "no heartbeat") == (begun.source, begun.reason)


def test_what_could_not_be_heard_is_not_silent() -> None:
    told: list[str] = []
    now = [0.0]
    silence = SourceSilence(
        "shop", "", 15.0, lambda target, waiting: told.append(target), lambda: now[0]
    )

    silence.look([7])
    now[0] = 60.0
    silence.forgive()
    silence.look([7])

    assert [] == told


def test_a_silent_source_whose_broker_goes_away_is_not_told_to_be_back_until_it_is() -> None:
    told: list[Silence | None] = []
    now = [0.0]
    silence = SourceSilence(
        "shop", "", 15.0, lambda target, each: told.append(each), lambda: now[0]
    )
    silence.look([7])
    now[0] = 20.0
    silence.look([7])

    silence.forgive()
    now[0] = 21.0
    silence.look([7])
    still = [*told]
    silence.look([8])

    assert [False] == [each is None for each in still]
    assert [False, True] == [each is None for each in told]
