"""What `rdbms-trigger` takes: a database, what it publishes, views and statements of the user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from joinery.project.kinds import SOLUTIONS
from joinery.project.option import Option, declared, options, plain, word
from joinery.solutions.relational.options import DatabaseOptions

if TYPE_CHECKING:
    from joinery.plan.product import Product
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.stored.state import StoreSolution


def _checked_later(description: str) -> Any:
    """Return a map that is checked against the products, with hints of its own."""
    shape = {"anyOf": [{"type": "object"}], "description": description}
    return declared(Option(shape, plain), default=None)


@options
class TriggerOptions(DatabaseOptions):
    """`{rdbms-trigger: {database: postgresql://host/name, publish: queue}}`."""

    solution = "rdbms-trigger"
    whole_rows: ClassVar[bool] = True  # Views and statements of the user may name any column.

    publish: str = word(
        "After each batch, or from a queue in PostgreSQL by `joinery listen`.",
        ("batch", "queue"),
        default="batch",
    )
    views: object = _checked_later(
        "Tables or views of your own to read relations from: a name, or name and columns."
    )
    sql: object = _checked_later("Statements of your own: `documents`, and `affected` by relation.")

    @classmethod
    def of(cls, product: Product) -> TriggerOptions | None:
        """Return the options of a product; None where its solution is another.

        Raises:
            SpecError: They are not what it takes.
        """
        if product.solution != cls.solution or product.outbox:
            return None
        found: TriggerOptions = SOLUTIONS.read(cls.solution, dict(product.solution_options))
        return found

    @property
    def queued(self) -> bool:
        """Whether `joinery listen` publishes, from a queue."""
        return self.publish == "queue"

    def refuse(self, products: Sequence[Product]) -> None:
        """Refuse products of a query that the options do not fit.

        Raises:
            SpecError: They do not; or the database is none that it knows.
            StoreError: The database cannot name a table or a column.
        """
        from joinery.solutions.trigger.open import refuse_trigger

        DatabaseOptions.refuse(self, products)  # `options` makes the class again: no super()
        refuse_trigger(products, self)

    def make(self, products: Sequence[Product], place: SolutionPlace) -> StoreSolution:
        """Return the solution of a query, its database ready.

        Raises:
            SpecError: The options do not fit the products.
            StoreError: The database cannot be used.
        """
        from joinery.solutions.trigger.open import open_trigger

        return open_trigger(products, self, place)
