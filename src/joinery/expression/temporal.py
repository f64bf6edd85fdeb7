"""Functions over dates and UTC timestamps as Spark 4.3 does them, for years 1 to 9999."""

from __future__ import annotations

import calendar
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from joinery.expression.convert import micros_of, moment_of
from joinery.expression.problem import EvaluationError

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_LONG = 1 << 63


def date_add(day: date, days: int) -> date:
    """Return the date `days` later."""
    return _date(lambda: day + timedelta(days=days))


def add_months(day: date, months: int) -> date:
    """Return the same day `months` later, or that month's last."""
    at = day.year * 12 + day.month - 1 + months
    year, month = divmod(at, 12)
    return _date(
        lambda: date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    )


def last_day(day: date) -> date:
    """Return the last day of the month."""
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def make_date(year: int, month: int, day: int) -> date:
    """Return the date of its parts."""
    return _date(lambda: date(year, month, day))


def trunc(day: date, unit: str) -> date:
    """Return the first day of the year, quarter, month or week."""
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "month":
            return day.replace(day=1)
        case _:
            return _date(lambda: day - timedelta(days=day.weekday()))


def date_trunc(unit: str, moment: datetime) -> datetime:
    """Return the first instant of the unit that `moment` lies in."""
    match unit:
        case "microsecond":
            return moment
        case "millisecond":
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case "second":
            return moment.replace(microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case _:
            day = moment.date() if unit == "day" else trunc(moment.date(), unit)
            return datetime(day.year, day.month, day.day, tzinfo=UTC)


def timestamp_from(factor: int) -> Callable[[int], datetime]:
    """Return the function from a count of units since 1970, each `factor` microseconds."""

    def build(count: int) -> datetime:
        if not -_LONG <= count * factor < _LONG:
            raise EvaluationError("the timestamp does not fit")
        return moment_of(count * factor)

    return build


def _date(compute: Callable[[], date]) -> date:
    try:
        return compute()
    except (ValueError, OverflowError):
        raise EvaluationError("the date does not exist, or is outside years 1 to 9999") from None


TEMPORAL: dict[str, Callable[..., Any]] = {
    "to_date": lambda day: day,
    "to_timestamp": lambda moment: moment,
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "dayofweek": lambda day: day.isoweekday() % 7 + 1,
    "weekday": lambda day: day.weekday(),
    "dayofyear": lambda day: day.timetuple().tm_yday,
    "weekofyear": lambda day: day.isocalendar().week,
    "hour": lambda moment: moment.hour,
    "minute": lambda moment: moment.minute,
    "second": lambda moment: moment.second,
    "date_add": date_add,
    "date_sub": lambda day, days: date_add(day, -days),
    "datediff": lambda end, start: (end - start).days,
    "add_months": add_months,
    "last_day": last_day,
    "make_date": make_date,
    "trunc": trunc,
    "date_trunc": date_trunc,
    "unix_date": lambda day: day.toordinal() - _EPOCH_DAY,
    "date_from_unix_date": lambda days: date_add(date(1970, 1, 1), days),
    "unix_micros": micros_of,
    "unix_millis": lambda moment: micros_of(moment) // 1000,
    "unix_seconds": lambda moment: micros_of(moment) // 1_000_000,
    "timestamp_micros": timestamp_from(1),
    "timestamp_millis": timestamp_from(1000),
    "timestamp_seconds": timestamp_from(1_000_000),
}
