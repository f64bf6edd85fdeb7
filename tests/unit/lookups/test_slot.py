"""How many requests to a store are under way."""

from __future__ import annotations

import pytest

from joinery.lookups.slot import Slots


def test_slots_begin_with_one_and_fall_back_to_it() -> None:
    slots = Slots(most=3)
    seen = [slots.allowed]
    for _ in range(4):
        with slots.one():
            pass
        seen.append(slots.allowed)
    with pytest.raises(OSError), slots.one():
        raise OSError

    assert [1, 2, 3, 3, 3] == seen
    assert 1 == slots.allowed
