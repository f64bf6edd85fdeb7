"""What documents should be by their logs, and what the logs cannot tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from joinery.audit.found import Found, Pace
from joinery.audit.key import KeyTexts
from joinery.audit.log_truth import LogTruth
from joinery.audit.look import Comparison
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.sinks.reader import Held
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  user: {key: [id], fields: {id: long}}
  post: {key: [id], fields: {id: long, user_id: long}}
products:
  profile:
    root: user
    fields: [id]
    embed:
      posts: {many: post, on: {user_id: id}, fields: [id], limit: 1, overflow: fail}
"""
MOST = 1 << 20
HELD = {
    '{"id":1}': Held('{"id":1,"posts":[{"id":1}]}', 5),
    '{"id":2}': Held('{"id":2,"posts":[]}', 5),
}


class Target:
    """A sink."""

    target = "a target"

    def keys(self) -> Iterator[str]:
        yield from HELD

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        return {each: HELD[each] for each in keys if each in HELD}

    def close(self) -> None:
        pass


class Applied:
    """A run that has applied all."""

    def reach(self, place: int) -> bool:
        return True

    def heard(self) -> int:
        return 0


def user(id: int, place: int) -> Change:
    return Change("user", {"id": id}, {"id": id}, place=(1, place))


def post(id: int, place: int) -> Change:
    return Change("post", {"id": id}, {"id": id, "user_id": 1}, place=(1, place))


def compared(*changes: Change) -> Found:
    [product] = build_plan(load_text(PROJECT)).products
    truth = LogTruth(product, lambda: changes, lambda: len(changes), max_document_bytes=MOST)
    pace = Pace(pause=lambda seconds: None)
    keys = KeyTexts(product.root.relation)
    return Comparison(keys, truth, Target(), Applied(), pace=pace, found=Found()).run()


def test_a_document_above_its_limit_is_kept_as_it_was_and_not_called_wrong() -> None:
    found = compared(user(1, 1), user(2, 2), post(1, 1), post(2, 2))

    assert ([], []) == (found.differences, found.unsettled)
    assert [('{"id":1}', "it has no document: More rows than the limit in profile/posts.")] == [
        (each.key, each.why) for each in found.unreadable
    ]


def test_one_that_comes_above_its_limit_while_it_is_compared_is_not_called_wrong() -> None:
    [product] = build_plan(load_text(PROJECT)).products
    logs = [[user(1, 1), user(2, 2)], [user(1, 1), user(2, 2), post(1, 1), post(2, 2)]]
    truth = LogTruth(
        product,
        lambda: logs.pop(0) if len(logs) > 1 else logs[0],
        lambda: len(logs),
        max_document_bytes=MOST,
    )
    pace, keys = Pace(pause=lambda seconds: None), KeyTexts(product.root.relation)

    found = Comparison(keys, truth, Target(), Applied(), pace=pace, found=Found()).run()

    assert ([], ['{"id":1}']) == (found.differences, [each.key for each in found.unreadable])


def test_a_row_that_another_record_tells_the_same_of_has_another_version() -> None:
    [product] = build_plan(load_text(PROJECT)).products
    logs = [[user(1, 1), post(1, 1)]]
    truth = LogTruth(product, lambda: logs[-1], lambda: len(logs), max_document_bytes=MOST)
    shown = [truth.documents([(1,)])]
    for more in (user(2, 2), post(1, 2)):  # The first has no part in the document.
        logs.append([*logs[-1], more])
        shown.append(truth.documents([(1,)]))

    first, second, third = [each.versions for each in shown if each is not None]

    assert first == second
    assert second != third
