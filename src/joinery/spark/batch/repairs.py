"""What a run needs to send documents of one query again: the requests, and what its sinks hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from joinery.delivery.query_paths import QueryPaths
from joinery.delivery.repair import Outcome, RepairLog, RepairSwitch, Request, SendAgain, serve
from joinery.errors import FencedError, JoineryError
from joinery.place.place import numbers_in
from joinery.plan.product import Product
from joinery.sinks.protocol import SinkUnavailableError
from joinery.sinks.reader import make_reader

log = logging.getLogger("joinery.run")


class Repairs:
    """The requests of one query.

    Args:
        paths: The query's.
        folder: Where relative paths of sinks begin.
    """

    def __init__(self, paths: QueryPaths, folder: Path) -> None:
        self._switch = RepairSwitch(RepairLog(paths.repair_folder))
        self._paths, self._folder = paths, folder

    def pending(self) -> Sequence[Request]:
        """Return the requests without an answer; none between two looks."""
        return self._switch.pending()

    def serve_all(
        self, products: Sequence[Product], send: SendAgain, *, remembered_us: int
    ) -> None:
        """Answer all requests; what is away is tried again, what cannot be done is said.

        Args:
            products: The query's.
            send: Sends documents for a request; returns how many were refused.
            remembered_us: How long sinks remember a delete.
        """
        for request in self.pending():
            try:
                outcome = self.serve(request, products, send, remembered_us=remembered_us)
            except (SinkUnavailableError, FencedError):
                continue
            except (JoineryError, OSError) as error:
                outcome = Outcome(failed=str(error))
            self.answer(request, outcome)

    def answer(self, request: Request, outcome: Outcome) -> None:
        """Keep what became of a request."""
        told = {"query": self._paths.query, "product": request.product, **asdict(outcome)}
        log.info("repaired", extra=told)
        self._switch.log.answer(request.id, outcome)

    def serve(
        self,
        request: Request,
        products: Sequence[Product],
        send: SendAgain,
        *,
        remembered_us: int,
    ) -> Outcome:
        """Send again what may be sent; `remembered_us` is how long sinks remember a delete.

        Raises:
            SinkUnavailableError: The sink is away.
            SinkError: It cannot be read back.
        """
        product = next((each for each in products if each.name == request.product), None)
        if product is None or request.sink >= len(product.sinks):
            return Outcome(
                failed=f'no sink {request.sink} of product "{request.product}" runs here'
            )
        declared = product.sinks[request.sink]
        reader = make_reader(
            declared.kind,
            dict(declared.options),
            product=product.name,
            folder=self._folder,
            key=product.key,
            value=product.output,
        )
        try:
            return serve(request, reader, send, remembered_us=remembered_us)
        finally:
            reader.close()

    def stood_at(self) -> tuple[str, int]:
        """Return the identity of the query's checkpoint, and its last batch."""
        told = json.loads((self._paths.checkpoint / "metadata").read_text(encoding="utf-8"))
        batches = numbers_in(self._paths.checkpoint / "commits")
        return str(told["id"]), max(batches, default=0)
