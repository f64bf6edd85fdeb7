"""The verdict on a document: what two snapshots and two looks at the sink prove."""

from __future__ import annotations

from tests.unit.audit.sides import ITEM, Database, Run, Target, wrong

from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.look import Comparison
from joinery.audit.verdict import Difference, Open


def compared(
    database: Database, target: Target, run: Run | None = None, share: float = 1.0
) -> Found:
    pace = Pace(share=share, pause=lambda seconds: None)
    keys = KeyTexts(ITEM)
    return Comparison(keys, database, target, run or Run(), pace=pace, found=Found()).run()


def test_what_is_altered_missing_or_extra_is_wrong() -> None:
    found = compared(Database({1: "a", 2: "b", 3: "c"}), Target({1: "a", 2: "x", 4: "d"}))

    assert wrong(found) == [
        ('{"id":2}', "differs"),
        ('{"id":3}', "missing"),
        ('{"id":4}', "extra"),
    ]
    assert (4, [], []) == (found.compared, found.unsettled, found.unreadable)


def test_a_verdict_has_a_time_from_before_its_first_snapshot() -> None:
    database = Database({1: "a"})
    pace = Pace(pause=lambda seconds: None, now_us=lambda: 100 + database.taken)
    comparison = Comparison(
        KeyTexts(ITEM), database, Target({1: "x"}), Run(), pace=pace, found=Found()
    )

    [difference] = comparison.run().differences

    # The first look takes one snapshot, the verdict two.
    assert (101, 3) == (difference.judged_us, database.taken)


def test_a_document_that_comes_to_the_sink_later_is_right() -> None:
    found = compared(Database({1: '"b"'}), Target({1: '"a"'}, {1: '"a"'}, {1: '"b"'}))

    assert ([], [], 1) == (wrong(found), found.unsettled, found.again)


def test_a_document_that_changes_back_and_forth_is_never_called_wrong() -> None:
    flips = [{1: '"a"'} if turn % 2 else {1: '"b"'} for turn in range(40)]

    found = compared(Database(*flips), Target({1: '"c"'}))

    assert ([], ['{"id":1}']) == (wrong(found), [each.key for each in found.unsettled])


def test_equal_documents_of_rows_that_changed_meanwhile_prove_nothing() -> None:
    found = compared(Database({1: '"a"'}, quiet=False), Target({1: '"b"'}))

    assert ([], 1) == (wrong(found), len(found.unsettled))


def test_a_sink_whose_version_rises_meanwhile_proves_nothing() -> None:
    found = compared(Database({1: '"a"'}), Target({1: '"b"'}, versions=True))

    assert ([], 1) == (wrong(found), len(found.unsettled))


def test_what_was_not_applied_in_time_is_unsettled() -> None:
    found = compared(Database({1: '"a"'}), Target({1: '"b"'}), Run(in_time=False))

    assert [] == wrong(found)
    assert ["what the database shows was not applied in time"] == [e.why for e in found.unsettled]


def test_a_run_that_is_late_is_waited_for_once() -> None:
    run, rows = Run(in_time=False), dict.fromkeys(range(1000), '"a"')

    found = compared(Database(rows), Target(dict.fromkeys(range(1000), '"b"')), run)

    assert (1000, 1) == (len(found.unsettled), run.asked)


def test_documents_that_change_all_the_time_are_waited_for_together() -> None:
    """A run that is ten seconds behind, and 500 documents that change at each look."""
    now, rows = [0.0], dict.fromkeys(range(500), '"a"')
    run = Run(took=lambda: now.__setitem__(0, now[0] + 10.0))
    pace = Pace(pause=lambda seconds: None, clock=lambda: now[0])
    database, target = Database(rows, quiet=False), Target(dict.fromkeys(range(500), '"b"'))

    found = Comparison(KeyTexts(ITEM), database, target, run, pace=pace, found=Found()).run()

    assert ([], 500) == (wrong(found), len(found.unsettled))
    # Looks at 200, 25, 3, 1 and 1 together would wait 2,400 times one by one.
    assert run.asked < 100


def test_a_standby_that_stays_behind_proves_nothing() -> None:
    found = compared(Database({1: '"a"'}, shows=False), Target({1: '"b"'}))

    late = Open('{"id":1}', "the database that was compared with is behind", late=True)
    assert [late] == found.unsettled


def test_a_sample_has_the_same_keys_on_both_sides() -> None:
    rows = dict.fromkeys(range(1000), '"a"')

    found = compared(Database(rows), Target(rows), share=0.1)

    assert ([], []) == (wrong(found), found.unsettled)
    assert 50 < found.compared < 150


def test_a_comparison_goes_on_where_another_one_stopped() -> None:
    rows = dict.fromkeys(range(1000), '"a"')
    begun = Found(after='{"id":899}', compared=900)

    pace = Pace(pause=lambda seconds: None)
    target = Target({**rows, 950: '"b"', 3: '"b"'})
    found = Comparison(KeyTexts(ITEM), Database(rows), target, Run(), pace=pace, found=begun).run()

    assert ([('{"id":950}', "differs")], 1000) == (wrong(found), found.compared)


def test_what_a_comparison_found_before_it_stopped_is_looked_at_once_more() -> None:
    rows = {1: '"a"', 2: '"a"', 3: '"a"'}
    before = [Difference(f'{{"id":{each}}}', '"a"', '"x"', 1) for each in (1, 2)]
    begun = Found(after='{"id":3}', differences=before, unsettled=[Open('{"id":3}', "late")])

    pace = Pace(pause=lambda seconds: None)
    target = Target({1: '"a"', 2: '"b"', 3: '"a"'})
    found = Comparison(KeyTexts(ITEM), Database(rows), target, Run(), pace=pace, found=begun).run()

    assert ([('{"id":2}', "differs")], []) == (wrong(found), found.unsettled)


def test_a_document_whose_truth_became_a_number_is_wrong() -> None:
    found = compared(Database({1: '{"ok":true}'}), Target({1: '{"ok":1}'}))

    assert [('{"id":1}', "differs")] == wrong(found)
