"""How a window of time is read and written, and the keys of each kind.

A window is checked where it is read: no other part of the project is needed for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, assert_never
from zoneinfo import ZoneInfo, available_timezones

from joinery.project.option import Names
from joinery.project.quantity import micros_text, span_text
from joinery.project.reader import Reader
from joinery.project.tree import MapTree, Scalar, Tree
from joinery.project.value import Fragment, Value
from joinery.project.window import (
    DAY_US,
    Cumulative,
    Grid,
    Hopping,
    Session,
    Sliding,
    Span,
    Tumbling,
    Window,
)

_MOST_WINDOWS = 10_000
_EXAMPLE = "Write {tumbling: 1h}."


def _span(description: str, **more: Any) -> Fragment:
    return {"$ref": "#/$defs/span", "description": description, **more}


_ALIGNED: Names = {
    "zone": {
        "type": "string",
        "description": "The time zone of days, weeks and months.",
        "examples": ["Europe/Berlin"],
    },
    "offset": _span("How long after midnight, or 1970, windows begin.", default="0s"),
}
WINDOW: Mapping[str, Names] = {
    "tumbling": {"tumbling": _span("The size of windows side by side."), **_ALIGNED},
    "hopping": {
        "hopping": _span("The size of windows that overlap."),
        "every": _span("How far apart they begin."),
        **_ALIGNED,
    },
    "cumulative": {
        "cumulative": _span("The longest window from each start."),
        "every": _span("How far apart the ends of the windows from one start are."),
        **_ALIGNED,
    },
    "session": {
        "session": _span("The gap without a row that ends a session."),
        "max": _span("Where a longer session is cut; by default nowhere."),
    },
    "sliding": {"sliding": _span("How far before the watermark a row still counts.")},
}
"""By kind, the keys of a window, as JSON Schema."""
WINDOW_KINDS = tuple(WINDOW)


def needed_in_window(kind: str) -> tuple[str, ...]:
    """Return the keys that a window of a kind has to have."""
    return (kind, "every") if "every" in WINDOW[kind] else (kind,)


def read_product_window(reader: Reader, tree: Tree, what: str) -> Window | str | None:
    """Return the window of a product: a map, or the name of one of the project."""
    if isinstance(tree, Scalar):
        return reader.text(tree, f'"window" of {what}')
    return read_window(reader, tree, f'"window" of {what}')


def read_window(reader: Reader, tree: Tree, what: str) -> Window | None:
    """Return a window, or None where it cannot be one."""
    kinds = WINDOW_KINDS
    if not isinstance(tree, MapTree):
        reader.shape(tree, what, f"a map with one of {', '.join(kinds)}", _EXAMPLE)
        return None
    found = [each for each in kinds if each in {entry.name for entry in tree.entries}]
    if len(found) > 1:
        message, hint = f"{what} is of one kind, not of {', '.join(found)}", "Keep one of them."
        reader.refuse("SPEC_SHAPE", message, tree.mark.value, hint=hint)
        return None
    if not found:
        _refuse_no_kind(reader, tree, what)
        return None
    parts = reader.named(tree, what, WINDOW[found[0]])
    known = len(reader.problems)
    made = _window(reader, parts, found[0], what)
    if len(reader.problems) > known:
        return made  # of lengths that stand for those that were refused
    match made:
        case Tumbling() | Hopping() | Cumulative():
            _check_grid(reader, parts, made, what)
        case Session() | Sliding() | None:
            pass
        case _:
            assert_never(made)
    return made


def _refuse_no_kind(reader: Reader, tree: MapTree, what: str) -> None:
    """Note a window without a kind: which of its keys may have been meant as one, or that none."""
    beside = {name for names in WINDOW.values() for name in names}
    strange = [each for each in tree.entries if each.name not in beside]
    for each in strange:
        message = f'{what} has no key "{each.name}"'
        reader.unknown(message, each.name, WINDOW_KINDS, each.place, otherwise=_EXAMPLE)
    if not strange:
        message = f"{what} needs one of {', '.join(WINDOW_KINDS)}"
        reader.refuse("SPEC_MISSING_KEY", message, tree.mark.value, hint=_EXAMPLE)


def _window(reader: Reader, parts: Mapping[str, Tree], kind: str, what: str) -> Window | None:
    size = parts[kind]
    told = f'"{kind}" of {what}'
    if kind == "session":
        longest = None
        if "max" in parts:
            longest = reader.elapsed_us(parts["max"], f'"max" of {what}', least=1)
        return Session(reader.elapsed_us(size, told, least=1), longest)
    if kind == "sliding":
        return Sliding(reader.elapsed_us(size, told, least=1))
    zone = _zone(reader, parts["zone"], what) if "zone" in parts else None
    offset = 0
    if "offset" in parts:
        offset = reader.elapsed_us(parts["offset"], f'"offset" of {what}')
    if kind == "tumbling":
        return Tumbling(reader.span(size, told), zone, offset)
    if "every" not in parts:
        reader.refuse("SPEC_MISSING_KEY", f'{what} needs "every"', size.mark.value)
        return None
    every = reader.span(parts["every"], f'"every" of {what}')
    made = Hopping if kind == "hopping" else Cumulative
    return made(reader.span(size, told), every, zone, offset)


def _zone(reader: Reader, tree: Tree, what: str) -> str | None:
    name = reader.text(tree, f'"zone" of {what}')
    if not name:
        return None
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        message = f'there is no time zone "{name}"'
        near = get_close_matches(name, available_timezones(), n=1)
        named = near[0] if near else "one of the IANA database, such as Europe/Berlin"
        hint = f"Name {named}."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
        return None
    return name


def _check_grid(reader: Reader, parts: Mapping[str, Tree], window: Grid, what: str) -> None:
    kind = type(window).__name__.lower()
    size, every = parts[kind], parts.get("every")
    step = window.size if isinstance(window, Tumbling) else window.every
    _check_day(reader, size, window.size, window, what)
    if every is not None and not isinstance(window, Tumbling):
        _check_day(reader, every, window.every, window, what)
        _check_steps(reader, every, window, what)
    if window.offset_us >= step.shortest_us:
        message = f'"offset" of {what} is not below its step'
        hint = "Write the part of it that is below."
        reader.refuse("SPEC_VALUE", message, parts["offset"].mark.value, hint=hint)


def _check_day(reader: Reader, tree: Tree, span: Span, window: Grid, what: str) -> None:
    """Refuse what does not divide a day of the clock."""
    part = span.count < DAY_US and DAY_US % span.count == 0
    if window.zone is None or span.unit != "micros" or part:
        return
    days = span.count % DAY_US == 0
    told = "in hours" if days else "no part of a day"
    message = f"{what} has a zone, and its length is {told}"
    hint = f"Write {span.count // DAY_US}d." if days else "Take one that divides 24 hours."
    reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)


def _check_steps(reader: Reader, tree: Tree, window: Hopping | Cumulative, what: str) -> None:
    size, every = window.size, window.every
    if isinstance(window, Cumulative) and not _divides(every, size):
        message = f'"every" of {what} does not divide its size'
        reader.refuse("SPEC_VALUE", message, tree.mark.value)
    elif every != size and every.longest_us > size.shortest_us:
        message = f'"every" of {what} is above its size'
        hint = "Rows between two windows would be in none."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)
    elif size.longest_us // every.shortest_us > _MOST_WINDOWS:
        message = f"{what} puts each row into {size.longest_us // every.shortest_us:,} windows"
        hint = 'Take a longer "every", or a sliding window.'
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)


def _divides(every: Span, size: Span) -> bool:
    """Return whether windows of `size` are whole numbers of `every`, in any year and zone."""
    if every.unit == "months" or size.unit == "months":
        if every.unit == size.unit:
            return size.count % every.count == 0
        return every.elapsed_us is not None and DAY_US % every.elapsed_us == 0
    weeks = every.unit != "weeks" or size.unit == "weeks"
    return weeks and (size.elapsed_us or 0) % (every.elapsed_us or 1) == 0  # no months here


def window_data(window: Window) -> dict[str, Any]:
    """Return a window as the map that declares it."""
    match window:
        case Tumbling(size, zone, offset_us):
            return {"tumbling": span_text(size), **_aligned(zone, offset_us)}
        case Hopping(size, every, zone, offset_us):
            told = {"hopping": span_text(size), "every": span_text(every)}
            return told | _aligned(zone, offset_us)
        case Cumulative(size, every, zone, offset_us):
            told = {"cumulative": span_text(size), "every": span_text(every)}
            return told | _aligned(zone, offset_us)
        case Session(gap_us, max_us):
            longest = {} if max_us is None else {"max": micros_text(max_us)}
            return {"session": micros_text(gap_us), **longest}
        case Sliding(size_us):
            return {"sliding": micros_text(size_us)}


def _aligned(zone: str | None, offset_us: int) -> dict[str, Any]:
    return ({"zone": zone} if zone else {}) | (
        {"offset": micros_text(offset_us)} if offset_us else {}
    )


WINDOW_OR_NAME = Value(
    {
        "anyOf": [
            {"type": "string", "description": "The name of one of `windows`."},
            {"$ref": "#/$defs/window"},
        ]
    },
    lambda at, tree: read_product_window(at.reader, tree, at.what),
    lambda window: window if isinstance(window, str) else window_data(window),
)
"""The window of a product: a map, or the name of one of the project."""
