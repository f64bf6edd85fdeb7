"""Reads a lookup of a stream, with what can only stand beside something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from joinery.project import grammar_stream
from joinery.project.kinds import LOOKUP_STORES
from joinery.project.location import Path
from joinery.project.option import check_options
from joinery.project.quantity import duration_ms
from joinery.project.read_node import read_fields, read_on
from joinery.project.reader import Reader
from joinery.project.stream import (
    AsOf,
    Cache,
    Late,
    Limits,
    LookupSpec,
    Miss,
    OnChange,
    Read,
    StoreRead,
)
from joinery.project.tree import MapTree, Scalar, Tree

Parts = Mapping[str, Tree]


def read_lookup(reader: Reader, tree: MapTree, what: str, path: Path) -> LookupSpec:
    """Return the lookup that a step declares."""
    parts = reader.named(tree, what, grammar_stream.LOOKUP)
    if "on" not in parts:
        hint = "Write on: {table column: event column}."
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "on"', tree.mark.value, hint=hint)
    miss, wait_ms = _miss(reader, parts.get("on_miss"), what)
    _check_together(reader, parts, what)
    return LookupSpec(
        table=reader.text(parts["lookup"], f'"lookup" of {what}'),
        on=read_on(reader, parts["on"], what, (*path, "on")) if "on" in parts else (),
        fields=read_fields(reader, parts["fields"], what, (*path, "fields"))
        if "fields" in parts
        else None,
        read=cast(Read, _word(reader, parts, "read", what, grammar_stream.READS)),
        as_of=cast(AsOf, _word(reader, parts, "as_of", what, grammar_stream.TIMES)),
        time=reader.text(parts["time"], f'"time" of {what}') if "time" in parts else None,
        late=cast(Late, _word(reader, parts, "late", what, grammar_stream.LATES)),
        on_miss=miss,
        wait_ms=wait_ms,
        on_change=cast(OnChange, _word(reader, parts, "on_change", what, grammar_stream.CHANGES)),
        for_ms=_duration(reader, parts, "for", what),
        every_ms=_duration(reader, parts, "every", what),
        where=reader.expression(parts["where"], f'"where" of {what}') if "where" in parts else None,
        cache=_cache(reader, parts.get("cache"), what),
        limits=_limits(reader, parts.get("limits"), what),
        store=read_store(reader, parts["store"], f'"store" of {what}')
        if "store" in parts
        else None,
    )


def _word(reader: Reader, parts: Parts, name: str, what: str, known: tuple[str, ...]) -> str:
    if name not in parts:
        return known[0]
    word = reader.word(parts[name], f'"{name}" of {what}', known)
    return word if word in known else known[0]


def _duration(reader: Reader, parts: Parts, name: str, what: str) -> int | None:
    return reader.duration_ms(parts[name], f'"{name}" of {what}') if name in parts else None


def _miss(reader: Reader, tree: Tree | None, what: str) -> tuple[Miss, int | None]:
    """Return what becomes of an event without a row: a word, null itself, or `wait:5m`."""
    if tree is None or (isinstance(tree, Scalar) and tree.value is None):
        return "null", None
    part = f'"on_miss" of {what}'
    if isinstance(tree, Scalar) and tree.text.startswith("wait"):
        wait_ms = duration_ms(tree.text.removeprefix("wait").removeprefix(":"))
        if wait_ms is None:
            message = f'{part} cannot be "{tree.text}"'
            reader.refuse("SPEC_VALUE", message, tree.mark.value, hint='Write "wait:5m".')
        return "wait", wait_ms or 0
    if isinstance(tree, MapTree) and [each.name for each in tree.entries] == ["wait"]:
        return "wait", reader.duration_ms(tree.entries[0].value, f'"wait" of {part}')
    known = (*grammar_stream.MISSES, "wait:5m")
    word = reader.word(tree, part, known)
    return (cast(Miss, word), None) if word in grammar_stream.MISSES else ("null", None)


def _check_together(reader: Reader, parts: Parts, what: str) -> None:
    """Refuse words that mean nothing without another."""
    values = {name: getattr(each, "text", "") for name, each in parts.items()}
    remembers = values.get("on_change") in ("re_emit", "correct")
    versioned = values.get("as_of") == "event"
    wanted = (
        ("for", remembers or versioned, "on_change: re_emit"),
        ("where", remembers, "on_change: re_emit"),
        ("every", values.get("on_change") == "correct", "on_change: correct"),
        ("late", versioned, "as_of: event"),
        ("time", versioned, "as_of: event"),
        *((name, values.get("read") == "database", "read: database") for name in _STORE_WORDS),
    )
    for name, fits, beside in wanted:
        if name in parts and not fits and values.get("read") != "event":
            message = f'{what} has "{name}" without {beside}'
            place, hint = parts[name].mark.value, f'Add {beside}, or remove "{name}".'
            reader.refuse("SPEC_VALUE", message, place, hint=hint)
    if remembers and "for" not in parts and values.get("read") != "event":
        message = f'{what} needs "for" with on_change: {values["on_change"]}'
        place, hint = parts["on_change"].mark.value, "Write for: 7d."
        reader.refuse("SPEC_MISSING_KEY", message, place, hint=hint)


_STORE_WORDS = ("cache", "limits", "store")


def _cache(reader: Reader, tree: Tree | None, what: str) -> Cache:
    default, part = Cache(), f'"cache" of {what}'
    parts = reader.named(tree, part, grammar_stream.CACHE) if tree is not None else {}
    ttl, negative = (_duration(reader, parts, name, part) for name in ("ttl", "negative"))
    return Cache(
        rows=reader.count(parts["size"], f'"size" of {part}') if "size" in parts else default.rows,
        ttl_ms=default.ttl_ms if ttl is None else ttl,
        negative_ttl_ms=default.negative_ttl_ms if negative is None else negative,
    )


def _limits(reader: Reader, tree: Tree | None, what: str) -> Limits:
    default, part = Limits(), f'"limits" of {what}'
    parts = reader.named(tree, part, grammar_stream.LIMITS) if tree is not None else {}
    counts = {
        name: reader.count(parts[name], f'"{name}" of {part}')
        for name in ("concurrency", "batch")
        if name in parts
    }
    return Limits(
        concurrency=counts.get("concurrency", default.concurrency),
        per_second=_rate(reader, parts.get("per_second"), part),
        batch=counts.get("batch", default.batch),
        warm_up_ms=_duration(reader, parts, "warm_up", part) or 0,
    )


def _rate(reader: Reader, tree: Tree | None, part: str) -> float | None:
    if tree is None:
        return None
    value = tree.value if isinstance(tree, Scalar) else None
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    reader.shape(tree, f'"per_second" of {part}', "a number above 0")
    return None


def read_store(reader: Reader, tree: Tree, part: str) -> StoreRead:
    """Return the store that rows are queried from: `{kind: options}`."""
    entries = reader.entries(tree, part) if isinstance(tree, MapTree) else ()
    if len(entries) != 1:
        reader.shape(tree, part, "a map with one kind", "Write one such as {sqlite: {path: db}}.")
        return StoreRead("")
    entry = entries[0]
    if entry.name not in LOOKUP_STORES:
        message = f'{part} has no kind "{entry.name}"'
        reader.unknown(message, entry.name, LOOKUP_STORES.names(), entry.place)
    elif (known := LOOKUP_STORES.known(entry.name)) is not None:
        check_options(reader, entry, f'"{entry.name}" of {part}', known)
    return StoreRead(entry.name, reader.options(entry.value, f'"{entry.name}" of {part}'))
