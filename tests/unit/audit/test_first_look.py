"""The first look: what the database makes itself spares assembling, and decides nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.audit.sides import ITEM, Database, Rows, Run, Target, wrong

from joinery.audit.error import DiffFailedError
from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.look import Comparison
from joinery.audit.protocol import Form, Glance, Shown
from joinery.model.change import Key


class Maker(Database):
    """A database that builds documents itself."""

    def __init__(self, rows: Rows, *, fails: bool = False) -> None:
        super().__init__(rows)
        self._rows, self._fails = rows, fails
        self.assembled = list[Key]()
        self.left = False

    def glances(self, form: Form) -> bool:
        return form == "digest"

    def glance(self, after: Key | None, most: int, form: Form) -> Glance:
        if self._fails:
            raise DiffFailedError("the statement failed")
        keys = self.roots(after, most)
        texts = {key: self._rows[key[0]] for key in keys}
        return Glance(1, keys, {key: each for key, each in texts.items() if each is not None})

    def leave(self) -> None:
        self.left = True

    def documents(
        self, keys: Sequence[Key], *, at_least: int = 0, noting: bool = True
    ) -> Shown | None:
        self.assembled += keys
        return super().documents(keys, at_least=at_least, noting=noting)


class Digesting(Target):
    """A sink that makes digests: here, the documents themselves."""

    def __init__(self, rows: Mapping[int, str | None], *, follows: bool = True) -> None:
        super().__init__(rows)
        self._follows = follows
        self.asked = list[tuple[Key | None, Key | None]]()

    @property
    def digests(self) -> Digesting:
        return self

    def between(self, after: Key | None, last: Key | None) -> Mapping[Key, str] | None:
        self.asked.append((after, last))
        if after is not None and not self._follows:
            return None
        return {
            (each,): text
            for each, text in self._now.items()
            if text is not None
            and (after is None or each > after[0])
            and (last is None or each <= last[0])
        }


class Clock:
    """A time that passes only where somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def pause(self, seconds: float) -> None:
        self.now += seconds


def compared(truth: Maker, target: Digesting, found: Found | None = None) -> Found:
    pace = Pace(pause=lambda seconds: None)
    keys, found = KeyTexts(ITEM), found or Found()
    return Comparison(keys, truth, target, Run(), pace=pace, found=found).run()


def test_equal_digests_are_right_and_nothing_is_assembled() -> None:
    rows = {each: f'"{each}"' for each in range(1_200)}
    truth, target = Maker(rows), Digesting(rows)

    found = compared(truth, target)

    assert (1_200, [], [], []) == (found.compared, wrong(found), found.doubtful, truth.assembled)
    assert (None, None) == (target.asked[0][0], target.asked[-1][1])


def test_what_is_altered_missing_or_extra_is_wrong() -> None:
    truth, target = Maker({1: "a", 2: "b", 3: "c", 5: None}), Digesting({1: "a", 2: "x", 4: "d"})

    found = compared(truth, target)

    assert [
        ('{"id":2}', "differs"),
        ('{"id":3}', "missing"),
        ('{"id":4}', "extra"),
    ] == sorted(wrong(found))
    assert 5 == found.compared


def test_what_the_database_makes_of_no_root_makes_nothing_right() -> None:
    class Overfull(Maker):
        def glance(self, after: Key | None, most: int, form: Form) -> Glance:
            told = super().glance(after, most, form)
            return Glance(told.upper, told.keys, {**told.made, (9,): "z"})

    found = compared(Overfull({1: "a"}), Digesting({1: "a", 9: "z"}))

    assert [('{"id":9}', "extra")] == wrong(found)


def test_another_way_of_writing_is_no_difference() -> None:
    rows = {each: f'{{"a": {each}.50}}' for each in range(5_000)}
    written = {each: f'{{"a":{each}.5}}' for each in range(5_000)}
    truth, target = Maker(rows), Digesting(written)

    found = compared(truth, target)

    assert (5_000, [], 0) == (found.compared, wrong(found), found.again)
    # After some, it is known that nothing is spared.
    assert len(target.asked) < 5


def test_a_statement_that_fails_leaves_all_to_be_assembled() -> None:
    found = compared(Maker({1: "a", 2: "b"}, fails=True), Digesting({1: "a", 3: "c"}))

    assert [('{"id":2}', "missing"), ('{"id":3}', "extra")] == sorted(wrong(found))
    assert 3 == found.compared


def test_extra_documents_before_the_place_that_is_gone_on_from_are_found() -> None:
    truth, target = Maker({2: "b", 7: "c"}), Digesting({1: "x", 2: "b", 7: "c"})

    found = compared(truth, target, Found(after='{"id":2}', compared=1))

    assert [('{"id":1}', "extra")] == wrong(found)
    assert 3 == found.compared


def test_keys_that_stand_in_another_order_in_the_sink_are_all_looked_for() -> None:
    rows = {each: f'"{each}"' for each in range(1_200)}

    found = compared(Maker(rows), Digesting({**rows, 5_000: "x"}, follows=False))

    assert [('{"id":5000}', "extra")] == wrong(found)
    assert 1_201 == found.compared


def test_a_rate_is_held() -> None:
    rows = {each: f'"{each}"' for each in range(1_200)}
    clock, target = Clock(), Digesting(rows)
    pace = Pace(per_second=100, pause=clock.pause, clock=lambda: clock.now)

    Comparison(KeyTexts(ITEM), Maker(rows), target, Run(), pace=pace, found=Found()).run()

    assert (12.0, 13) == (round(clock.now, 6), len(target.asked))


def test_a_comparison_that_is_broken_off_leaves_nothing_asked() -> None:
    rows = {each: f'"{each}"' for each in range(1_200)}
    truth = Maker(rows)

    def end(seconds: float) -> None:
        raise KeyboardInterrupt

    pace = Pace(per_second=100, pause=end)
    with pytest.raises(KeyboardInterrupt):
        Comparison(KeyTexts(ITEM), truth, Digesting(rows), Run(), pace=pace, found=Found()).run()

    assert truth.left
