"""The functions of the portable subset and their types; `docs/expressions.md` lists them.

A rule returns the typed application, or None where the portable subset ends, so that
Spark's analyser decides.

Names of Spark functions that no expression may call, and why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from joinery.expression.coercion import (
    bounded,
    converted,
    implied,
    integral,
    numeric,
    orderable,
    together,
    wider_all,
)
from joinery.expression.literal import type_named
from joinery.expression.operator import CONTAINERS, OPERATORS, Arguments, Mismatch, Rule, comparison
from joinery.expression.token import Token
from joinery.expression.typed import Apply, Constant, Typed
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    DataType,
    Decimal,
)

_REGEX_SIGNS = re.compile(r"[\\^$.|?*+()\[\]{}]")
TRUNCATIONS = {
    **dict.fromkeys(("year", "yyyy", "yy"), "year"),
    **dict.fromkeys(("month", "mon", "mm"), "month"),
    **dict.fromkeys(("day", "dd"), "day"),
    **{
        unit: unit
        for unit in ("quarter", "week", "hour", "minute", "second", "millisecond", "microsecond")
    },
}


def signature(
    function: str, wanted: Sequence[DataType], result: DataType, *, optional: int = 0
) -> Rule:
    """Return the rule of a function with fixed types, of which the last may be optional."""

    def rule(arguments: Arguments) -> Typed | None:
        if not len(wanted) - optional <= len(arguments) <= len(wanted):
            return None
        taken = [implied(each, kind) for each, kind in zip(arguments, wanted, strict=False)]
        operands = tuple(each for each in taken if each is not None)
        return Apply(function, operands, result) if len(operands) == len(taken) else None

    return rule


def common(function: str, *, text: bool = True, least: int = 1) -> Rule:
    """Return the rule of a function whose arguments and result share one type."""

    def rule(arguments: Arguments) -> Typed | None:
        operands = together(arguments, wider_all((each.type for each in arguments), text=text))
        if operands is None or len(operands) < least:
            return None
        return Apply(function, operands, operands[0].type)

    return rule


def _conditional(arguments: Arguments) -> Typed | None:
    return OPERATORS["case"](arguments) if len(arguments) == 3 else None


def _nvl2(arguments: Arguments) -> Typed | None:
    if len(arguments) != 3:
        return None
    known = Apply("not", (Apply("is null", (arguments[0],), BOOLEAN),), BOOLEAN)
    return OPERATORS["case"]((known, *arguments[1:]))


def _nullif(arguments: Arguments) -> Typed | None:
    equal = comparison("=")(arguments) if len(arguments) == 2 else None
    return None if equal is None else Apply("nullif", (equal, arguments[0]), arguments[0].type)


def _extreme(function: str) -> Rule:
    inner = common(function, text=False, least=2)

    def rule(arguments: Arguments) -> Typed | None:
        found = inner(arguments)
        return found if found is not None and orderable(found.type) else None

    return rule


def _round(arguments: Arguments) -> Typed | None:
    value, places = arguments[0], arguments[1] if len(arguments) > 1 else Constant(0, INT)
    if (
        len(arguments) > 2
        or not isinstance(places, Constant)
        or places.type != INT
        or not numeric(value.type)
    ):
        return None
    kind = value.type
    if isinstance(kind, Decimal):
        whole, kept = kind.precision - kind.scale + 1, min(kind.scale, places.value)
        kind = bounded(max(whole, 1 - kept), 0) if kept < 0 else bounded(whole + kept, kept)
    return Apply("round", (value, places), kind)


def _toward(function: str) -> Rule:
    def rule(arguments: Arguments) -> Typed | None:
        if len(arguments) != 1 or not numeric(arguments[0].type):
            return None
        (value,) = arguments
        match value.type:
            case Decimal(precision, scale):
                kind = value.type if scale == 0 else bounded(precision - scale + 1, 0)
                return Apply(function, (value,), kind)
            case _:
                if integral(value.type):
                    return converted(value, LONG)
                double = converted(value, DOUBLE)
                return None if double is None else Apply(function, (double,), LONG)

    return rule


def _binary(function: str) -> Rule:
    def rule(arguments: Arguments) -> Typed | None:
        return OPERATORS[function](arguments) if len(arguments) == 2 else None

    return rule


def _concat(arguments: Arguments) -> Typed | None:
    if arguments and all(isinstance(each.type, Array) for each in arguments):
        return common("concat arrays")(arguments)
    operands = [implied(each, STRING) for each in arguments]
    whole = tuple(each for each in operands if each is not None)
    return Apply("concat", whole, STRING) if len(whole) == len(operands) else None


def _joined(arguments: Arguments) -> Typed | None:
    """Type `||`, which other languages have for "or": two conditions are not meant as texts."""
    if all(each.type == BOOLEAN for each in arguments):
        raise Mismatch('"||" joins texts, and both sides are conditions', hint="Write or.")
    return _concat(arguments)


def _concat_ws(arguments: Arguments) -> Typed | None:
    texts = [each if each.type == Array(STRING) else implied(each, STRING) for each in arguments]
    whole = tuple(each for each in texts if each is not None)
    if not whole or len(whole) < len(texts) or whole[0].type != STRING:
        return None
    return Apply("concat_ws", whole, STRING)


def _split(arguments: Arguments) -> Typed | None:
    if len(arguments) != 2 or arguments[0].type != STRING:
        return None
    sign = arguments[1]
    if not isinstance(sign, Constant) or not isinstance(sign.value, str):
        return None
    plain = sign.value != "" and not _REGEX_SIGNS.search(sign.value)
    return Apply("split", tuple(arguments), Array(STRING)) if plain else None


def _reverse(arguments: Arguments) -> Typed | None:
    if len(arguments) != 1:
        return None
    if isinstance(arguments[0].type, Array):
        return Apply("reverse array", tuple(arguments), arguments[0].type)
    return signature("reverse", (STRING,), STRING)(arguments)


def _date_trunc(arguments: Arguments) -> Typed | None:
    if len(arguments) != 2 or _unit(arguments[0]) is None:
        return None
    moment = implied(arguments[1], TIMESTAMP)
    unit = Constant(_unit(arguments[0]), STRING)
    return None if moment is None else Apply("date_trunc", (unit, moment), TIMESTAMP)


def _trunc(arguments: Arguments) -> Typed | None:
    if len(arguments) != 2 or _unit(arguments[1]) not in ("year", "quarter", "month", "week"):
        return None
    day, unit = implied(arguments[0], DATE), Constant(_unit(arguments[1]), STRING)
    return None if day is None else Apply("trunc", (day, unit), DATE)


def _unit(node: Typed) -> str | None:
    written = node.value if isinstance(node, Constant) else None
    return TRUNCATIONS.get(written.lower()) if isinstance(written, str) else None


def _cast_to(word: str) -> Rule:
    kind = type_named(Token("name", word, 0, 0), ())

    def rule(arguments: Arguments) -> Typed | None:
        return converted(arguments[0], kind) if len(arguments) == 1 else None

    return rule


_TEXT = (STRING,)
_CASTS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")

FUNCTIONS: dict[str, Rule] = {
    **{each: _cast_to(each) for each in (*_CASTS, "string", "date", "timestamp")},
    "if": _conditional,
    "nvl2": _nvl2,
    "nullif": _nullif,
    **{each: common("coalesce") for each in ("coalesce", "nvl", "ifnull")},
    **{each: _extreme(each) for each in ("greatest", "least")},
    **{
        each: signature(each, _TEXT, STRING)
        for each in ("upper", "lower", "trim", "ltrim", "rtrim")
    },
    **{
        each: signature(name, _TEXT, STRING)
        for each, name in (("ucase", "upper"), ("lcase", "lower"))
    },
    **{
        each: signature("length", _TEXT, INT)
        for each in ("length", "len", "char_length", "character_length")
    },
    "concat": _concat,
    "||": _joined,
    "concat_ws": _concat_ws,
    **{
        each: signature("substring", (STRING, INT, INT), STRING, optional=1)
        for each in ("substring", "substr")
    },
    **{each: signature(each, (STRING, INT), STRING) for each in ("left", "right", "repeat")},
    "replace": signature("replace", (STRING, STRING, STRING), STRING, optional=1),
    "instr": signature("instr", (STRING, STRING), INT),
    **{
        each: signature("locate", (STRING, STRING, INT), INT, optional=1)
        for each in ("locate", "position")
    },
    **{
        each: signature(each, (STRING, INT, STRING), STRING, optional=1)
        for each in ("lpad", "rpad")
    },
    **{
        each: signature(each, (STRING, STRING), BOOLEAN)
        for each in ("startswith", "endswith", "contains")
    },
    **{each: signature(each, (STRING, STRING), BOOLEAN) for each in ("like", "ilike")},
    "split": _split,
    "split_part": signature("split_part", (STRING, STRING, INT), STRING),
    "reverse": _reverse,
    "abs": lambda arguments: OPERATORS["abs"](arguments) if len(arguments) == 1 else None,
    "round": _round,
    "floor": _toward("floor"),
    **{each: _toward("ceil") for each in ("ceil", "ceiling")},
    "sqrt": signature("sqrt", (DOUBLE,), DOUBLE),
    **{each: signature("sign", (DOUBLE,), DOUBLE) for each in ("sign", "signum")},
    "mod": _binary("%"),
    "pmod": _binary("pmod"),
    "to_date": signature("to_date", (DATE,), DATE),
    "to_timestamp": signature("to_timestamp", (TIMESTAMP,), TIMESTAMP),
    **{
        each: signature(each, (DATE,), INT)
        for each in (
            "year",
            "quarter",
            "month",
            "day",
            "dayofweek",
            "weekday",
            "dayofyear",
            "weekofyear",
        )
    },
    "dayofmonth": signature("day", (DATE,), INT),
    **{each: signature(each, (TIMESTAMP,), INT) for each in ("hour", "minute", "second")},
    **{each: signature("date_add", (DATE, INT), DATE) for each in ("date_add", "dateadd")},
    "date_sub": signature("date_sub", (DATE, INT), DATE),
    **{each: signature("datediff", (DATE, DATE), INT) for each in ("datediff", "date_diff")},
    "add_months": signature("add_months", (DATE, INT), DATE),
    "last_day": signature("last_day", (DATE,), DATE),
    "make_date": signature("make_date", (INT, INT, INT), DATE),
    "date_trunc": _date_trunc,
    "trunc": _trunc,
    "unix_date": signature("unix_date", (DATE,), INT),
    "date_from_unix_date": signature("date_from_unix_date", (INT,), DATE),
    **{
        f"{kind}_{unit}": signature(f"{kind}_{unit}", (wanted,), result)
        for kind, wanted, result in (("unix", TIMESTAMP, LONG), ("timestamp", LONG, TIMESTAMP))
        for unit in ("micros", "millis", "seconds")
    },
    "array_join": signature("array_join", (Array(STRING), STRING, STRING), STRING, optional=1),
    **CONTAINERS,
}


NOT_DETERMINISTIC = frozenset(
    """
    rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id
    now current_timestamp localtimestamp current_date curdate current_time current_timezone
    unix_timestamp_now input_file_name input_file_block_start input_file_block_length
    current_user user session_user current_database current_schema current_catalog version
    """.split()
)

GENERATORS = frozenset(
    "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple "
    "variant_explode variant_explode_outer".split()
)

WINDOWS = frozenset(
    "row_number rank dense_rank percent_rank ntile lag lead cume_dist nth_value".split()
)

AGGREGATES = frozenset(
    """
    count sum min max avg mean first first_value last last_value any_value any some every bool_and
    bool_or count_if collect_list collect_set array_agg list_agg listagg string_agg stddev std
    stddev_pop stddev_samp variance var_pop var_samp corr covar_pop covar_samp kurtosis skewness
    median mode percentile percentile_approx approx_percentile approx_count_distinct max_by min_by
    bit_and bit_or bit_xor histogram_numeric product regr_avgx regr_avgy regr_count regr_r2
    try_sum try_avg grouping grouping_id sum_distinct count_min_sketch
    """.split()
)

_WORDS_AS_CALLS = frozenset(
    "current_timestamp current_date current_time localtimestamp current_user".split()
)


def moving_word(name: str) -> bool:
    """True for a bare word that Spark reads as a call of a function that depends on the run."""
    return name.lower() in _WORDS_AS_CALLS
