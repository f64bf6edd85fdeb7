"""How much state the nodes of a query keep, for Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joinery.app.document_product import unknown_product
from joinery.app.project import ProjectLike, project_of
from joinery.app.state import query_of
from joinery.solutions.spark_state.node_state import NodeState
from joinery.text.columns import aligned
from joinery.text.figure import counted_text, share_text, size_text


@dataclass(frozen=True, slots=True)
class StateSizes:
    """How much state the nodes of a query keep after a batch; its text is a table.

    Attributes:
        query: Its name.
        batch: After which batch.
        nodes: The largest first.
    """

    query: str
    batch: int
    nodes: Sequence[NodeState]

    @property
    def bytes(self) -> int:
        """All of its nodes together."""
        return sum(each.bytes for each in self.nodes)

    def products(self) -> dict[str, int]:
        """Return the bytes of each product, the largest first.

        What products have in common is divided among them, so that all add up to the bytes of
        the nodes.
        """
        found: dict[str, float] = {}
        for node in self.nodes:
            for product, part in node.products.items():
                found[product] = found.get(product, 0.0) + part * node.bytes
        return {name: round(found[name]) for name in sorted(found, key=lambda name: -found[name])}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield f"{self.query} after batch {self.batch}: {size_text(self.bytes)} of state"
        rows = [self._row(each) for each in self.nodes if each.bytes]
        header = ("node", "keys", "pages", "bytes", "share")
        yield from (f"  {line}" for line in aligned([header, *rows], right=range(1, 5)))
        products = self.products()
        if len(products) > 1:
            by = [(name, size_text(count), self._share(count)) for name, count in products.items()]
            table = aligned([("product", "bytes", "share"), *by], right=range(1, 3))
            yield from (f"  {line}" for line in table)

    def _row(self, node: NodeState) -> tuple[str, ...]:
        title = node.node or "(notes of the query itself)"
        others = len(node.products)
        shared = f", of {counted_text(others, 'product')}" if others > 1 else ""
        counts = (f"{node.keys:,}", f"{node.pages:,}", size_text(node.bytes))
        return (f"{title}{shared}", *counts, self._share(node.bytes))

    def _share(self, count: int) -> str:
        return share_text(count / self.bytes if self.bytes else None)


def state_sizes(project: ProjectLike, product: str, *, batch: int | None = None) -> StateSizes:
    """Return how much state the nodes of a product's query keep.

    All of the state is gone through, in the files of the checkpoint, beside a run or without one;
    none is written.

    Args:
        project: The project, its file, or a folder of them; or an app.
        product: One of the query.
        batch: After which batch of the run, of its last hundred or so, or a marked one; None for
            the last one.

    Raises:
        ProjectErrors: The file has problems.
        WhyError: There is no such product.
        StateReadError: There is no such state, or it is that of another plan.
        RunError: Java is missing.
    """
    from joinery.spark.recovery.state_reader import StateReader

    spec = project_of(project).spec
    if product not in [each.name for each in spec.products]:
        raise unknown_product(spec, product, "joinery state --sizes")
    products = query_of(spec, product)
    with StateReader(spec, products, batch) as reader:
        nodes = sorted(reader.sizes(), key=lambda each: -each.bytes)
    return StateSizes(products[0].query, reader.batch, tuple(nodes))
