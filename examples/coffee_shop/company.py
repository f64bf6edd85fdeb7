"""A coffee shop at work: customers who move up a tier, prices that change, and orders.

Invariant: the same seed gives the same customers, products, orders and changes; only their
times are those of the clock.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from examples.log import Log

TIERS = ("guest", "regular", "gold")
_FIRST = "Ada Bela Cyra Dov Edda Finn Gita Hugo Ines Juri Kaya Lior Mina Nilo Orla Pavo".split()
_LAST = "Abel Brandt Costa Dunn Egger Farkas Gruber Hansen Ivanov Jansen Keller Lopez".split()
_DRINKS = {
    "espresso": "Espresso Ristretto Lungo Macchiato Doppio".split(),
    "milk": "Cappuccino Latte Flat_White Cortado Mocha".split(),
    "filter": "Pour_Over Batch_Brew Cold_Brew Aeropress".split(),
    "tea": "Assam Sencha Rooibos Chai Earl_Grey".split(),
    "bakery": "Croissant Brownie Cardamom_Bun Madeleine".split(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large the shop is.

    Attributes:
        customers: Rows of the table at the start.
        products: Rows of the table at the start.
    """

    customers: int = 500
    products: int = 40


@dataclass
class Company:
    """Writes the shop's three topics.

    Attributes:
        edits: By customer, the moment of each revision in seconds since 1970; the place in
            the list is the revision.
        prices: By product, its current price in cents.
        ordered: How many orders were written.
    """

    log: Log
    sizes: Sizes = Sizes()
    seed: int = 7
    edits: dict[int, list[float]] = field(default_factory=dict)
    prices: dict[int, int] = field(default_factory=dict)
    ordered: int = 0

    def __post_init__(self) -> None:
        """Draw the first rows from the seed."""
        self._random = random.Random(self.seed)
        self._customers: dict[int, dict[str, Any]] = {}
        self._products: dict[int, dict[str, Any]] = {}

    def open(self) -> None:
        """Write the first customers and products."""
        self.log.write("customers", [self._customer(each) for each in range(self.sizes.customers)])
        self.log.write("products", [self._product(each) for each in range(self.sizes.products)])

    def order(self, count: int) -> list[dict[str, Any]]:
        """Write `count` orders; return them."""
        orders = [self._order() for _ in range(count)]
        self.log.write("orders", orders)
        return orders

    def edit_customer(self, customer: int | None = None) -> dict[str, Any]:
        """Give a customer another tier; return the new row."""
        chosen = self._random.randrange(self.sizes.customers) if customer is None else customer
        row = self._customers[chosen]
        tier = self._random.choice([each for each in TIERS if each != row["tier"]])
        now = time.time()
        self._customers[chosen] = row | {
            "tier": tier,
            "revision": row["revision"] + 1,
            "updated_at": _text(now),
        }
        self.log.write("customers", [self._customers[chosen]])
        self.edits[chosen].append(now)
        return self._customers[chosen]

    def change_price(self, product: int | None = None) -> dict[str, Any]:
        """Give a product another price; return the new row."""
        chosen = self._random.randrange(self.sizes.products) if product is None else product
        cents = self.prices[chosen] + self._random.choice((-30, -10, 10, 20, 50))
        self.prices[chosen] = max(100, cents)
        row = self._products[chosen]
        self._products[chosen] = row | {"price": self.prices[chosen] / 100}
        self.log.write("products", [self._products[chosen]])
        return self._products[chosen]

    def work(self, stop: threading.Event, *, per_second: float = 100.0) -> None:
        """Take orders until `stop`; a customer or a price changes now and then."""
        begun, taken = time.monotonic(), 0
        while not stop.wait(0.1):
            due = int((time.monotonic() - begun) * per_second) - taken
            self.order(due)
            taken += due
            for _ in range(1 + due // 20):
                self.edit_customer()
            if self._random.random() < 0.05:
                self.change_price()

    @property
    def customers(self) -> Iterable[dict[str, Any]]:
        """All customers as they are now."""
        return self._customers.values()

    @property
    def products(self) -> Iterable[dict[str, Any]]:
        """All products as they are now."""
        return self._products.values()

    def _customer(self, number: int) -> dict[str, Any]:
        now = time.time()
        name = f"{self._random.choice(_FIRST)} {self._random.choice(_LAST)}"
        tier = self._random.choices(TIERS, (6, 3, 1))[0]
        row = {"id": number, "name": name, "tier": tier, "revision": 0, "updated_at": _text(now)}
        self._customers[number] = row
        self.edits[number] = [now]
        return row

    def _product(self, number: int) -> dict[str, Any]:
        category = self._random.choice(list(_DRINKS))
        name = self._random.choice(_DRINKS[category]).replace("_", " ")
        self.prices[number] = 10 * self._random.randrange(18, 65)
        price = self.prices[number] / 100
        row = {"id": number, "name": f"{name} {number}", "category": category, "price": price}
        self._products[number] = row
        return row

    def _order(self) -> dict[str, Any]:
        self.ordered += 1
        return {
            "order_id": self.ordered,
            "customer_id": self._random.randrange(self.sizes.customers),
            "product_id": self._random.randrange(self.sizes.products),
            "quantity": self._random.choice((1, 1, 1, 2, 2, 3)),
            "ordered_at": _text(time.time()),
        }


def _text(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
