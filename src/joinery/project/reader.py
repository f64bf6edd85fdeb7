"""Reads the shapes of a tree, and notes every problem instead of stopping at the first.

Invariant: a reading that noted no problem returned what was declared; any other returned
a harmless stand-in that its caller throws away with the spec.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from joinery.errors import Location, SpecError
from joinery.project.mark import Mark, Path
from joinery.project.quantity import duration_ms, offset_us, size_bytes, span_of
from joinery.project.tree import Entry, ListTree, MapTree, Scalar, Tree
from joinery.project.window import DAY_US, Span

_FOLDER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

_MOST = 2**31 - 1
_YEARS = 1_000
_LONGEST_US = _YEARS * 366 * DAY_US

_MEANT = {
    "group_by": "Write aggregate: RELATION with by: [column].",
    "settle": "Write emit: {settle: 2s}.",
    "<<": "Write the keys out: YAML 1.2 merges no maps.",
}
_MEANT_OF_PRODUCT = {
    "key": "A document has the key of its root; use aggregate with by: [column] for another.",
    "limit": "Only an embed has a limit.",
}
_SIGNS = {"": "", "asc": "", "desc": "-"}


class Reader:
    """Notes problems, and the places of parts that a shorthand stands for."""

    def __init__(self) -> None:
        self.problems: list[SpecError] = []
        self.marks: dict[Path, Mark] = {}

    def refuse(
        self, code: str, message: str, place: Location | None, *, detail: str = "", hint: str = ""
    ) -> None:
        """Note one problem, once where several rules meet it."""
        if any((code, message, place) == (e.code, e.message, e.location) for e in self.problems):
            return
        self.problems.append(
            SpecError(message, code=code, detail=detail, hint=hint, location=place)
        )

    def shape(self, tree: Tree, what: str, wanted: str, hint: str = "") -> None:
        """Note that `what` is not what it should be."""
        found = _shown(tree) if isinstance(tree, Scalar) and tree.text else _kind(tree)
        if wanted.startswith(found) and not isinstance(tree, Scalar):
            found = f"{found} of {len(_parts(tree))}"
        self.refuse("SPEC_SHAPE", f"{what} needs {wanted}, not {found}", tree.mark.value, hint=hint)

    def alias(self, path: Path, tree: Tree, key: Location | None = None) -> None:
        """Remember that the part at `path` stands where `tree` does."""
        self.marks[path] = replace(tree.mark, key=key or tree.mark.value)

    def entries(self, tree: Tree, what: str) -> tuple[Entry, ...]:
        """Return the entries of a map, each name once; a null is an empty map."""
        if isinstance(tree, Scalar) and tree.value is None:
            return ()
        if not isinstance(tree, MapTree):
            self.shape(tree, what, "a map")
            return ()
        first: dict[str, Entry] = {}
        for entry in tree.entries:
            if entry.name in first:
                before = first[entry.name].place
                self.refuse(
                    "SPEC_DUPLICATE_KEY",
                    f'{what} has "{entry.name}" twice',
                    entry.place,
                    detail=_seen(before, entry.place),
                    hint="Remove one of the two.",
                )
            first.setdefault(entry.name, entry)
        return tuple(first.values())

    def named(
        self, tree: Tree, what: str, known: Collection[str], reserved: Collection[str] = ()
    ) -> Mapping[str, Tree]:
        """Return the values of a map whose names are all known."""
        found: dict[str, Tree] = {}
        for entry in self.entries(tree, what):
            if entry.name in known:
                found[entry.name] = entry.value
            elif entry.name in reserved:
                self.refuse(
                    "SPEC_NOT_YET",
                    f'"{entry.name}" of {what} is reserved, and not supported yet',
                    entry.place,
                    hint=f'Remove "{entry.name}".',
                )
            else:
                self.unknown(f'{what} has no key "{entry.name}"', entry.name, known, entry.place)
        return found

    def unknown(
        self,
        message: str,
        name: str,
        known: Collection[str],
        place: Location | None,
        otherwise: str = "",
    ) -> None:
        """Note a name that is not one of `known`, with the nearest of them, or another hint."""
        detail = f"Known: {', '.join(known)}." if known else "None are known here."
        near = difflib.get_close_matches(name, list(known), n=1)
        meant = {**_MEANT, **_MEANT_OF_PRODUCT} if "root" in known else _MEANT
        hint = meant.get(name, "") or (f'Use "{near[0]}".' if near else otherwise)
        if name == "where" and "filter" in known:
            hint = 'Use "filter".'
        self.refuse("SPEC_UNKNOWN_KEY", message, place, detail=detail, hint=hint)

    def text(self, tree: Tree, what: str) -> str:
        """Return a text that is not empty."""
        if isinstance(tree, Scalar) and isinstance(tree.value, str) and tree.value:
            return tree.value
        hint = "Put it in quotes." if isinstance(tree, Scalar) and tree.text else ""
        self.shape(tree, what, "a text", hint)
        return ""

    def expression(self, tree: Tree, what: str) -> str:
        """Return the text of an expression; a number or a boolean is one as written."""
        if isinstance(tree, Scalar) and tree.text.strip():
            return tree.text
        cut = (
            "Put an expression with a comma in quotes."
            if what.split('" of')[0].endswith(")")
            else ""
        )
        self.shape(tree, what, "an expression", cut)
        return ""

    def items(self, tree: Tree, what: str) -> Sequence[Tree]:
        """Return what a list has."""
        if isinstance(tree, ListTree):
            return tree.items
        self.shape(tree, what, "a list", _as_list(tree))
        return ()

    def mistaken_map(self, tree: Tree, what: str) -> bool:
        """Note braces around names alone, as `{id, name}`, where a list of them is meant."""
        mistaken = isinstance(tree, MapTree) and all(
            isinstance(each.value, Scalar) and not each.value.text for each in tree.entries
        )
        hint = _as_list(tree) if mistaken else ""
        if hint:
            self.shape(tree, what, "a list, or something for each name", hint)
        return bool(hint)

    def texts(self, tree: Tree, what: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(self.text(item, f"an entry of {what}") for item in self.items(tree, what))

    def pairs(self, tree: Tree, what: str) -> tuple[tuple[str, str], ...]:
        """Return a map from names to expressions."""
        return tuple(
            (entry.name, self.expression(entry.value, f'"{entry.name}" of {what}'))
            for entry in self.entries(tree, what)
        )

    def word(self, tree: Tree, what: str, known: Collection[str]) -> str:
        """Return a text that is one of `known`."""
        text = self.text(tree, what)
        if text and text not in known:
            near = difflib.get_close_matches(text, list(known), n=1)
            hint = f'Use "{near[0]}".' if near else ""
            listed = f"Known: {', '.join(known)}."
            message = f'{what} cannot be "{text}"'
            self.refuse("SPEC_VALUE", message, tree.mark.value, detail=listed, hint=hint)
        return text

    def flag(self, tree: Tree, what: str) -> bool:
        """Return a boolean."""
        if isinstance(tree, Scalar) and isinstance(tree.value, bool):
            return tree.value
        self.shape(tree, what, "true or false")
        return False

    def count(self, tree: Tree, what: str, *, least: int = 1) -> int:
        """Return a whole number from `least` that an `int` holds."""
        value = tree.value if isinstance(tree, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST:
            return value
        large = isinstance(value, int) and value > _MOST
        wanted = f"up to {_MOST}" if large else f"from {least}"
        self.shape(tree, what, f"a whole number {wanted}")
        return least

    def rate(self, tree: Tree, what: str) -> float | None:
        """Return a number above 0."""
        value = tree.value if isinstance(tree, Scalar) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value)
        self.shape(tree, what, "a number above 0")
        return None

    def duration_ms(self, tree: Tree, what: str) -> int:
        """Return a duration such as `500ms`, `2s` or `7d` in milliseconds."""
        found = duration_ms(tree.text) if isinstance(tree, Scalar) else None
        if found is None:
            span = span_of(tree.text) if isinstance(tree, Scalar) else None
            self.shape(tree, what, _wanted(span), _no_milliseconds(span))
            return 0
        return found

    def span(self, tree: Tree, what: str) -> Span:
        """Return a duration above zero, such as `90s`, `1 week` or `1 month`."""
        found = span_of(tree.text) if isinstance(tree, Scalar) else None
        if found is None or found.count == 0 or found.longest_us > _LONGEST_US:
            hint = "Write one such as 10s, 5m, 1h, 7d, 1 week or 1 month."
            self.shape(tree, what, _wanted(found), hint)
            return Span(1, "days")
        return found

    def elapsed_us(self, tree: Tree, what: str, *, least: int = 0) -> int:
        """Return a duration without months in microseconds."""
        found = span_of(tree.text) if isinstance(tree, Scalar) else None
        micros = None if found is None else found.elapsed_us
        if micros is None or micros < least or micros > _LONGEST_US:
            hint = "A month has no fixed length; write days." if found and micros is None else ""
            self.shape(tree, what, _wanted(found), hint or "Write one such as 10s, 5m, 1h or 7d.")
            return max(least, 1)
        return micros

    def offset_us(self, tree: Tree, what: str) -> int:
        """Return a duration with or without a sign, and without months, in microseconds."""
        found = offset_us(tree.text) if isinstance(tree, Scalar) else None
        if found is None or abs(found) > _LONGEST_US:
            self.shape(tree, what, "a duration", "Write one such as 30m, 0s or -1h.")
            return 0
        return found

    def size_bytes(self, tree: Tree, what: str) -> int:
        """Return a size such as `8 MiB`, or a number of bytes."""
        size = size_bytes(tree.text) if isinstance(tree, Scalar) else None
        if size is None:
            self.shape(tree, what, "a size from 1", "Write one such as 1000000 or 8 MiB.")
            return 1
        return size

    def options(self, tree: Tree, what: str) -> tuple[tuple[str, object], ...]:
        """Return the options of a kind, whatever they hold."""
        return tuple((each.name, _value(each.value)) for each in self.entries(tree, what))

    def folder_name(self, name: str, what: str, place: Location | None) -> None:
        """Note a name that cannot stand for a folder."""
        if not _FOLDER_NAME.fullmatch(name):
            self.refuse(
                "SPEC_NAME",
                f'{what} cannot be named "{name}"',
                place,
                detail="Its name becomes the name of a folder.",
                hint="Use letters, digits, _ - and ., a letter first.",
            )

    def output_name(self, name: str, what: str, place: Location | None) -> None:
        """Note a name that cannot stand for a field."""
        if not name or name.startswith("__") or "/" in name:
            self.refuse(
                "SPEC_NAME",
                f'{what} cannot be named "{name}"',
                place,
                hint="Use a name without /, that does not begin with __.",
            )


def _seen(before: Location | None, again: Location | None) -> str:
    if before is None or again is None:
        return ""
    where = f"in line {before.line}" if before.file == again.file else f"at {before}"
    return f"It is {where} already."


def _wanted(found: Span | None) -> str:
    """Return what a duration should have been."""
    if found is not None and found.count == 0:
        return "a duration above zero"
    if found is not None and found.longest_us > _LONGEST_US:
        return f"a duration up to {_YEARS:,} years"
    return "a duration"


def _no_milliseconds(found: Span | None) -> str:
    """Return what to write in place of what is not a duration in whole milliseconds."""
    if found is not None and found.unit == "months":
        return "A month has no fixed length; write days."
    if found is not None and found.unit == "micros" and found.count % 1000:
        return "Write whole milliseconds, such as 1ms."
    return "Write one such as 500ms, 2s, 5m, 1h, 7d or 1 week."


def _as_list(tree: Tree) -> str:
    """Return how to write as a list what was written otherwise; empty where nothing tells."""
    if isinstance(tree, Scalar):
        return f"Write [{tree.text}]." if isinstance(tree.value, str) and tree.text else ""
    if not isinstance(tree, MapTree) or not tree.entries:
        return ""
    signs = [
        _SIGNS.get(each.value.text.lower()) if isinstance(each.value, Scalar) else None
        for each in tree.entries
    ]
    if None in signs:
        return ""
    pairs = zip(signs, tree.entries, strict=True)
    return f"Write [{', '.join(f'{sign}{each.name}' for sign, each in pairs)}]."


def _shown(tree: Scalar) -> str:
    """Return a scalar as the file has it; an address or a variable may hold a password."""
    if "${" in tree.mark.raw:
        return "a text with environment variables"
    secret = "://" in tree.text and "@" in tree.text
    return "an address" if secret else f'"{tree.text}"'


def _kind(tree: Tree) -> str:
    if isinstance(tree, ListTree):
        return "a list"
    return "a map" if isinstance(tree, MapTree) else "nothing"


def _parts(tree: ListTree | MapTree) -> Sequence[Entry | Tree]:
    return tree.items if isinstance(tree, ListTree) else tree.entries


def _value(tree: Tree) -> object:
    if isinstance(tree, Scalar):
        return tree.value
    if isinstance(tree, ListTree):
        return tuple(_value(item) for item in tree.items)
    return tuple((entry.name, _value(entry.value)) for entry in tree.entries)
