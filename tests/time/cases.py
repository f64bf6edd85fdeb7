"""Products that aggregate, a line each, over one log of events and one changelog.

Times go on by and by; one row in a hundred is far behind, one in a thousand has no time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from joinery.testing.changes import RowChange, delete, insert, update

START = datetime(2026, 3, 28, 22, tzinfo=UTC)
HEAD = """\
name: time
sources: {log: {files: {path: in}}}
defaults: {source: log, format: json}
relations:
  view:
    append: true
    fields: {id: long, page: string, ms: int, seconds: double, at: timestamp}
    time: at
    watermark: {delay: 20s}
  order:
    key: [id]
    fields: {id: long, shop: string, amount: "decimal(12,2)", at: timestamp}
    time: at
    watermark: {delay: 20s}
"""
VIEW = "n: count(*), total: sum(ms), low: min(ms), high: max(page), mean: avg(seconds)"
ORDER = "n: count(*), known: count(amount), total: sum(amount), low: min(amount), high: max(at)"

# A case is a line: what stands between the name of the product and its sink.
CASES = {
    "all_views": f"aggregate: view, values: {{{VIEW}}}",
    "pages": f"aggregate: view, by: [page], values: {{{VIEW}}}",
    "minutes": f"aggregate: view, by: [page], window: {{tumbling: 1m}}, values: {{{VIEW}}}",
    "slow": "aggregate: view, by: [page], window: {tumbling: 5m}, where: ms > 50,"
    " values: {n: count(*), rate: rate(count(*)), odd: 'count(*) filter (where ms % 2 = 1)'}",
    "hopping": f"aggregate: view, window: {{hopping: 10m, every: 2m}}, values: {{{VIEW}}}",
    "day_so_far": "aggregate: view, by: [page], values: {n: count(*)},"
    " window: {cumulative: 1 day, every: 1h, zone: Europe/Berlin}",
    "told": f"aggregate: view, by: [page], window: {{tumbling: 1m}}, values: {{{VIEW}}},"
    " emit: {late: dead_letter, allowed: 5s}",
    "left_out": f"aggregate: view, window: {{hopping: 4m, every: 1m}}, values: {{{VIEW}}},"
    " emit: {late: drop}",
    "left_out_minutes": "aggregate: view, by: [page], window: {tumbling: 1m},"
    " values: {n: count(*)}, emit: {late: drop}",
    "visits": f"aggregate: view, by: [page], window: {{session: 4s}}, values: {{{VIEW}}}",
    "visits_cut": "aggregate: view, window: {session: 30s, max: 5m}, values: {n: count(*)},"
    " emit: {late: dead_letter}",
    "shop_visits": f"aggregate: order, by: [shop], window: {{session: 20s}}, values: {{{ORDER}}}",
    "shop_told": f"aggregate: order, by: [shop], window: {{tumbling: 5m}}, values: {{{ORDER}}},"
    " emit: {late: dead_letter, allowed: 5s}",
    "shop_left_out": f"aggregate: order, window: {{session: 20s}}, values: {{{ORDER}}},"
    " emit: {late: drop}",
    "shop_short": f"aggregate: order, by: [shop], window: {{hopping: 2m, every: 1m}},"
    f" values: {{{ORDER}}}, emit: {{retention: 4m}}",
    "shop_visits_short": f"aggregate: order, by: [shop], window: {{session: 10s, max: 2m}},"
    f" values: {{{ORDER}}}, emit: {{retention: 5m}}",
    "visits_short": f"aggregate: view, window: {{session: 4s}}, values: {{{VIEW}}},"
    " emit: {retention: 3m}",
    "shops": f"aggregate: order, by: [shop], values: {{{ORDER}}}",
    "shop_hours": f"aggregate: order, by: [shop], window: {{tumbling: 1h, zone: Europe/Berlin}},"
    f" values: {{{ORDER}}}",
    "shop_hopping": f"aggregate: order, by: [shop], window: {{hopping: 30m, every: 10m}},"
    f" values: {{{ORDER}}}",
    "shop_days": f"aggregate: order, window: {{cumulative: 1 day, every: 6h}}, values: {{{ORDER}}}",
    "closed": f"aggregate: view, by: [page], window: {{tumbling: 1m}}, values: {{{VIEW}}},"
    " emit: {when: closed, allowed: 5s}",
    "closed_told": "aggregate: view, window: {hopping: 4m, every: 2m}, values: {n: count(*)},"
    " emit: {when: closed, late: dead_letter}",
    "last": f"aggregate: view, by: [page], window: {{sliding: 5m}}, values: {{{VIEW}}}",
    "about": "aggregate: view, by: [page], window: {tumbling: 1h}, values: {ids:"
    " approx_count_distinct(id), p90: 'approx_quantile(ms, 0.9)', top: 'approx_top_k(ms, 3)',"
    " kept: distinct_sketch(id), spread: quantile_sketch(seconds)}",
}


def project_text(*names: str) -> str:
    """Return a project of some cases; of all, where none is named."""
    products = "".join(
        f"  {name}: {{{CASES[name]}, group: time, sink: {{files: {{path: out}}}}}}\n"
        for name in names or CASES
    )
    return f"{HEAD}products:\n{products}"


def logs(seed: int, *, rows: int = 24_000) -> list[RowChange]:
    """Return so many changes, two thirds of them views."""
    return list(_changes(random.Random(seed), rows))


def _changes(pick: random.Random, rows: int) -> Iterator[RowChange]:
    standing: list[int] = []
    for number in range(rows):
        clock = START + timedelta(seconds=number / 2)
        if number % 3:
            yield insert("view", id=number, **_view(pick, clock))
            continue
        if len(standing) > 50 and pick.random() < 0.5:
            id = standing[pick.randrange(len(standing))]
            if pick.random() < 0.3:
                standing.remove(id)
                yield delete("order", id=id)
            else:
                told = _order(pick, clock)
                name = pick.choice(sorted(told))
                yield update("order", id=id, **{name: told[name]})
            continue
        standing.append(number)
        yield insert("order", id=number, **_order(pick, clock))


def _view(pick: random.Random, clock: datetime) -> dict[str, Any]:
    return {
        "page": pick.choice(["home", "cart", "ends", None]),
        "ms": pick.choice([None, *range(100)]),
        "seconds": pick.choice([None, 0.1, 0.2, 1e17, -1e17, 3.5]),
        "at": _time(pick, clock),
    }


def _order(pick: random.Random, clock: datetime) -> dict[str, Any]:
    amount = pick.choice([None, f"{pick.randrange(-500, 5_000) / 100:.2f}"])
    shop = pick.choice(["north", "south", None])
    return {"shop": shop, "amount": amount, "at": _time(pick, clock)}


def _time(pick: random.Random, clock: datetime) -> datetime | None:
    chance = pick.random()
    if chance < 0.001:
        return None
    behind = pick.uniform(0, 900) if chance < 0.011 else pick.choice([0, 0, 3, 15])
    return clock - timedelta(milliseconds=round(behind * 1000))
