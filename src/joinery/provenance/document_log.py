"""One document while the logs of its relations are told: what altered it, and when.

Invariant: the document after each change is what the reference makes of the same rows. It is
made again only where a change concerns a row that it was made of, or was looked for in vain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from joinery.model.change import Change, Key, Row
from joinery.plan.product import Product
from joinery.provenance.live_rows import Asked, LiveRows
from joinery.semantics.document import Built, DocumentBuilder
from joinery.semantics.json_text import read_json
from joinery.semantics.rows import Findings

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """A part of a document that is another one.

    Attributes:
        path: To it, such as `starred_repos[0].description`; empty for the whole document.
        before: Its value; None where it was not there.
        after: Its value; None where it is not there any more.
    """

    path: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change that altered the document.

    Attributes:
        before: The document as it stood; None where there was none.
        after: The document as it stood then; None where there was none.
    """

    change: Change
    before: Built | None
    after: Built | None

    @property
    def differences(self) -> list[Difference]:
        """What it altered; one with an empty path where the document came or went."""
        before, after = (each and read_json(each.text) for each in (self.before, self.after))
        if self.before is None or self.after is None:
            return [Difference("", before, after)]
        return list(differences(before, after))


class DocumentLog:
    """Follows the document of one key.

    Attributes:
        rows: Those of all relations, as they stand.
        document: As it should stand; None where there is none.
        last: The change that altered it last; None where none did.
        altered: How many changes altered it.
    """

    def __init__(self, product: Product, key: Key, *, max_document_bytes: int | None) -> None:
        self.rows = LiveRows(product.form.relations)
        self.document: Built | None = None
        self.last: Alteration | None = None
        self.altered = 0
        self.key = key
        self._root = product.root.relation
        self._builder = DocumentBuilder(product, Findings(), max_document_bytes)
        self._asked = Asked(self.rows)

    @property
    def root(self) -> Row | None:
        """The root's row; None where products see none."""
        known = self.rows.known(self._root.name, self.key)
        return None if known is None else known.seen

    def tell(self, changes: Iterable[Change]) -> None:
        """Tell the next changes of the logs."""
        for change in changes:
            effect = self.rows.apply(change)
            if effect.before is effect.after:
                continue
            of_root = change.relation == self._root.name and (
                tuple(change.key.values()) == self.key
            )
            if of_root or self._asked.concerns(change.relation, effect):
                self._make(change)

    def _make(self, change: Change) -> None:
        before, root = self.document, self.root
        self._asked = Asked(self.rows)
        self.document = None if root is None else self._builder.build(root, self._asked)
        if _told(before) != _told(self.document):
            self.last = Alteration(change, before, self.document)
            self.altered += 1


def _told(document: Built | None) -> tuple[str, str | None] | None:
    return None if document is None else (document.text, document.reason)


def differences(before: Any, after: Any, path: str = "") -> Iterator[Difference]:
    """Yield where two values differ, as deep as both have the same shape."""
    match before, after:
        case Mapping(), Mapping():
            for name in dict.fromkeys((*before, *after)):
                at = f"{path}.{name}" if path else name
                yield from _unless_equal(before.get(name, _MISSING), after.get(name, _MISSING), at)
        case list(), list() if len(before) != len(after) or _moved(before, after):
            yield from _items(before, after, path)
        case list(), list():
            for place, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _unless_equal(one, other, f"{path}[{place}]")
        case _:
            yield Difference(
                path, *(None if each is _MISSING else each for each in (before, after))
            )


def _moved(before: list[Any], after: list[Any]) -> bool:
    """Return whether items of a list are at other places than before, and others came."""
    new: int = sum(each not in before for each in after)
    other: int = sum(one != two for one, two in zip(before, after, strict=True))
    return bool(0 < new < other)


def _items(before: list[Any], after: list[Any], path: str) -> Iterator[Difference]:
    """Yield the items that a list has lost, at their old places, then those that it has gained."""
    for place, each in enumerate(before):
        if each not in after:
            yield Difference(f"{path}[{place}]", each, None)
    for place, each in enumerate(after):
        if each not in before:
            yield Difference(f"{path}[{place}]", None, each)


def _unless_equal(before: Any, after: Any, path: str) -> Iterator[Difference]:
    if before != after:
        yield from differences(before, after, path)
