"""Typed names in tiny domains, from which random expressions are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

NUMBERS = (0, 1, 2, 3)
TEXTS = ("", "a", "b", "B", "é", "\U0001f600", "12")
DECIMALS = ("0.00", "1.50", "-2.25", "10.00")
DOUBLES = (0.0, 1.5, -1.0, 1e16)
TIMES = ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000001Z", "1969-12-31T23:59:59.5Z")
DAYS = ("2026-01-02", "2024-02-29")
VALUES: dict[str, tuple[object, ...]] = {
    "int": NUMBERS,
    "long": NUMBERS,
    "string": TEXTS,
    "boolean": (True, False),
    "decimal(6,2)": DECIMALS,
    "double": DOUBLES,
    "timestamp": TIMES,
    "date": DAYS,
}
NUMERIC = ("int", "long")


@dataclass(frozen=True, slots=True)
class Name:
    """A name that an expression may use, such as `f0` or `e1.o2`, and its type."""

    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Made:
    """An expression and its type."""

    text: str
    type: str


def of_type(names: Sequence[Name], *types: str) -> list[Name]:
    return [each for each in names if each.type in types]


def expression(random: Random, names: Sequence[Name], *, plain: bool) -> Made:
    """Return an expression over `names`; a plain one means the same in any SQL."""
    name = random.choice(names)
    choices = _plain(random, name, names)
    if not plain:
        choices += _rich(random, name, names)
    return random.choice(choices)


def condition(random: Random, names: Sequence[Name], *, plain: bool) -> str:
    name = random.choice(names)
    choices = [f"{name.text} is not null", f"coalesce({name.text} is null, true)"]
    if name.type in NUMERIC:
        n = random.choice(NUMBERS)
        choices += [f"{name.text} > {n}", f"{name.text} <> {n}", f"{name.text} in (0, 1, {n})"]
    if name.type == "string":
        choices += [f"{name.text} <> 'a'", f"{name.text} in ('a', 'b')"]
        if not plain:
            choices += [f"{name.text} like '%b%'", f"length({name.text}) = 1"]
    if name.type == "boolean" and not plain:
        choices += [name.text, f"not {name.text}"]
    if len(names) > 1 and random.random() < 0.2:
        other = random.choice(names)
        choices = [f"{each} or {other.text} is null" for each in choices]
    return random.choice(choices)


def _plain(random: Random, name: Name, names: Sequence[Name]) -> list[Made]:
    made = [Made(name.text, name.type)]
    if name.type in NUMERIC:
        other = random.choice(of_type(names, name.type))
        made += [
            Made(f"{name.text} + 1", name.type),
            Made(f"coalesce({name.text}, 7)", name.type),
            Made(f"{name.text} * {other.text}", name.type),
            Made(f"case when {name.text} > 1 then {other.text} else 5 end", name.type),
        ]
        made = [each for each in made if each.type == name.type]
    if name.type == "string":
        made.append(Made(f"coalesce({name.text}, '-')", "string"))
    return made


def _rich(random: Random, name: Name, names: Sequence[Name]) -> list[Made]:
    made: list[Made] = []
    if name.type in NUMERIC:
        made += [
            Made(f"10 / {name.text}", "double"),
            Made(f"{name.text} % 2", name.type),
            Made(f"cast({name.text} as string)", "string"),
        ]
    if name.type == "string":
        other = random.choice(of_type(names, "string"))
        made += [
            Made(f"concat({name.text}, '/', {other.text})", "string"),
            Made(f"upper({name.text})", "string"),
            Made(f"cast({name.text} as int)", "int"),
            Made(f"try_cast({name.text} as int)", "int"),
            Made(f"length({name.text})", "int"),
        ]
    if name.type == "timestamp":
        made.append(Made(f"year({name.text})", "int"))
    if name.type.startswith("decimal"):
        made.append(Made(f"coalesce({name.text}, cast(1 as decimal(6,2)))", name.type))
    return made
