"""Documents compared with what they should be, for ever, beside the run that sends them.

Limits: it is a thread of the run's own process, so a high rate costs the run time; a comparison
with its own memory and processor is `joinery diff`, by a cron job.

Invariant: nothing that happens here ends a run or holds up a batch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Protocol

from joinery.app.comparison import DiffOptions, ProductComparison, comparisons
from joinery.audit.error import DiffError
from joinery.errors import JoineryError, SpecError
from joinery.plan.product import DocumentForm, Plan
from joinery.project.audit import AuditSpec, per_second
from joinery.project.product import ProjectSpec

log = logging.getLogger("joinery.run")
_BETWEEN_S = 60.0


class Ending(Protocol):
    """A run."""

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended; return False if `timeout` seconds passed before."""


class _EndedError(Exception):
    """The run has ended."""


class Auditor(threading.Thread):
    """Compares until its run ends.

    Args:
        spec: The project.
        audit: How.
        products: Those that are run; empty means all.
        run: The run, started.
        between_s: How long it rests before it begins anew.
    """

    def __init__(
        self,
        spec: ProjectSpec,
        audit: AuditSpec,
        products: Sequence[str],
        run: Ending,
        *,
        between_s: float = _BETWEEN_S,
    ) -> None:
        super().__init__(name="joinery-audit", daemon=True)
        self._run, self._between_s = run, between_s
        options = DiffOptions(
            database=audit.database,
            rate=per_second(audit.rate),
            resume=True,
            pause=self._pause,
            by="run",
        )
        self._comparisons = [one for name in products for one in _of(spec, name, options)]

    def run(self) -> None:
        """Compare one product after the other, and begin anew."""
        try:
            while True:
                self._pause(self._between_s)  # At first so that the run can begin.
                self._compare()
        except (_EndedError, JoineryError):
            return  # The run has ended, or failed, and says so itself.

    def _compare(self) -> None:
        for each in [*self._comparisons]:
            named = {"product": each.product.name}
            try:
                found = each.run()
            except SpecError as error:
                log.warning("documents cannot be compared", extra={**named, "why": str(error)})
                self._comparisons.remove(each)
                continue
            except (JoineryError, OSError) as error:
                log.warning("documents could not be compared", extra={**named, "why": str(error)})
                continue
            told = {**named, "sink": found.target, "compared": found.compared}
            told |= {"differ": len(found.differences), "unsettled": len(found.unsettled)}
            if found.differences:
                log.error("documents differ from what they should be", extra=told)
            else:
                log.info("documents compared", extra=told)

    def _pause(self, seconds: float) -> None:
        if self._run.await_termination(seconds):
            raise _EndedError


def _of(spec: ProjectSpec, product: str, options: DiffOptions) -> list[ProductComparison]:
    """Return what is to be compared of a product; what cannot be is said once."""
    try:
        return comparisons(spec, product, options)
    except SpecError as error:
        why = {"product": product, "why": str(error)}
        log.warning("documents cannot be compared", extra=why)
        return []


def start_auditor(spec: ProjectSpec, plan: Plan, products: Sequence[str], run: Ending) -> None:
    """Begin to compare what a run sends, where its project asks for that.

    Raises:
        DiffError: The run is one in real-time mode.
    """
    if spec.run.audit is None:
        return
    if spec.run.real_time:
        raise DiffError("a run in real-time mode cannot be audited yet")
    documents = [each.name for each in plan.products if isinstance(each.form, DocumentForm)]
    names = [each for each in documents if not products or each in products]
    Auditor(spec, spec.run.audit, names, run).start()
